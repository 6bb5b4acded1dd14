"""`preflight exec`: check this command line, in this environment, on this node; then become the command.

In: behind `--` the command.  Out: findings on standard error, then the command itself by `execvp`: its process id,
standard input, signals and exit status are as if preflight had not been there.  It refuses with 1 (the script is
wrong), 4 (the node is bad) or 3 (something gave no answer); `--warn-only` never refuses.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from preflight.cli import options as shared
from preflight.cli.probing import add_probe_options, begin_probe
from preflight.cli.sheet import Sheet

if TYPE_CHECKING:
    from argparse import Namespace

    from preflight.node.probe import Probe
    from preflight.outcome import Outcome

NAME = "command line"
"""The name under which findings show the command."""


def make_sheet() -> Sheet:
    """The options of `exec`."""
    sheet = shared.new_sheet(
        "exec",
        "Check this very command line on this very node, then run it in preflight's place.",
        [
            "preflight exec -- torchrun --nproc-per-node 8 pretrain_gpt.py ...",
            "srun preflight exec --warn-only -- bash train.sh",
        ],
        usage="preflight exec [OPTIONS] -- COMMAND ...",
    )
    sheet.add_argument(
        "--warn-only", action="store_true", help="print findings, and run the command whatever they are"
    )
    add_probe_options(sheet)
    shared.add_target_options(sheet)
    shared.add_rule_options(sheet)
    shared.add_config_options(sheet)
    shared.add_output_options(sheet)
    sheet.set_defaults(env=[], arg=[], closed_env=True, strict_env=None, root=None, source_path=[])
    return sheet


def run(words: list[str]) -> int:
    """The command."""
    words, command = shared.split_arguments(words)
    options = make_sheet().parse_args(words)
    if not command:
        print(
            "preflight exec: the command is missing: preflight exec [OPTIONS] -- COMMAND ...", file=sys.stderr
        )
        return 2
    from shutil import which

    if which(command[0]) is None:
        print(f"preflight exec: {command[0]}: no such command", file=sys.stderr)
        return 2
    status = judge(command, options)
    if status and not options.warn_only:
        print(
            f"preflight: the command was not started: {_REASONS.get(status, 'it was refused')}",
            file=sys.stderr,
        )
        return status
    return become(command)


_REASONS = {
    1: "its command line has errors (--warn-only starts it all the same)",
    2: "preflight was called wrongly",
    3: "not everything could be checked (--warn-only starts it all the same)",
    4: "this node is bad (--warn-only starts it all the same)",
}


def judge(command: Sequence[str], options: Namespace) -> int:
    """The exit status that the check comes to; a fault of preflight's own is said and is 3."""
    from preflight.cli.failure import report_failure

    try:
        return check_command(command, options, begin_probe(options))
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 3
    except Exception as error:
        from preflight.cli.options import MisuseError
        from preflight.node.record import RecordError

        if isinstance(error, MisuseError | RecordError):
            print(f"preflight exec: {error}", file=sys.stderr)
            return 2
        return report_failure(error)


def check_command(command: Sequence[str], options: Namespace, probe: Probe | None) -> int:
    """Hold command, environment and node against the rules, and print what they say."""
    from preflight.cli.failure import describe
    from preflight.cli.holding import NodeSession
    from preflight.cli.judgement import obtain_node, status_of
    from preflight.cli.session import is_users
    from preflight.outcome import FileOutcome
    from preflight.ruling import check_source
    from preflight.source import Source

    node = obtain_node(options, probe)
    session = NodeSession(options, None, node)
    settings = session.here
    request = session.request_of(NAME)
    request = request._replace(
        environment=dict(os.environ),
        closed_environment=True,
        surroundings=request.surroundings._replace(exists=os.path.exists),
    )
    source = Source(NAME, lay_out(command).encode("utf-8", "surrogateescape"))
    try:
        file = check_source(source, request)
    except Exception as error:
        if is_users(error):
            raise
        file = FileOutcome(NAME, error=describe(error))
    outcome = session.conclude([file])
    say(outcome, options, session)
    required = options.require_launch if options.require_launch is not None else settings.require_launch
    status = status_of(outcome, options.fail_on or settings.fail_on or "error")
    if not file.launches and file.error is None:
        print(
            "preflight: no launch of a training program in this command; only the node was checked",
            file=sys.stderr,
        )
        if required and status in (0, 1, 4):
            return 3
    return 0 if options.exit_zero and status in (1, 4) else status


def lay_out(command: Sequence[str]) -> str:
    """The command as a script: each option on a line of its own, so that findings point at short lines."""
    from shlex import quote

    lines: list[str] = [quote(command[0])]
    for word in command[1:]:
        if word.startswith("--") and len(word) > 2:
            lines.append(f"    {quote(word)}")
        else:
            lines[-1] += f" {quote(word)}"
    return " \\\n".join(lines) + "\n"


def say(outcome: Outcome, options: Namespace, session: object) -> None:
    """Findings, as text on standard error: standard output belongs to the command."""
    from preflight.cli.output import deliver, read_outputs, render, with_secrets
    from preflight.cli.session import Session

    assert isinstance(session, Session)
    outcome = with_secrets(outcome)
    for name, path in read_outputs(options, session.here):
        if path is not None:
            deliver(render(outcome, name, options.show or "note", options, path), path)
        elif name == "text":
            from preflight.report.paint import wants_colour
            from preflight.report.text import write_text

            colour = wants_colour(options.color, sys.stderr.isatty())
            text = write_text(
                outcome, options.show or "note", verbose=options.verbose, quiet=options.quiet, colour=colour
            )
            sys.stderr.write(text)
        else:
            sys.stderr.write(render(outcome, name, options.show or "note", options, None))
    sys.stderr.flush()


def become(command: Sequence[str]) -> int:
    """Replace this process; what Python changed about signals is undone first."""
    sys.stdout.flush()
    sys.stderr.flush()
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execvp(command[0], list(command))
    except OSError as error:
        print(f"preflight exec: {command[0]}: {(error.strerror or str(error)).lower()}", file=sys.stderr)
        return 2
