"""Ignore comments: `# preflight: ignore[rule, rule] reason` and `# preflight: file-ignore[rule] reason`.

In: a source and the findings of a run.  Out: the findings, those that a comment covers marked with its reason, and
remarks about comments that cover nothing or cannot be read.  A comment is bound to syntax, not to lines: it stands
behind an array element or the last line of a command, or on its own line above an element, a command or an assignment,
and it covers every finding with any label, hidden ones too, inside that node.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from preflight.diagnostics import Diagnostic
from preflight.execution import Remark
from preflight.patterns import pattern
from preflight.record import NamedTuple
from preflight.source import Span

MARK = b"preflight:"
_COMMENT = pattern(
    r"#+\s*preflight:\s*(?P<word>[\w-]*)\s*(?P<list>\[(?P<names>[^\]]*)\]?)?(?P<reason>.*)", re.S
)
_WORDS = ("ignore", "file-ignore")
_DIRECTIVES = ("source", "source-path", "arg", "env", "shell")


class Place(NamedTuple):
    """A comment, and the ranges of bytes that it speaks of (None: the whole file)."""

    span: Span
    targets: tuple[tuple[int, int], ...] | None = ()


class Ignore(NamedTuple):
    """A comment that could be read."""

    names: tuple[str, ...]
    reason: str
    place: Place


def read_ignores(
    places: Iterable[Place], known: Callable[[str], str | None]
) -> tuple[list[Ignore], list[Remark]]:
    """The ignore comments of a file, and remarks about those that are none; `known` finds fault with a name."""
    ignores: list[Ignore] = []
    remarks: list[Remark] = []
    for place in places:
        match = _COMMENT.match(place.span.text)
        if match is None or not match["word"] or match["word"].startswith(_DIRECTIVES):
            continue
        fault = _fault(match, known)
        if fault is not None:
            remarks.append(Remark("invalid-ignore", place.span, {"problem": fault}))
            continue
        names = tuple(name.strip() for name in match["names"].split(",") if name.strip())
        whole = match["word"] == "file-ignore"
        ignores.append(
            Ignore(names, match["reason"].strip(" :-"), place._replace(targets=None) if whole else place)
        )
    return ignores, remarks


def _fault(match: re.Match[str], known: Callable[[str], str | None]) -> str | None:
    word = match["word"]
    if word not in _WORDS:
        return f"there is no {word!r} comment; write ignore[rule] or file-ignore[rule]"
    if match["list"] is None or not match["list"].endswith("]") or not (match["names"] or "").strip(" ,"):
        return f"{word} needs a list of rules: {word}[rule] reason"
    for name in match["names"].split(","):
        fault = known(name.strip()) if name.strip() else None
        if fault is not None:
            return fault
    return None


def suppress(
    diagnostics: Sequence[Diagnostic],
    ignores: Mapping[str, Sequence[Ignore]],
    require_reason: bool = False,
) -> tuple[list[Diagnostic], list[Remark]]:
    """Mark the covered findings; `ignores` are by path of the file that holds the comment."""
    used: set[tuple[str, int, str]] = set()
    marked: list[Diagnostic] = []
    for diagnostic in diagnostics:
        reason = None
        for path, comments in ignores.items():
            for comment in comments:
                name = next(
                    (n for n in comment.names if n in (diagnostic.rule, diagnostic.family, "all")), None
                )
                if name is not None and covers(comment.place, path, diagnostic):
                    used.add((path, comment.place.span.start, name))
                    reason = reason if reason is not None else comment.reason
        marked.append(
            diagnostic if reason is None else diagnostic._replace(ignored=reason or "ignore comment")
        )
    remarks: list[Remark] = []
    for path, comments in ignores.items():
        for comment in comments:
            start = comment.place.span.start
            unused = [name for name in comment.names if (path, start, name) not in used]
            if unused:
                values = {"names": ", ".join(unused), "count": len(unused)}
                remarks.append(Remark("unused-ignore", comment.place.span, values))
            if require_reason and not comment.reason:
                problem = "no reason is given, and the config asks for one"
                remarks.append(Remark("invalid-ignore", comment.place.span, {"problem": problem}))
    return marked, remarks


def covers(place: Place, path: str, diagnostic: Diagnostic) -> bool:
    """Whether any label of a finding lies in what a comment speaks of."""
    if place.targets is None:
        return diagnostic.path == path or any(label.span.path == path for label in diagnostic.labels)
    for label in diagnostic.labels:
        span = label.span
        if span.path == path and any(start <= span.start < end for start, end in place.targets):
            return True
    return False
