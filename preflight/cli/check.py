"""`preflight check`: lint launch scripts.

In: files, folders, or `-`; behind `--` the script's arguments.  Out: findings, in the formats that are asked for.
"""

from __future__ import annotations

import sys

from preflight.cli import options as shared
from preflight.cli.options import MisuseError
from preflight.cli.output import UNDECIDED, make_page, read_outputs, report
from preflight.cli.session import Session
from preflight.cli.sheet import Sheet
from preflight.outcome import Outcome


def make_sheet() -> Sheet:
    """The options of `check`."""
    sheet = shared.new_sheet(
        "check",
        "Lint Megatron launch scripts without running them.",
        [
            "preflight check train.sh",
            "preflight check scripts/ --output json",
            "preflight check train.sh -- 7B 16",
        ],
        usage="preflight check [OPTIONS] [PATH|- ...] [-- ARGS]",
    )
    sheet.add_argument(
        "paths", nargs="*", metavar="PATH", help="files or folders (default: this folder), - for stdin"
    )
    shared.add_target_options(sheet)
    shared.add_script_options(sheet)
    shared.add_rule_options(sheet)
    shared.add_config_options(sheet)
    shared.add_output_options(sheet)
    group = sheet.add_argument_group("files and fixes")
    group.add_argument(
        "--stdin-filename", metavar="NAME", help="the name that standard input is checked under"
    )
    group.add_argument(
        "--force-exclude",
        action="store_true",
        default=None,
        help="exclude also counts for files that are named",
    )
    group.add_argument("--fix", action="store_true", help="apply the safe fixes")
    group.add_argument(
        "--unsafe-fixes", action="store_true", help="with --fix or --diff, those too that need a look"
    )
    group.add_argument("--diff", action="store_true", help="show what --fix would change, and change nothing")
    group.add_argument(
        "--megatron",
        metavar="PATH",
        help="also ask this checkout's own parser and validators (runs Megatron's code)",
    )
    return sheet


def run(words: list[str]) -> int:
    """The command."""
    words, arguments = shared.split_arguments(words)
    options = make_sheet().parse_args(words)
    try:
        session = Session(options, arguments)
        if options.node or session.here.node:
            from preflight.cli.holding import hold_against

            session = hold_against(options.node or session.here.node or "", options, arguments)
        session.validate()
        targets = read_outputs(options, session.here)
        session.tells_undecided = any(name in UNDECIDED for name, _ in targets)
        if "-" in options.paths and options.fix and not options.diff:
            raise MisuseError("standard input cannot be fixed in place; use --diff")
        if options.fix or options.diff or options.unsafe_fixes:
            from preflight.cli.fixing import fix_files

            files = fix_files(session, list(session.find(options.paths)))
        else:
            files = [session.check_file(found) for found in session.find(options.paths)]
        outcome = session.conclude(files)
        if any(name == "sarif" for name, _ in targets):
            outcome = with_pages(outcome, session)
        return report(outcome, targets, options, session.here)
    except MisuseError as error:
        print(f"preflight check: {error}", file=sys.stderr)
        return 2


def with_pages(outcome: Outcome, session: Session) -> Outcome:
    """The outcome with what a report says of the rules that found something."""
    pages = {}
    for file in outcome.files:
        for diagnostic in file.diagnostics:
            page = make_page(session.request_of(file.path).rules, diagnostic.rule)
            if page is not None:
                pages[diagnostic.rule] = page
    return outcome._replace(pages=pages)
