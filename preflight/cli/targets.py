"""`preflight targets`: the Megatron releases that are known, and adding a fork's own.

In: `list`, or `add PATH` with a checkout.  Out: names, or a flag table below the project root.  The checkout is read
statically: nothing of it is imported or run.
"""

from __future__ import annotations

import os
import sys

from preflight.chain import find_root
from preflight.cli import options as shared
from preflight.cli.sheet import Sheet
from preflight.targets.added import add_target, list_added
from preflight.targets.releases import NEWEST, RELEASES, TE_VERSIONS
from preflight.targets.version import TargetError, UnreadableError


def make_sheet() -> Sheet:
    """The options of `targets`."""
    sheet = shared.new_sheet(
        "targets",
        "List the releases that --target takes, or add a fork's flag table from its checkout.",
        ["preflight targets list", "preflight targets add ../our-megatron --name ours"],
        usage="preflight targets [list|add PATH] [OPTIONS]",
    )
    sheet.add_argument("action", nargs="?", choices=("list", "add"), default="list", help="default: list")
    sheet.add_argument("path", nargs="?", metavar="PATH", help="for add: the checkout")
    sheet.add_argument("--name", metavar="NAME", help="for add: the target's name (default: the folder's)")
    sheet.add_argument(
        "--based-on", metavar="RELEASE", help="for add: the release whose rules hold for the fork"
    )
    sheet.add_argument("--root", metavar="FOLDER", help="the project root (default: the repository)")
    sheet.add_argument("--output", choices=("text", "json"), default="text", help="for list")
    return sheet


def run(words: list[str]) -> int:
    """The command."""
    options = make_sheet().parse_args(words)
    root = options.root or find_root(os.getcwd())
    if options.action == "list":
        return list_targets(root, options.output)
    if options.path is None:
        print("preflight targets: add needs the path of a Megatron checkout", file=sys.stderr)
        return 2
    try:
        path, table = add_target(options.path, root, name=options.name, based_on=options.based_on)
    except (TargetError, UnreadableError) as error:
        print(f"preflight targets: {error}", file=sys.stderr)
        return 2 if isinstance(error, TargetError) else 3
    print(f"{os.path.relpath(path)}: {len(table.options)} options, rules of {table.release}")
    print(f'use it with --target {table.name}, or target = "{table.name}" in preflight.toml')
    return 0


def list_targets(root: str, output: str) -> int:
    """All names that `--target` takes."""
    added = list(list_added(root))
    if output == "json":
        import json

        print(
            json.dumps({"schema": 1, "releases": list(RELEASES), "newest": NEWEST, "added": added}, indent=2)
        )
        return 0
    for release in RELEASES:
        te = f"  TransformerEngine {TE_VERSIONS[release]}" if release in TE_VERSIONS else ""
        newest = "  newest" if release == NEWEST else ""
        print(f"{release:<14}{te}{newest}".rstrip())
    for name in added:
        print(f"{name:<14}  added")
    return 0
