"""Formats: f-string fields, `%` and `str.format`.

In: templates and values.  Out: text; what a field holds and is not known stays an unknown piece in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from preflight.python import operators, texts
from preflight.python.objects import (
    Instance,
    Mapping,
    Missing,
    Scalar,
    Sequence,
    String,
    Value,
    assumptions_of,
    describe,
    text_of,
)
from preflight.source import Span
from preflight.values import PLACEHOLDER, Piece, Text, Unknown


def format_value(value: Value, spec: Text | None, conversion: str | None, span: Span, shown: str) -> Text:
    """What a replacement field of a format gives."""
    wanted = "" if spec is None else spec.value
    if wanted == "" and conversion in (None, "s"):
        text = text_of(value, span)
        if text is not None:
            return text
    missing = value.unknown if isinstance(value, Missing) else Unknown("code", shown)
    if isinstance(value, Instance) and value.rest is not None and value.cls is None:
        missing = value.rest.unknown
    if isinstance(value, String) and not value.text.known:
        missing = value.text.unknowns[0]
    if isinstance(value, Scalar) and value.value is None and value.origin.assumptions:
        return text_of(value, span) or Text.literal(shown, span)
    known = operators.plain(value)
    if isinstance(value, String) and value.path and value.text.known:
        known = value.text.value
    if wanted is not None and (known is not None or describe(value) is not None):
        try:
            shaped = repr(known) if conversion in ("r", "a") else known
            text_value = _format(str(shaped) if conversion == "s" else shaped, wanted)
            if len(text_value) > operators.LARGEST:
                raise ValueError("too long")
            return Text([Piece(text_value, span, None, (), assumptions_of(value))])
        except (ValueError, TypeError, OverflowError):
            pass
    return Text([Piece(shown, span, missing, (), assumptions_of(value))])


def _format(value: object, spec: str) -> str:
    widths = [int(w) for w in re.findall(r"\d+", spec)]
    if any(w > 1000 for w in widths):
        raise ValueError("too wide")
    return format(value, spec)


_DIRECTIVE = re.compile(
    r"%(?:\((?P<key>[^)]*)\))?(?P<flags>[#0\- +]*)(?P<width>\d*)(?:\.(?P<precision>\d+))?(?P<type>[a-zA-Z%])"
)


def percent(template: Text, argument: Value, span: Span) -> Value | None:
    """`template % argument`."""
    masked = texts.mask(template)
    arguments: list[Value]
    if isinstance(argument, Sequence) and argument.kind == "tuple":
        if not argument.closed:
            return None
        arguments = [element.value for element in argument.elements]
    else:
        arguments = [argument]
    parts: list[Text] = []
    at, used = 0, 0
    for match in _DIRECTIVE.finditer(masked):
        parts.append(texts.cut(template, at, match.start()))
        at = match.end()
        if match["type"] == "%":
            parts.append(texts.cut(template, match.start(), match.start() + 1))
            continue
        if match["key"] is not None:
            entry = argument.entries.get(match["key"]) if isinstance(argument, Mapping) else None
            value = entry[1] if entry is not None else None
        else:
            value = arguments[used] if used < len(arguments) else None
            used += 1
        if value is None:
            return None
        parts.append(_directive(match, value, span))
    parts.append(texts.cut(template, at, len(masked)))
    return String(Text([piece for part in parts for piece in part.pieces]))


def _directive(match: re.Match[str], value: Value, span: Span) -> Text:
    if match["type"] == "s" and not (match["flags"] or match["width"] or match["precision"]):
        text = text_of(value, span)
        if text is not None:
            return text
    known = operators.plain(value)
    form = match.group().replace(f"({match['key']})", "") if match["key"] is not None else match.group()
    if known is not None and len(match["width"]) < 4:
        try:
            shaped = form % (known,)
            if len(shaped) <= operators.LARGEST:
                return Text([Piece(shaped, span, None, (), assumptions_of(value))])
        except (TypeError, ValueError, OverflowError):
            pass
    missing = value.unknown if isinstance(value, Missing) else Unknown("code", match.group())
    return Text([Piece(missing.text, span, missing, (), assumptions_of(value))])


_REPLACEMENT = re.compile(
    r"\{\{|\}\}|\{(?P<name>[^{}!:]*)(?:!(?P<conversion>[rsa]))?(?::(?P<spec>[^{}]*))?\}"
)


def replacement(
    template: Text,
    positional: list[Value],
    keywords: dict[str, Value],
    span: Span,
    get: Callable[..., Value | None],
) -> Value | None:
    """`template.format(...)`; `get` looks up attributes and items of a field's name."""
    masked = texts.mask(template)
    parts: list[Text] = []
    at, automatic = 0, 0
    for match in _REPLACEMENT.finditer(masked):
        parts.append(texts.cut(template, at, match.start()))
        at = match.end()
        if match["name"] is None:
            parts.append(texts.cut(template, match.start(), match.start() + 1))
            continue
        head, *tail = re.findall(r"^[^.\[]*|\.[^.\[]+|\[[^\]]*\]", match["name"]) or [""]
        value: Value | None
        if head == "" or head.isdecimal():
            index = automatic if head == "" else int(head)
            automatic += head == ""
            value = positional[index] if index < len(positional) else None
        else:
            value = keywords.get(head)
        for step in tail:
            value = get(value, step) if value is not None else None
        spec = Text.literal(match["spec"], span) if match["spec"] else None
        if value is None or PLACEHOLDER in (match["spec"] or ""):
            missing = Unknown("code", match.group())
            parts.append(Text([Piece(match.group(), span, missing)]))
        else:
            parts.append(format_value(value, spec, match["conversion"], span, match.group()))
    parts.append(texts.cut(template, at, len(masked)))
    return String(Text([piece for part in parts for piece in part.pieces]))
