"""Targets that users add: flag tables of their own forks.

In: `preflight targets add PATH`, which reads a checkout statically, and names given to `--target`.  Out: a JSON table
in `.preflight/targets/NAME.json` below the project root (to be committed, so that everyone checks alike).  A target's
name, or the path of such a file, is what `--target` and the config's `target` take.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from preflight.patterns import pattern
from preflight.source import Files, Refusal
from preflight.targets.releases import RELEASES, find_release, nearest_release, parse_version
from preflight.targets.table import Table, build_table, dump_table
from preflight.targets.version import TargetError, UnreadableError, read_version

FOLDER = os.path.join(".preflight", "targets")
NAME = pattern(r"\w[\w.-]*")


def add_target(
    checkout: str, root: str, *, name: str | None = None, based_on: str | None = None
) -> tuple[str, Table]:
    """Read a checkout and write its table below the root; the file's path and the table.

    `based_on` is the release whose rules hold for the fork; else it is read from the checkout's version.
    """
    from preflight.targets.checkout import read_checkout

    folder = os.path.realpath(checkout)
    if not os.path.isdir(folder):
        raise UnreadableError(f"{checkout} is not a folder")
    version = read_version(folder, Files(folder, (folder,)))
    release = based_on and find_release(based_on)
    if based_on and release is None:
        raise TargetError(f"no release named {based_on!r}; there are {', '.join(RELEASES)}")
    if release is None:
        numbers = parse_version(version) if version else None
        if numbers is None:
            raise UnreadableError(
                f"{checkout} does not say its version (megatron/core/package_info.py); give --based-on RELEASE"
            )
        release = nearest_release(numbers)[0]
    chosen = name or make_name(folder)
    if not NAME.fullmatch(chosen):
        raise TargetError(f"--name {chosen!r}: a target's name has letters, digits, '.', '_' and '-' only")
    if find_release(chosen) is not None or chosen.lower() == "all":
        raise TargetError(f"{chosen!r} is the name of a release; give the target another with --name")
    table = read_checkout(folder, release=release, name=chosen)
    path = os.path.join(root, FOLDER, f"{chosen}.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(dump_table(table))
    return path, table


def make_name(folder: str) -> str:
    """A target's name from the checkout's folder."""
    return re.sub(r"[^\w.-]+", "-", os.path.basename(folder)).strip("-.") or "fork"


def find_added(text: str, files: Files | None) -> Table | None:
    """An added target by its name or its file's path; None where there is none."""
    if files is None:
        return None
    paths = [text] if text.endswith(".json") else []
    if NAME.fullmatch(text):
        paths += [
            os.path.join(folder, FOLDER, f"{text}.json") for folder in (*files.folders, files.directory)
        ]
    for path in paths:
        source = files.read(path)
        if isinstance(source, Refusal):
            continue
        import json

        try:
            return build_table(json.loads(source.data))
        except (ValueError, KeyError, TypeError, LookupError, AttributeError):
            raise TargetError(f"{path} is no flag table; write it anew with preflight targets add") from None
    return None


def list_added(root: str) -> Iterator[str]:
    """The names of the targets added below a root."""
    try:
        names = sorted(os.listdir(os.path.join(root, FOLDER)))
    except OSError:
        return
    yield from (name.removesuffix(".json") for name in names if name.endswith(".json"))
