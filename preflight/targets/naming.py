"""The release that the paths of a launch speak of: `core_v0.12.0`, `Megatron-LM-250624`.

In: a launch.  Out: a release and the words that name it.  A snapshot of the main branch with its date is taken as the
release whose branch was cut nearest to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.launch.model import Launch
from preflight.patterns import pattern as lazy_pattern
from preflight.targets.releases import RELEASES, find_release, parse_release

BRANCHED = {
    4: 240130,
    5: 240321,
    6: 240422,
    7: 240504,
    8: 240711,
    9: 241002,
    10: 250120,
    11: 250213,
    12: 250410,
    13: 250617,
    14: 250818,
    15: 251021,
    16: 260331,
    17: 260331,
    18: 260603,
    19: 260729,
}
"""When the main branch went on to the next minor version (year, month, day): where 0.N was cut."""

_VERSION = lazy_pattern(r"core[-_]([vr]\d+\.\d+(?:\.\d+)?)(?![\w.]*\d)")
_DATE = lazy_pattern(r"[Mm]egatron[-_](?:[Ll][Mm][-_])?(2[3-9][01]\d[0-3]\d)(?!\d)")


def find_naming(launch: Launch) -> tuple[str, str] | None:
    """The release that a path names, and the name; the first of PYTHONPATH, the program and its directory."""
    for path in list_paths(launch):
        for pattern, sign in ((_VERSION, "core"), (_DATE, "egatron")):
            match = pattern.search(path) if sign in path else None
            if match is None:
                continue
            release = find_release(match[1]) if pattern is _VERSION else find_dated(int(match[1]))
            if release is not None:
                return release, match[0]
    return None


def list_paths(launch: Launch) -> Iterator[str]:
    path = launch.environment.get("PYTHONPATH")
    for text in (path, launch.program.text if launch.program else None, launch.directory):
        if text is not None:
            yield text.display()


def find_dated(date: int) -> str:
    """The release whose branch was cut nearest to a day (yymmdd)."""
    nearest = min(BRANCHED, key=lambda minor: (abs(days(BRANCHED[minor]) - days(date)), -minor))
    return next((name for name in RELEASES if parse_release(name)[:2] == (0, nearest)), RELEASES[0])


def days(date: int) -> int:
    """Days, near enough for comparing."""
    return date // 10000 * 365 + date // 100 % 100 * 30 + date % 100
