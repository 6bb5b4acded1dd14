"""`preflight files`: which files count as launch scripts, and why.

In: files and folders, as for `check`.  Out: a line for each candidate, with the number of its launches.
"""

from __future__ import annotations

import json
import sys

from preflight.chain import place_of
from preflight.cli import options as shared
from preflight.cli.options import MisuseError
from preflight.cli.session import Session
from preflight.cli.sheet import Sheet
from preflight.cli.trace import trace_file


def make_sheet() -> Sheet:
    """The options of `files`."""
    sheet = shared.new_sheet(
        "files",
        "List the files that check would look at, why, and how many launches each holds.",
        ["preflight files scripts/"],
        usage="preflight files [OPTIONS] [PATH ...]",
    )
    sheet.add_argument("paths", nargs="*", metavar="PATH", help="files or folders (default: this folder)")
    sheet.add_argument(
        "--force-exclude", action="store_true", default=None, help="exclude counts for named files too"
    )
    shared.add_script_options(sheet)
    shared.add_config_options(sheet)
    sheet.add_argument("--output", choices=("text", "json"), default="text", help="text or json")
    sheet.set_defaults(
        target=None, te=None, nodes=None, gpus_per_node=None, gpu=None, nvlink_domain=None, node=None, select=[],
        ignore=[], fail_on=None, strict=None, verbose=False, baseline=None, write_baseline=None,
    )  # fmt: skip
    return sheet


def run(words: list[str]) -> int:
    """The command."""
    words, arguments = shared.split_arguments(words)
    options = make_sheet().parse_args(words)
    rows = []
    try:
        session = Session(options, arguments)
        for found in session.find(options.paths):
            traced = trace_file(session, found)
            launches = traced.resolved.launches if traced.resolved else ()
            count = len({place_of(settled.launch) for settled in launches})
            rows.append(
                {"path": found.path, "reason": found.reason, "launches": count, "error": traced.error}
            )
    except MisuseError as error:
        print(f"preflight files: {error}", file=sys.stderr)
        return 2
    if options.output == "json":
        print(json.dumps({"schema": 1, "files": rows}, indent=2, ensure_ascii=False))
    else:
        for row in rows:
            what = row["error"] or f"{row['launches']} launch{'' if row['launches'] == 1 else 'es'}"
            print(f"{row['path']}: {what} ({row['reason']})")
    return 3 if any(row["error"] for row in rows) else 0
