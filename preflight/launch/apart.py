"""Variables of the script that a shell on another machine is asked for.

In: a launch.  Out: a remark about the first variable that only the script around assigns and that the text behind ssh
expands: quoted, it travels as it stands, and the other machine has no such variable.  It refuses to guess: what the
text assigns itself, or reads from a file, is no remark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from preflight.execution import Related, Remark
from preflight.launch.model import Launch
from preflight.patterns import pattern
from preflight.source import Span

_READS = pattern(rb"(?:^|[\s;&|])(?:source|\.|export -p|eval|read|printf -v|getopts)\s")


def notice_apart(launch: Launch) -> Iterable[Remark]:
    """A variable that stays behind."""
    if not any(layer.kind in {"ssh", "pdsh"} for layer in launch.wrappers):
        return
    for name, asked in launch.list_variables():
        inner, place = asked.source, asked.resolve()
        if inner is place.source or _READS.search(inner.data) or _assigns(name, inner.data):
            continue
        found = _assigns(name, place.source.data)
        if found is not None:
            span = Span(place.source, found.start(1), found.end(1))
            related = (Related(span, f"{name} is assigned here"),)
            yield Remark("variable-left-behind", asked, {"name": name}, related)
            return


def _assigns(name: str, data: bytes) -> re.Match[bytes] | None:
    """Where a text assigns a variable: by itself, as a loop does, or exported."""
    key = re.escape(name.encode())
    return re.search(rb"(?:^|[\s;&|(])(%s\+?=|(?<=for )%s(?= in\b))" % (key, key), data)
