"""`preflight fleet gather`: one answer from many nodes' probes.

In: frames on standard input or in files, or a folder that `preflight node --out-dir` wrote; the hosts that should have
answered.  Out: findings with their hosts, worst first.  A host that did not answer is named.  What starts the probes
on the nodes is whatever is there: srun, clush, mpirun, a Kubernetes job.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from preflight.cli import options as shared
from preflight.cli.sheet import Sheet

if TYPE_CHECKING:
    from preflight.node.fleet import Expectation, Fleet
    from preflight.node.frames import Collection, Collector


def make_sheet() -> Sheet:
    """The options of `fleet gather`."""
    sheet = shared.new_sheet(
        "fleet",
        "Merge what many nodes' probes say: missing nodes, bad nodes, odd nodes, NVLink cliques.",
        [
            'srun --ntasks-per-node=1 preflight node --frames | preflight fleet gather --expect "$SLURM_JOB_NODELIST"',
            "clush -w n[1-64] preflight node --frames | preflight fleet gather --expect n[1-64]",
            "preflight fleet gather --expect n[1-64] /shared/probe/   # files of preflight node --out-dir",
        ],
        usage="preflight fleet gather [OPTIONS] [FILE|DIR|- ...]",
    )
    sheet.add_argument("action", choices=("gather",), help="merge the answers")
    sheet.add_argument("paths", nargs="*", metavar="PATH", help="frames or folders (default: standard input)")
    group = sheet.add_argument_group("what is expected")
    group.add_argument(
        "--expect",
        metavar="HOSTS",
        help="hosts that must answer: n[1-64], a list, @FILE, or a number of nodes",
    )
    group.add_argument(
        "--expect-gpus", metavar="N", type=shared.read_count, help="GPUs of each node; beats the vote"
    )
    group.add_argument("--expect-gpu", metavar="NAME", help="the product: h100, b200, ... or NVML's own name")
    group.add_argument("--expect-driver", metavar="VERSION", help="the driver of each node; beats the vote")
    group.add_argument(
        "--nvlink-domain",
        metavar="N",
        type=shared.read_count,
        help="GPUs that the plan wants in one NVLink clique",
    )
    group = sheet.add_argument_group("input and output")
    group.add_argument(
        "--deadline", metavar="S", type=float, help="stop reading standard input after S seconds"
    )
    group.add_argument(
        "--output", action="append", default=[], metavar="FORMAT[=FILE]", help="text, json; repeatable"
    )
    group.add_argument(
        "--show", choices=("error", "warning", "note"), default="note", help="mildest severity in text"
    )
    group.add_argument(
        "--fail-on", choices=("error", "warning", "note"), default="error", help="exit 4 from here on"
    )
    group.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="colour in text")
    group.add_argument("-q", "--quiet", action="store_true", help="no progress")
    group.add_argument("--exit-zero", action="store_true", help="exit 0 where findings would make it 4")
    return sheet


def run(words: list[str]) -> int:
    """The command."""
    options = make_sheet().parse_intermixed_args(words)
    try:
        expectation = read_expectation(options)
        targets = [shared.parse_output(text, ("text", "json")) for text in options.output] or [("text", None)]
        collection = gather(options, expectation)
    except (shared.MisuseError, ValueError) as error:
        print(f"preflight fleet: {error}", file=sys.stderr)
        return 2
    from preflight.cli.output import deliver
    from preflight.node.fleet import merge

    fleet = merge(collection, expectation)
    for name, path in targets:
        deliver(render(fleet, collection, name, options, path), path)
    if not fleet.hosts:
        print("preflight fleet: no node's answer was found in the input", file=sys.stderr)
    return decide(fleet, options)


def decide(fleet: Fleet, options: argparse.Namespace) -> int:
    """3 where a node gave no answer, 4 for bad nodes, 0."""
    if not fleet.hosts or any(v.rule in ("fleet-no-answer", "fleet-nvml-silent") for v in fleet.verdicts):
        return 3
    levels = ("note", "warning", "error")
    reached = any(levels.index(v.severity) >= levels.index(options.fail_on) for v in fleet.verdicts)
    return 4 if reached and not options.exit_zero else 0


def render(
    fleet: Fleet, collection: Collection, name: str, options: argparse.Namespace, path: str | None
) -> str:
    if name == "json":
        from preflight import __version__
        from preflight.report.fleet import write_fleet_json

        return write_fleet_json(fleet, collection, __version__)
    from preflight.cli.output import choose_colour
    from preflight.report.fleet import write_fleet

    return write_fleet(fleet, collection, options.show, choose_colour(options.color, path))


def read_expectation(options: argparse.Namespace) -> Expectation:
    """What the options, and the job that this runs in, say about the nodes."""
    from preflight.node.fleet import Expectation
    from preflight.node.hosts import expand_hosts

    text, number = options.expect, None
    if text is None:
        text = os.environ.get("SLURM_JOB_NODELIST")
    if text is not None and text.startswith("@"):
        try:
            with open(text[1:], encoding="utf-8") as stream:
                text = stream.read()
        except OSError as error:
            raise shared.MisuseError(f"{text[1:]}: {(error.strerror or str(error)).lower()}") from None
    hosts = None
    if text is not None and text.strip().isdecimal():
        number = int(text)
    elif text is not None:
        hosts = expand_hosts(text)
        if not hosts:
            raise shared.MisuseError(f"--expect {options.expect!r} names no host")
    facts: dict[str, tuple[str, ...]] = {}
    if options.expect_gpus is not None:
        facts["gpus"] = (str(options.expect_gpus),)
    if options.expect_driver is not None:
        facts["driver"] = (options.expect_driver,)
    if options.expect_gpu is not None:
        facts["product"] = products_of(options.expect_gpu)
    return Expectation(hosts, number, facts, options.nvlink_domain)


def products_of(name: str) -> tuple[str, ...]:
    """NVML's names of a product."""
    from preflight.node.profiles import read_index

    entry = read_index().get(name.lower())
    return entry.products if entry is not None else (name,)


def gather(options: argparse.Namespace, expectation: Expectation) -> Collection:
    """Read everything that there is to read."""
    from preflight.node.frames import Collector

    collector = Collector()
    total = len(expectation.hosts) if expectation.hosts is not None else expectation.number
    paths = options.paths or ["-"]
    for path in paths:
        if path == "-":
            with ProgressBar(total, options) as advance:
                feed(collector, read_lines(options.deadline), advance)
        elif os.path.isdir(path):
            read_folder(collector, path)
        else:
            read_file(collector, path)
    return collector.finish()


def feed(collector: Collector, lines: Iterable[str], advance: Callable[[str], None]) -> None:
    for line in lines:
        host = collector.feed(line)
        if host is not None:
            advance(host)


def read_lines(deadline: float | None) -> Iterator[str]:
    """Standard input by lines, whatever bytes there are, until it ends or the deadline passes."""
    if deadline is None:
        for line in sys.stdin.buffer:
            yield line.decode("utf-8", "replace")
        return
    import select

    until, rest = time.monotonic() + deadline, b""
    descriptor = sys.stdin.fileno()
    while (left := until - time.monotonic()) > 0:
        if not select.select([descriptor], [], [], left)[0]:
            break
        chunk = os.read(descriptor, 1 << 16)
        if not chunk:
            break
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace")
    yield rest.decode("utf-8", "replace")


def read_folder(collector: Collector, path: str) -> None:
    """The files that `preflight node --out-dir` wrote."""
    for name in sorted(os.listdir(path)):
        if name.endswith(".json"):
            read_file(collector, os.path.join(path, name))


def read_file(collector: Collector, path: str) -> None:
    """Frames, or one node's digest."""
    from preflight.node.digest import DigestError, read_digest

    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            first = stream.readline(1 << 20)
            if first.lstrip().startswith("{"):
                try:
                    digest = read_digest(first + stream.read())
                except DigestError as error:
                    print(f"preflight fleet: {path}: {error}", file=sys.stderr)
                    collector.damaged += 1
                    return
                collector.add(digest.host, digest, path)
                return
            collector.feed(first)
            for line in stream:
                collector.feed(line)
    except OSError as error:
        raise shared.MisuseError(f"{path}: {(error.strerror or str(error)).lower()}") from None


class ProgressBar:
    """A bar on the terminal while answers arrive; nothing where standard error is no terminal."""

    def __init__(self, total: int | None, options: argparse.Namespace) -> None:
        self.total = total
        self.shown = sys.stderr.isatty() and not options.quiet
        self.seen: set[str] = set()

    def __enter__(self) -> Callable[[str], None]:
        if not self.shown:
            return lambda host: None
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self.bar = Progress(
            TextColumn("nodes"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
            transient=True,
        )
        self.bar.start()
        self.task = self.bar.add_task("", total=self.total)
        return self.advance

    def advance(self, host: str) -> None:
        if host not in self.seen:
            self.seen.add(host)
            self.bar.update(self.task, advance=1, description=host)

    def __exit__(self, *_: object) -> None:
        if self.shown:
            self.bar.stop()
