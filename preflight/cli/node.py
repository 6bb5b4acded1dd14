"""`preflight node`: probe this machine, and hold scripts against it.

In: nothing, or scripts; `--node FILE` replays a recorded machine instead.  Out: a table and a matrix on a terminal,
JSON otherwise; or frames for `preflight fleet gather`.  Read-only, without privileges, and never longer than its
deadline.
"""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

from preflight.cli import options as shared
from preflight.cli.options import MisuseError
from preflight.cli.probing import add_probe_options, begin_probe
from preflight.cli.sheet import Sheet
from preflight.later import later

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from typing import Any

    from preflight.cli.output import Target
    from preflight.node.model import Node
    from preflight.outcome import Outcome
    from preflight.settings import Settings


fact_types = later("preflight.facts.catalogue", "fact_types")


def make_sheet() -> Sheet:
    """The options of `node`."""
    sheet = shared.new_sheet(
        "node",
        "Ask NVML what this machine is and whether it is well; with scripts, also hold them against it.",
        [
            "preflight node",
            "preflight node train.sh",
            "preflight node --record node.json        # then anywhere: preflight check --node node.json train.sh",
            "preflight node --node hgx-h100 train.sh  # a shipped profile",
            "srun --ntasks-per-node=1 preflight node --frames | preflight fleet gather --expect n[1-16]",
        ],
        usage="preflight node [OPTIONS] [PATH ...] [-- ARGS]",
    )
    sheet.add_argument("paths", nargs="*", metavar="PATH", help="scripts to hold against the machine")
    add_probe_options(sheet)
    group = sheet.add_argument_group("for other machines")
    group.add_argument("--record", metavar="FILE", help="write what was read, every NVML call included")
    group.add_argument("--host", metavar="NAME", help="the name that this node answers by (default: its own)")
    group.add_argument("--frames", action="store_true", help="print short lines for preflight fleet gather")
    group.add_argument("--out-dir", metavar="DIR", help="write DIR/HOST.json for preflight fleet gather")
    shared.add_target_options(sheet)
    shared.add_script_options(sheet)
    shared.add_rule_options(sheet)
    shared.add_config_options(sheet)
    shared.add_output_options(sheet)
    return sheet


def run(words: list[str]) -> int:
    """The command."""
    words, arguments = shared.split_arguments(words)
    options = make_sheet().parse_intermixed_args(words)
    probe = begin_probe(options, calls=bool(options.record))
    from preflight.cli.judgement import obtain_node
    from preflight.node.record import RecordError

    try:
        node = obtain_node(options, probe)
    except RecordError as error:
        print(f"preflight node: {error}", file=sys.stderr)
        return 2
    if options.host:
        node = node._replace(host=options.host)
    if options.record:
        write_record_file(node, options.record)
    if is_plain(options):
        return conclude(node, judge_alone(node), options, None)
    try:
        outcome, settings = judge_all(node, options, arguments)
        return conclude(node, outcome, options, settings)
    except MisuseError as error:
        print(f"preflight node: {error}", file=sys.stderr)
        return 2


def is_plain(options: Namespace) -> bool:
    """Only the machine, and no config: then scripts' machinery is not even imported, since every node pays for it."""
    if options.paths or options.select or options.ignore or options.baseline or options.write_baseline:
        return False
    if options.isolated:
        return True
    if options.config or os.environ.get("PREFLIGHT_CONFIG"):
        return False
    folder = os.getcwd()
    while True:
        if any(os.path.exists(os.path.join(folder, name)) for name in ("preflight.toml", "pyproject.toml")):
            return False
        if os.path.dirname(folder) == folder:
            return True
        folder = os.path.dirname(folder)


def judge_alone(node: Node) -> Outcome:
    """The shipped rules over the machine."""
    from preflight import __version__
    from preflight.cli.judgement import explain_silence, judge_node
    from preflight.engine.shipped import read_rules
    from preflight.outcome import Outcome

    findings = () if node.silence is not None else judge_node(node, read_rules(fact_types))
    return Outcome(__version__, (), node=findings, node_error=explain_silence(node))


def judge_all(node: Node, options: Namespace, arguments: tuple[str, ...] | None) -> tuple[Outcome, Settings]:
    """The machine and the scripts, as options and configs have it."""
    from preflight.cli.holding import NodeSession

    session = NodeSession(options, arguments, node)
    session.validate()
    files = [session.check_file(found) for found in session.find(options.paths)] if options.paths else []
    return session.conclude(files), session.here


def conclude(node: Node, outcome: Outcome, options: Namespace, settings: Settings | None) -> int:
    """Say it, in whatever form is asked for; returns the exit status."""
    from preflight.cli.judgement import status_of

    fail_on = options.fail_on or (settings.fail_on if settings is not None else None) or "error"
    status = status_of(outcome, fail_on)
    required = (
        options.require_launch if settings is None else (options.require_launch or settings.require_launch)
    )
    if (
        outcome.files
        and required
        and not any(file.launches for file in outcome.files)
        and status in (0, 1, 4)
    ):
        print("preflight: no launch was found, and --require-launch asks for one", file=sys.stderr)
        status = 3
    if options.frames or options.out_dir:
        hand_over(node, outcome, options)
    else:
        targets = choose_outputs(options, settings)
        write_outputs(node, outcome, targets, options)
        if outcome.files:
            from preflight.cli.output import tell

            tell(outcome, options, text=any(name == "text" and path is None for name, path in targets))
    return 0 if options.exit_zero and status in (1, 4) else status


def choose_outputs(options: Namespace, settings: Settings | None) -> Sequence[Target]:
    """What is asked for, by option, variable or config; else text on a terminal and JSON in a pipe."""
    from preflight.cli.output import read_outputs
    from preflight.settings import Settings

    settings = settings or Settings()
    asked = options.output or (
        not options.isolated and (os.environ.get("PREFLIGHT_OUTPUT") or settings.output)
    )
    if not asked and not sys.stdout.isatty():
        return [("json", None)]
    return read_outputs(options, settings)


def write_outputs(node: Node, outcome: Outcome, targets: Sequence[Target], options: Namespace) -> None:
    """Every report; text begins with the picture of the node, JSON holds its whole record."""
    from preflight.cli.output import deliver, render, with_secrets

    outcome = with_secrets(outcome)
    for name, path in targets:
        if name == "json":
            text = write_json(node, outcome)
        elif name == "text":
            picture = draw(node, options, path) + "\n" if node.silence is None else ""
            text = picture + write_findings(node, outcome, options, path)
        else:
            text = render(outcome, name, options.show or "note", options, path)
        deliver(text, path)


def write_findings(node: Node, outcome: Outcome, options: Namespace, path: str | None) -> str:
    """Findings as text; without scripts the last line speaks of the node alone."""
    from preflight.cli.output import render

    alone = not outcome.files
    quiet: Any = SimpleNamespace(**{**vars(options), "quiet": options.quiet or alone})
    text = render(outcome, "text", options.show or "note", quiet, path)
    if not alone or options.quiet or node.silence is not None:
        return text
    counts = [(outcome.count(severity), severity) for severity in ("error", "warning", "note")]
    found = ", ".join(f"{count} {severity}{'s' * (count != 1)}" for count, severity in counts if count)
    return f"{text}node {node.host}: {found or 'no findings'}\n"


def draw(node: Node, options: Namespace, path: str | None) -> str:
    """The picture of the node."""
    from preflight.cli.output import choose_colour
    from preflight.node.topology import read_topology
    from preflight.report.node import write_node

    width = None
    if path is None and sys.stdout.isatty():
        from shutil import get_terminal_size

        width = get_terminal_size((160, 24)).columns
    return write_node(node, read_topology(node), choose_colour(options.color, path), width)


def write_json(node: Node, outcome: Outcome) -> str:
    """The report of `check`, with the node's record and topology."""
    import json

    from preflight.node.record import flatten
    from preflight.node.topology import read_topology
    from preflight.report.json import describe_outcome
    from preflight.report.mask import Mask

    topology = read_topology(node)
    described = {
        **flatten(node._replace(calls=())),
        "topology": {
            "domains": None
            if topology.domains is None
            else [domain._asdict() for domain in topology.domains],
            "doubt": topology.doubt,
            "matrix": topology.matrix,
        },
    }
    document = Mask(outcome.secrets).all({**describe_outcome(outcome), "node": described})
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def hand_over(node: Node, outcome: Outcome, options: Namespace) -> None:
    """The node's digest for the fleet: as frames, as a file, or both."""
    from preflight.cli.judgement import report_of
    from preflight.node.digest import make_digest, write_digest
    from preflight.node.frames import print_frames

    digest = make_digest(node, report_of(outcome.findings))
    if options.out_dir:
        os.makedirs(options.out_dir, exist_ok=True)
        name = "".join(c if c.isalnum() or c in "-_." else "_" for c in node.host) or "unknown"
        write_whole(os.path.join(options.out_dir, f"{name}.json"), write_digest(digest) + "\n")
    if options.frames:
        sys.stdout.flush()
        print_frames(digest, sys.stdout.fileno())


def write_record_file(node: Node, path: str) -> None:
    """The record, as a whole or not at all."""
    from preflight.node.record import write_record

    write_whole(path, write_record(node))
    if node.silence is None:
        print(f"preflight: wrote {path}; replay it with --node {path}", file=sys.stderr)


def write_whole(path: str, text: str) -> None:
    """Write beside the file and rename, so that a reader never meets half of it."""
    beside = f"{path}.{os.getpid()}.part"
    with open(beside, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(beside, path)
