"""Regular expressions on known texts.

In: a pattern and a text that are both known.  Out: matches and texts.  Patterns whose search could take long, by
repeating a group, are left unknown.
"""

from __future__ import annotations

import re
from collections.abc import Hashable

import libcst as cst

from preflight.python import texts
from preflight.python.objects import (
    Arguments,
    Element,
    Mapping,
    Match,
    Origin,
    Scalar,
    Sequence,
    String,
    Value,
    key_of,
)
from preflight.python.registry import models
from preflight.python.scope import Frame, RaisedError
from preflight.source import Span
from preflight.values import Text

_SLOW = re.compile(r"\)[*+{]|[*+}][*+]")


def _compiled(value: Value | None, given: Arguments) -> re.Pattern[str] | None:
    pattern = value.text.value if isinstance(value, String) else None
    if (
        pattern is None
        or len(pattern) > 300
        or _SLOW.search(pattern) is not None
        or "flags" in given.keywords
    ):
        return None
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None


def _subject(value: Value | None) -> str | None:
    text = value.text.value if isinstance(value, String) else None
    return text if text is not None and len(text) <= 2000 else None


@models("re.search", "re.match", "re.fullmatch")
def _search(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    pattern = _compiled(given.get("pattern", 0), given)
    value = given.get("string", 1)
    subject = _subject(value)
    if pattern is None or subject is None or not isinstance(value, String) or len(given.positional) > 2:
        return None
    found = getattr(pattern, name.rpartition(".")[2])(subject)
    if found is None:
        return Scalar(None, Origin(given.span))
    places = [found.span(index) for index in range(pattern.groups + 1)]
    return Match(value.text, places, dict(pattern.groupindex))


@models("re.findall")
def _findall(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    pattern = _compiled(given.get("pattern", 0), given)
    value = given.get("string", 1)
    subject = _subject(value)
    if pattern is None or subject is None or not isinstance(value, String) or pattern.groups > 1:
        return None
    index = pattern.groups
    parts = texts.cuts(value.text, (found.span(index) for found in pattern.finditer(subject)))
    return Sequence("list", [Element(String(part), texts.extent(part, given.span)) for part in parts])


@models("re.sub")
def _sub(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    pattern = _compiled(given.get("pattern", 0), given)
    new, value = given.get("repl", 1), given.get("string", 2)
    subject = _subject(value)
    if pattern is None or subject is None or not isinstance(value, String) or not isinstance(new, String):
        return None
    if not new.text.known or "\\" in new.text.display() or len(given.positional) > 3:
        return None
    parts: list[Text] = []
    at = 0
    for found in pattern.finditer(subject):
        parts.extend((texts.cut(value.text, at, found.start()), new.text))
        at = found.end()
    parts.append(texts.cut(value.text, at, len(subject)))
    return String(Text([piece for part in parts for piece in part.pieces]))


def group(match: Match, index: Value, span: Span) -> Value | None:
    """A group of a match by its number or name."""
    key = key_of(index)
    number = match.names.get(key) if isinstance(key, str) else key
    if not isinstance(number, int):
        return None
    if not 0 <= number < len(match.places):
        raise RaisedError("IndexError")
    return _piece(match, number, span)


def _piece(match: Match, number: int, span: Span) -> Value:
    low, high = match.places[number]
    return String(texts.cut(match.text, low, high)) if low >= 0 else Scalar(None, Origin(span))


def call(match: Match, name: str, given: Arguments) -> Value | None:
    """Methods of a match."""
    span = given.span
    if name == "group" and len(given.positional) < 2:
        index = given.positional[0].value if given.positional else Scalar(0, Origin(span))
        return group(match, index, span)
    if name == "groups":
        numbers = range(1, len(match.places))
        return Sequence("tuple", [Element(_piece(match, number, span), span) for number in numbers])
    if name == "groupdict":
        entries: dict[Hashable, tuple[Value, Value]] = {
            n: (String(Text.literal(n, span)), _piece(match, i, span)) for n, i in match.names.items()
        }
        return Mapping(entries)
    if name in ("start", "end") and not given.positional:
        return Scalar(match.places[0][name == "end"], Origin(span))
    return None
