"""Texts with a grammar of their own: shell words, JSON, indented blocks.

In: arguments of a call.  Out: the value, or None where it is not known; unknown parts of a text stay in their place.
"""

from __future__ import annotations

import json
from typing import Any

import libcst as cst

from preflight.python import operators, runs, texts
from preflight.python.objects import (
    HEAVIEST,
    Arguments,
    Element,
    Mapping,
    Missing,
    Origin,
    Scalar,
    Sequence,
    String,
    Value,
    assumptions_of,
    text_of,
    weigh,
)
from preflight.python.registry import first, models
from preflight.python.scope import Frame, RaisedError
from preflight.source import Span
from preflight.values import Piece, Text, Unknown


@models("shlex.split", "split")
def _shlex_split(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = given.get("s", 0)
    if not isinstance(value, String):
        return None
    if isinstance(comments := given.get("comments", 1), Scalar) and comments.value:
        return None
    parts = texts.shell_words(value.text)
    if parts is None:
        raise RaisedError("ValueError")
    return Sequence("list", [_word(part, given) for part in parts])


def _word(part: Text, given: Arguments) -> Element:
    value: Value = String(part if part.pieces else Text.literal("", given.span))
    span = texts.extent(part, given.span)
    if texts.lone(part) and part.pieces[0].unknown is not None:
        missing = Missing(part.pieces[0].unknown, Origin(part.pieces[0].span))
        return Element(missing, span, True)
    return Element(value, span)


@models("shlex.quote", "pipes.quote", "quote")
def _quote(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = given.get("s", 0)
    text = text_of(value, given.span) if value is not None else None
    return String(texts.quote(text, given.span)) if text is not None else None


@models("shlex.join", "subprocess.list2cmdline")
def _shlex_join(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = given.get("split_command", 0)
    if not isinstance(value, Sequence):
        return None
    parts = [texts.quote(runs.word_text(e.value, e.span), e.span) for e in value.elements]
    return String(texts.join(Text.literal(" ", given.span), parts))


@models("textwrap.dedent", "dedent", "inspect.cleandoc")
def _dedent(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = given.get("text", 0)
    return String(texts.dedent(value.text)) if isinstance(value, String) else None


UNKNOWN = object()


def jsonable(value: Value) -> Any:
    """The plain Python value, or `UNKNOWN`."""
    return _jsonable(value) if weigh(value, HEAVIEST) <= HEAVIEST else UNKNOWN


def _jsonable(value: Value) -> Any:
    if isinstance(value, Scalar):
        return value.value if isinstance(value.value, (bool, int, float, type(None))) else UNKNOWN
    if isinstance(value, String):
        return value.text.value if value.text.known and not value.path else UNKNOWN
    if isinstance(value, Sequence) and value.closed and value.kind != "set":
        items = [_jsonable(e.value) for e in value.elements]
        return UNKNOWN if any(i is UNKNOWN for i in items) else items
    if isinstance(value, Mapping) and value.rest is None:
        table = {}
        for key, (_, item) in value.entries.items():
            plain = _jsonable(item)
            if plain is UNKNOWN or not isinstance(key, (str, int)):
                return UNKNOWN
            table[key] = plain
        return table
    return UNKNOWN


@models("json.dumps")
def _dumps(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = given.get("obj", 0)
    if value is None:
        return None
    plain = jsonable(value)
    settings: dict[str, Any] = {k: operators.plain(e.value) for k, e in given.keywords.items() if k != "obj"}
    if set(settings) - {"indent", "sort_keys", "ensure_ascii", "separators"}:
        return None
    if plain is UNKNOWN:
        text = _json_text(value, given.span, 0) if not settings else None
        return String(text) if text is not None else None
    try:
        shown = json.dumps(plain, **settings)
    except (TypeError, ValueError, RecursionError):
        return None
    return String(Text([Piece(shown, given.span)])) if len(shown) < operators.LARGEST else None


def _json_text(value: Value, span: Span, depth: int) -> Text | None:
    """JSON with unknown parts; None where even its outline is not known."""
    if depth > 20:
        return None
    plain = jsonable(value)
    if plain is not UNKNOWN:
        return Text.literal(json.dumps(plain), span)
    if isinstance(value, String):
        mark = Text.literal('"', span)
        known = [p.text for p in value.text.pieces if p.unknown is None]
        return mark.joined(value.text, mark) if not any(set(t) & set('"\\\n') for t in known) else None
    if isinstance(value, Missing):
        return runs.word_text(value, span)
    parts: list[Text] = []
    if isinstance(value, Mapping) and value.rest is None:
        for key, (_, item) in value.entries.items():
            inner = _json_text(item, span, depth + 1)
            if inner is None or not isinstance(key, str):
                return None
            parts.append(Text.literal(json.dumps(key) + ": ", span).joined(inner))
        ends = "{}"
    elif isinstance(value, Sequence) and value.closed and value.kind != "set":
        for element in value.elements:
            inner = _json_text(element.value, span, depth + 1)
            if inner is None:
                return None
            parts.append(inner)
        ends = "[]"
    else:
        return None
    joined = texts.join(Text.literal(", ", span), parts)
    return Text.literal(ends[0], span).joined(joined, Text.literal(ends[1], span))


@models("json.loads", "ast.literal_eval")
def _loads(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    text = value.text.value if isinstance(value, String) else None
    if text is None or len(text) > 100_000:
        return None
    if not name.startswith("json"):
        return None
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RaisedError("JSONDecodeError") from error
    return made(plain, Origin(texts.extent(value.text, given.span), (), assumptions_of(value)))  # type: ignore[union-attr, arg-type]


def made(plain: Any, origin: Origin, depth: int = 0) -> Value:
    """A value for a plain Python value."""
    if depth > 50:
        return Missing(Unknown("code", "..."), origin)
    if isinstance(plain, str):
        return String(Text([Piece(plain, origin.span, None, (), origin.assumptions)]))
    if isinstance(plain, list):
        return Sequence("list", [Element(made(p, origin, depth + 1), origin.span) for p in plain])
    if isinstance(plain, dict):
        return Mapping({k: (made(k, origin), made(v, origin, depth + 1)) for k, v in plain.items()})
    return Scalar(plain, origin)
