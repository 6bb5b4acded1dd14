"""The releases whose flag tables are here, and the names that people give them.

In: what the user wrote for `--target`, or a version read from a checkout.  Out: the full name of a release
(`core_v0.19.0`).  A name that fits none is refused with the nearest ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from preflight.patterns import pattern

RELEASES = (
    "core_v0.5.0",
    "core_v0.6.0",
    "core_v0.7.0",
    "core_r0.8.0",
    "core_v0.9.0",
    "core_v0.10.0",
    "core_v0.11.0",
    "core_v0.12.0",
    "core_v0.13.1",
    "core_v0.14.0",
    "core_v0.15.3",
    "core_v0.16.1",
    "core_v0.17.1",
    "core_v0.18.2",
    "core_v0.19.0",
    "main",
)
"""From old to new."""

NEWEST = RELEASES[-2]

TE_VERSIONS = {
    "core_v0.15.3": "2.9.0",
    "core_v0.16.1": "2.12.0",
    "core_v0.17.1": "2.14.1",
    "core_v0.18.2": "2.16.0",
    "core_v0.19.0": "2.17.1",
    "main": "2.17.1",
}
"""The TransformerEngine that a release pins; older ones pin none."""

UNPINNED_TE = "2.8.0"

MAIN = (9999,)
_LEADING = pattern(r"v?(\d+(?:\.\d+)*)")
_NUMBERS = pattern(r"\d+(?:\.\d+)*")


def parse_version(text: str) -> tuple[int, ...] | None:
    """The numbers of `0.15.3`, `core_v0.15.3`, `v0.15` or `core_r0.8.0`; None for other names."""
    match = re.fullmatch(
        r"(?:core[_-])?[vr]?(\d+(?:\.\d+){0,2})(?:[.]?(?:rc|a|b|dev)\d*)?(?:\+.*)?", text.strip()
    )
    return tuple(int(part) for part in match.group(1).split(".")) if match else None


def read_numbers(text: str) -> tuple[int, ...]:
    """The numbers that a version begins with: 2, 9 and 0 of `2.9.0`, `v2.9.0rc1` and `2.9.0+cu128`."""
    found = _LEADING.match(text)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def parse_release(name: str) -> tuple[int, ...]:
    """The numbers in a release's name, for comparing; one without any is `main`, above all numbers."""
    found = _NUMBERS.search(name)
    return tuple(int(part) for part in found[0].split(".")) if found else MAIN


def find_release(text: str) -> str | None:
    """The release that a user's name stands for: full name, version, or `0.15` for its newest patch.

    A patch release that has no table of its own stands for the one of its minor version.
    """
    text = text.strip()
    if text in RELEASES:
        return text
    if text.lower() in ("main", "dev", "head"):
        return "main"
    version = parse_version(text)
    if version is None or len(version) < 2:
        return None
    return next((name for name in reversed(RELEASES[:-1]) if parse_release(name)[:2] == version[:2]), None)


def nearest_release(version: tuple[int, ...]) -> tuple[str, bool]:
    """The release whose table fits a version, and whether it is of that minor version.

    A version newer than all tables is taken as `main`; one between or below them as the next newer.
    """
    for name in RELEASES[:-1]:
        known = parse_release(name)[:2]
        if known >= version[:2]:
            return name, known == version[:2]
    return "main", False


def describe_releases(names: Iterable[str]) -> str:
    """Releases in words: `core_v0.5.0 to core_v0.10.0, main`; names of added targets stand alone."""
    wanted = list(dict.fromkeys(names))
    listed = sorted(RELEASES.index(name) for name in wanted if name in RELEASES)
    runs: list[list[int]] = []
    for number in listed:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [
        RELEASES[run[0]] if len(run) == 1 else f"{RELEASES[run[0]]} to {RELEASES[run[-1]]}" for run in runs
    ]
    return ", ".join([*parts, *(name for name in wanted if name not in RELEASES)])
