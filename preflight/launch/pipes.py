"""Exit statuses that a pipe hides.

In: a source, and a launch in it.  Out: remarks about a fallback behind a pipe that never runs (`A | head -1 || B`), and
about a launch whose failure `set -e` does not see because it is piped into tee.  Both only where the script does
not ask for `pipefail`.  This reads text, not syntax: what it cannot place it leaves alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from preflight.execution import Remark
from preflight.launch.model import Launch
from preflight.patterns import pattern
from preflight.source import Source

_FALLBACK = pattern(
    rb"(?P<first>[\w./-]+)[^\n|&;()#`]*\|\s*(?P<last>head|tail|awk|sed|cut|tr|sort)\b[^\n|&;()`]*(?P<or>\|\|\s*(?P<then>[^\n)`;]+))"
)
_NOTHING = pattern(rb"""(true|:|exit\b.*|return\b.*|echo|echo\s+(""|''|-n.*)|printf\s+(""|'').*)\s*$""")
_TEE = pattern(rb"(?:\s*(?:\d?>&\d|&?>>?\s*[^\s|;&]+|\d?>>?\s*[^\s|;&]+))*\s*(\|&?\s*tee\b)")
_ERREXIT = pattern(
    rb"^[ \t]*set[ \t]+(?:-[a-zA-Z]*e[a-zA-Z]*\b|-o[ \t]+errexit)|^#!.*bash[ \t]+-\w*e", re.MULTILINE
)


def notice_fallbacks(source: Source) -> Iterable[Remark]:
    """Fallbacks behind a pipe: its status is that of its last command, which seldom fails."""
    data = source.data
    if b"||" not in data or b"pipefail" in data:
        return
    for match in _FALLBACK.finditer(data):
        line = data[data.rfind(b"\n", 0, match.start()) + 1 : match.start()]
        if line.lstrip().startswith(b"#") or _NOTHING.match(match["then"].strip()):
            continue
        values = {
            "first": match["first"].decode("utf-8", "replace"),
            "last": match["last"].decode(),
            "fallback": match["then"].decode("utf-8", "replace").strip().strip("\"'"),
        }
        yield Remark("fallback-behind-pipe", source.span(match.start("or"), match.end("or")), values)


def notice_hidden_status(launch: Launch) -> Iterable[Remark]:
    """A launch piped into tee in a script that wants to stop at the first failure."""
    place = launch.span.resolve()
    data = place.source.data
    if b"pipefail" in data or not _ERREXIT.search(data):
        return
    match = _TEE.match(data, place.end)
    if match is not None:
        values = {"launcher": launch.launcher.kind}
        yield Remark("status-hidden-by-pipe", place.source.span(match.start(1), match.end(1)), values)
