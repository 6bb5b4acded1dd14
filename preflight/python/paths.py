"""Paths as text: joining them and writing them as `pathlib` does, and the methods of `Path`.

In: text that may be partly unknown.  Out: text, or None where the outcome is not known.  No file is looked at.
"""

from __future__ import annotations

import re

import libcst as cst

from preflight.python import operators, system, texts
from preflight.python.objects import (
    Arguments,
    Missing,
    Origin,
    Scalar,
    String,
    Value,
    text_of,
)
from preflight.python.scope import Frame
from preflight.source import Span
from preflight.values import Text, Unknown


def join_path(left: Value, right: Value, span: Span) -> Value | None:
    """`Path / part`."""
    if (isinstance(left, String) and left.path) or (isinstance(right, String) and right.path):
        parts = [text_of(v, span) for v in (left, right)]
        if parts[0] is not None and parts[1] is not None:
            return String(normal_path(path_text([parts[0], parts[1]], span)), True)
    if isinstance(left, Missing) and isinstance(right, String):
        return Missing(left.unknown._replace(text=f"{left.unknown.text}/..."), left.origin, True)
    return None


def path_text(parts: list[Text], span: Span) -> Text:
    """As `os.path.join`."""
    result = texts.EMPTY
    mark = Text.literal("/", Span(span.source, span.start, span.start))
    for part in parts:
        shown = texts.mask(part)
        if shown.startswith("/") or not result.pieces:
            result = part
            continue
        result = result.joined(part) if texts.mask(result).endswith("/") else result.joined(mark, part)
    return result


def normal_path(text: Text) -> Text:
    """As `pathlib` writes a path: no `.`, no doubled or final slash."""
    shown = texts.mask(text)
    wanted = re.sub(r"/+", "/", shown)
    wanted = re.sub(r"(^|/)\./", r"\1", re.sub(r"(?<=.)/\.?$", "", wanted))
    if wanted == shown or not shown:
        return text
    if wanted == "" or len(wanted) > len(shown):
        return text
    ranges: list[tuple[int, int]] = []
    at = 0
    for character in wanted:
        found = shown.find(character, at)
        if found < 0:
            return text
        ranges.append((found, found + 1))
        at = found + 1
    return operators.compact([piece for letter in texts.cuts(text, ranges) for piece in letter.pieces])


def call(receiver: String, name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    if name in ("resolve", "absolute", "expanduser"):
        return system.absolute(receiver, name, given, frame)
    if name in ("exists", "is_dir", "is_file", "glob", "iterdir", "read_text", "rglob", "stat", "open"):
        return Missing(Unknown("file", frame.tree.shown(node)), Origin(given.span))
    if name == "as_posix":
        return String(receiver.text)
    if name == "joinpath":
        result: Value | None = receiver
        for element in given.positional:
            result = join_path(result, element.value, given.span) if result is not None else None
        return result
    if name in ("with_suffix", "with_name", "with_stem"):
        return _with_part(receiver, name, given)
    if name in ("mkdir", "touch", "unlink", "chmod", "rmdir"):
        return Scalar(None, Origin(given.span))
    if name == "relative_to":
        base = text_of(given.positional[0].value, given.span) if given.positional else None
        shown = texts.mask(receiver.text)
        if base is not None and base.known and shown.startswith(f"{base.value}/"):
            return String(texts.cut(receiver.text, len(base.display()) + 1, len(shown)), True)
    if name == "is_absolute":
        return (
            Scalar(texts.mask(receiver.text).startswith("/"), Origin(given.span))
            if receiver.text.known
            else None
        )
    return None


def _with_part(receiver: String, name: str, given: Arguments) -> Value | None:
    part = given.get("", 0)
    if not isinstance(part, String):
        return None
    shown = texts.mask(receiver.text)
    slash = shown.rfind("/") + 1
    dot = shown.rfind(".")
    dot = dot if dot > slash else len(shown)
    if name == "with_suffix":
        return String(texts.cut(receiver.text, 0, dot).joined(part.text), True)
    if name == "with_name":
        return String(texts.cut(receiver.text, 0, slash).joined(part.text), True)
    tail = texts.cut(receiver.text, dot, len(shown))
    return String(texts.cut(receiver.text, 0, slash).joined(part.text, tail), True)
