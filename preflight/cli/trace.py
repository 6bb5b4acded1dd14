"""`preflight trace`: the resolved launches of a script, every value with its origin.

In: script files; behind `--` their arguments.  Out: text or JSON.
"""

from __future__ import annotations

import sys

from preflight.chain import resolve
from preflight.cli import options as shared
from preflight.cli.discover import Found
from preflight.cli.options import MisuseError
from preflight.cli.output import choose_colour, deliver, read_outputs
from preflight.cli.session import Session
from preflight.cli.sheet import Sheet
from preflight.report.mask import collect_secrets, find_secrets
from preflight.report.trace import Traced, write_trace_json, write_trace_text
from preflight.source import Refusal

FORMATS = ("text", "json")


def make_sheet() -> Sheet:
    """The options of `trace`."""
    sheet = shared.new_sheet(
        "trace",
        "Show the command line that a launch script resolves to, every value with its origin.",
        ["preflight trace train.sh --env NNODES=16", "preflight trace train.sh --flag num-layers -- 7B"],
        usage="preflight trace [OPTIONS] PATH [-- ARGS]",
    )
    sheet.add_argument("paths", nargs="+", metavar="PATH", help="launch scripts, - for standard input")
    sheet.add_argument("--flag", metavar="NAME", help="only this flag")
    sheet.add_argument("--stdin-filename", metavar="NAME", help="the name that standard input goes under")
    shared.add_target_options(sheet)
    shared.add_script_options(sheet)
    shared.add_config_options(sheet)
    shared.add_output_options(sheet, FORMATS)
    sheet.set_defaults(select=[], ignore=[], fail_on=None, strict=None, baseline=None, write_baseline=None)
    return sheet


def run(words: list[str]) -> int:
    """The command."""
    words, arguments = shared.split_arguments(words)
    options = make_sheet().parse_args(words)
    try:
        session = Session(options, arguments)
        session.validate()
        targets = read_outputs(options, session.here._replace(output=()), FORMATS)
        traced = [trace_file(session, found) for found in session.find(options.paths)]
    except MisuseError as error:
        print(f"preflight trace: {error}", file=sys.stderr)
        return 2
    secrets = gather_secrets(session, traced)
    for name, path in targets:
        if name == "json":
            text = write_trace_json(traced, secrets)
        else:
            text = write_trace_text(traced, secrets, options.flag, choose_colour(options.color, path))
        deliver(text, path)
    for each in traced:
        if each.resolved is not None:
            for note in each.resolved.notes:
                print(f"preflight: {each.path}: {note}", file=sys.stderr)
    return 3 if any(each.error is not None for each in traced) else 0


def trace_file(session: Session, found: Found) -> Traced:
    """One file, followed to its launches, whatever happens."""
    source = session.read(found)
    if isinstance(source, Refusal):
        return Traced(source.path, None, source.message)
    try:
        return Traced(source.path, resolve(source, session.request_of(source.path)))
    except Exception as error:
        return Traced(source.path, None, session.describe_fault(error))


def gather_secrets(session: Session, traced: list[Traced]) -> frozenset[str]:
    """The values that must not be shown."""
    found = set(collect_secrets(dict(session.options.env)))
    for each in traced:
        if each.resolved is None:
            continue
        found |= find_secrets(each.resolved.script.source.text)
        for settled in each.resolved.launches:
            environment = settled.launch.environment
            found |= collect_secrets(
                {name: text.value if text else None for name, text in environment.items()}
            )
    return frozenset(found)
