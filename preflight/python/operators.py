"""Operators, containers and formats: the pure part of the evaluation.

In: values.  Out: values, or None where the outcome is not known.  Numbers that would grow without bound and
texts that would fill the memory are not computed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable
from typing import Any

import libcst as cst

from preflight.python import formats, paths, texts
from preflight.python.objects import (
    HEAVIEST,
    Class,
    Element,
    Environment,
    External,
    Function,
    Instance,
    Mapping,
    Match,
    Missing,
    Module,
    Origin,
    Scalar,
    Sequence,
    String,
    Value,
    assumptions_of,
    key_of,
    missing_text,
    weigh,
)
from preflight.source import Span
from preflight.values import Piece, Text

LARGEST = 1_000_000
"""Longest text or list that is built."""


_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    cst.Add: operator.add,
    cst.Subtract: operator.sub,
    cst.Multiply: operator.mul,
    cst.Divide: operator.truediv,
    cst.FloorDivide: operator.floordiv,
    cst.Modulo: operator.mod,
    cst.BitAnd: operator.and_,
    cst.BitOr: operator.or_,
    cst.BitXor: operator.xor,
}


_COMPARISONS: dict[type[cst.BaseCompOp], Callable[[Any, Any], bool]] = {
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
}


def number(value: Value) -> int | float | None:
    """The number that a value is, if it is one."""
    if isinstance(value, Scalar) and isinstance(value.value, (bool, int, float)):
        return value.value
    return None


def integer(value: Value | None) -> int | None:
    found = number(value) if value is not None else None
    return int(found) if isinstance(found, int) else None


def combine(kind: cst.BaseBinaryOp | cst.BaseAugOp, left: Value, right: Value, span: Span) -> Value | None:
    """The outcome of a binary operator."""
    one, other = number(left), number(right)
    if one is not None and other is not None:
        return _arithmetic(kind, one, other, Origin(span, (), assumptions_of(left, right)))
    if isinstance(kind, cst.Add):
        return _add(left, right)
    if isinstance(kind, cst.Multiply):
        return _repeat(left, other) if other is not None else _repeat(right, one)
    if isinstance(kind, cst.Divide):
        return paths.join_path(left, right, span)
    if isinstance(kind, cst.Modulo) and isinstance(left, String):
        return formats.percent(left.text, right, span)
    if isinstance(kind, cst.BitOr):
        return _union(left, right)
    if isinstance(kind, cst.Subtract) and isinstance(left, Sequence) and isinstance(right, Sequence):
        return _difference(left, right)
    return None


def _arithmetic(kind: object, one: int | float, other: int | float, origin: Origin) -> Value | None:
    try:
        if isinstance(kind, cst.Power):
            if abs(other) > 1024 or abs(one) > 2**64:
                return None
            return Scalar(one**other, origin)
        if isinstance(kind, (cst.LeftShift, cst.RightShift)):
            if not (isinstance(one, int) and isinstance(other, int)) or not 0 <= other <= 1024:
                return None
            return Scalar(one << other if isinstance(kind, cst.LeftShift) else one >> other, origin)
        function = _ARITHMETIC.get(type(kind))
        if function is None:
            return None
        result = function(one, other)
    except (ArithmeticError, TypeError, ValueError):
        return None
    if isinstance(result, int) and result.bit_length() > 4096:
        return None
    return Scalar(result, origin) if isinstance(result, (int, float, bool)) else None


def _add(left: Value, right: Value) -> Value | None:
    if isinstance(left, Sequence) and isinstance(right, Sequence) and left.kind == right.kind:
        if len(left.elements) + len(right.elements) > LARGEST:
            return None
        return Sequence(left.kind, left.elements + right.elements)
    if isinstance(left, String) and isinstance(right, String):
        return String(left.text.joined(right.text))
    if isinstance(left, String) and _unknown(right) and not left.path:
        return String(left.text.joined(_as_text(right)))
    if isinstance(right, String) and _unknown(left) and not right.path:
        return String(_as_text(left).joined(right.text))
    if isinstance(left, Sequence) and isinstance(right, Missing):
        return Sequence(left.kind, [*left.elements, Element(right, right.origin.span, True)])
    if isinstance(right, Sequence) and isinstance(left, Missing):
        return Sequence(right.kind, [Element(left, left.origin.span, True), *right.elements])
    return None


def _unknown(value: Value) -> bool:
    return isinstance(value, Missing) or (
        isinstance(value, Instance) and value.cls is None and value.rest is not None
    )


def _as_text(value: Value) -> Text:
    if isinstance(value, Instance) and value.rest is not None:
        return missing_text(value.rest)
    return missing_text(value) if isinstance(value, Missing) else texts.EMPTY


def _repeat(value: Value, times: int | float | None) -> Value | None:
    if not isinstance(times, int):
        return None
    if isinstance(value, Sequence) and len(value.elements) * times <= 10_000:
        return Sequence(value.kind, value.elements * times)
    if isinstance(value, String) and len(texts.mask(value.text)) * times <= LARGEST and times <= 10_000:
        return String(Text(value.text.pieces * times))
    return None


def _union(left: Value, right: Value) -> Value | None:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        result = Mapping(dict(left.entries), left.rest)
        merge(result, right, None)
        return result
    if isinstance(left, Sequence) and isinstance(right, Sequence) and left.kind == "set":
        return Sequence("set", distinct(left.elements + right.elements))
    return None


def _difference(left: Sequence, right: Sequence) -> Value | None:
    gone = [key_of(e.value) for e in right.elements]
    keys = [key_of(e.value) for e in left.elements]
    if None in gone or None in keys or not right.closed or not left.closed:
        return None
    return Sequence("set", [e for e, key in zip(left.elements, keys, strict=True) if key not in gone])


def apply(kind: cst.BaseUnaryOp, value: Value, span: Span) -> Value | None:
    """The outcome of a unary operator other than `not`."""
    found = number(value)
    if found is None:
        return None
    origin = Origin(span, (), assumptions_of(value))
    if isinstance(kind, cst.Minus):
        return Scalar(-found, origin)
    if isinstance(kind, cst.Plus):
        return Scalar(+found, origin)
    return Scalar(~found, origin) if isinstance(found, int) else None


def compare(kind: cst.BaseCompOp, left: Value, right: Value) -> bool | None:
    """Whether a comparison holds."""
    if isinstance(kind, cst.Equal):
        return equal(left, right)
    if isinstance(kind, cst.NotEqual):
        return _negate(equal(left, right))
    if isinstance(kind, (cst.Is, cst.IsNot)):
        same = _identical(left, right)
        return same if isinstance(kind, cst.Is) else _negate(same)
    if isinstance(kind, (cst.In, cst.NotIn)):
        inside = contains(right, left)
        return inside if isinstance(kind, cst.In) else _negate(inside)
    function = _COMPARISONS.get(type(kind))
    if function is None:
        return None
    one, other = plain(left), plain(right)
    if one is None or other is None:
        return None
    try:
        return bool(function(one, other))
    except TypeError:
        return None


def _negate(value: bool | None) -> bool | None:
    return None if value is None else not value


def plain(value: Value) -> Any:
    """The Python value of a known number, string, or tuple or list of them; else None."""
    if isinstance(value, Scalar):
        return value.value
    if isinstance(value, String) and not value.path:
        return value.text.value
    if isinstance(value, Sequence) and value.kind in ("list", "tuple") and value.closed:
        if weigh(value, HEAVIEST) > HEAVIEST:
            return None
        inner = [plain(e.value) for e in value.elements]
        if any(item is None for item in inner):
            return None
        return tuple(inner) if value.kind == "tuple" else inner
    return None


def equal(left: Value, right: Value) -> bool | None:
    if left is right and not isinstance(left, Missing):
        return True
    if isinstance(left, Instance) and left.cls is not None and left.cls.enumeration:
        return _equal_member(left, right)
    if isinstance(right, Instance) and right.cls is not None and right.cls.enumeration:
        return _equal_member(right, left)
    one, other = key_of(left), key_of(right)
    if one is not None and other is not None:
        if isinstance(left, (Scalar, String)) and isinstance(right, (Scalar, String)):
            return one == other
        if isinstance(left, Sequence) and isinstance(right, Sequence):
            return one == other
        if isinstance(left, External) or isinstance(right, External):
            return True if one == other else None
        if isinstance(left, Instance) or isinstance(right, Instance):
            return False if isinstance(left, Scalar) or isinstance(right, Scalar) else None
        return one == other
    if isinstance(left, Sequence) and isinstance(right, Sequence) and left.kind == right.kind:
        return _equal_lists(left, right)
    if isinstance(left, Mapping) and isinstance(right, Mapping) and not left.entries and not right.entries:
        return True if left.rest is None and right.rest is None else None
    if (_solid(left) and isinstance(right, Scalar)) or (_solid(right) and isinstance(left, Scalar)):
        return False
    return None


def _solid(value: Value) -> bool:
    """Whether a value is surely no scalar."""
    if isinstance(value, Instance):
        return value.cls is not None
    return isinstance(value, (String, Sequence, Mapping, Function, Class, Match, Module, Environment))


def _equal_member(member: Instance, other: Value) -> bool | None:
    if isinstance(other, Instance) and other.cls is not None:
        return member is other
    if isinstance(other, (Scalar, String)):
        mixed = member.cls is not None and any(
            isinstance(b, External) and b.name in ("str", "int", "enum.IntEnum", "enum.StrEnum")
            for c in member.cls.ancestry
            for b in c.bases
        )
        return equal(member.attributes["value"], other) if mixed else False
    return None


def _equal_lists(left: Sequence, right: Sequence) -> bool | None:
    if not left.closed or not right.closed or left.kind == "set":
        return None
    if max(weigh(left, HEAVIEST), weigh(right, HEAVIEST)) > HEAVIEST:
        return None
    if len(left.elements) != len(right.elements):
        return False
    outcomes = [equal(a.value, b.value) for a, b in zip(left.elements, right.elements, strict=True)]
    return False if False in outcomes else None if None in outcomes else True


def _identical(left: Value, right: Value) -> bool | None:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Scalar) and (one.value is None or isinstance(one.value, bool)):
            if isinstance(other, Scalar):
                return other.value is one.value
            return False if _solid(other) else None
    return equal(left, right) if not isinstance(left, (Sequence, Mapping)) else left is right


def contains(container: Value, item: Value) -> bool | None:
    """Whether `item in container`."""
    if isinstance(container, String) and isinstance(item, String):
        needle = item.text.value
        if needle is None:
            return None
        if needle in texts.mask(container.text):
            return True
        return False if container.text.known else None
    if isinstance(container, Mapping):
        key = key_of(item)
        if key is None:
            return False if not container.entries and container.rest is None else None
        absent = None if container.rest is not None or isinstance(item, External) else False
        return True if key in container.entries else absent
    if isinstance(container, Sequence):
        outcomes = [None if e.rest else equal(e.value, item) for e in container.elements]
        return True if True in outcomes else None if None in outcomes else False
    return None


def distinct(elements: list[Element]) -> list[Element]:
    """Without repeated known values."""
    seen: set[Hashable] = set()
    result = []
    for element in elements:
        key = key_of(element.value)
        if key is None or key not in seen:
            result.append(element)
        if key is not None:
            seen.add(key)
    return result


def elements_of(value: Value, span: Span) -> list[Element] | None:
    """What iterating over a value gives, or None where that is not known."""
    if isinstance(value, Sequence):
        if value.kind == "set" and len(value.elements) > 1:
            return sorted(value.elements, key=lambda e: str(key_of(e.value)))
        return list(value.elements)
    if isinstance(value, Mapping):
        found = [Element(key, span) for key, _ in value.entries.values()]
        return found if value.rest is None else [*found, Element(value.rest, span, True)]
    if isinstance(value, String) and not value.path and value.text.known:
        length = len(texts.mask(value.text))
        if length <= 10_000:
            letters = texts.cuts(value.text, [(i, i + 1) for i in range(length)])
            return [Element(String(letter), span) for letter in letters]
    return None


def store(mapping: Mapping, key: Value, value: Value, missing: Missing) -> None:
    """Set an entry; with a key that is not known anything may have been set."""
    known = key_of(key)
    if known is not None:
        mapping.entries[known] = (key, value)
        return
    mapping.rest = missing
    for name, (shown, _) in list(mapping.entries.items()):
        mapping.entries[name] = (shown, missing)


def merge(mapping: Mapping, other: Value, missing: Missing | None) -> None:
    """As `dict.update`."""
    if isinstance(other, Mapping):
        if other.rest is not None:
            for name, (shown, _) in list(mapping.entries.items()):
                mapping.entries[name] = (shown, other.rest)
            mapping.rest = other.rest
        mapping.entries.update(other.entries)
    elif missing is not None:
        store(mapping, missing, missing, missing)


def portion(value: Value, bounds: list[Value | None]) -> Value | None:
    """A slice."""
    numbers: list[int | None] = []
    for bound in bounds:
        if bound is None or (isinstance(bound, Scalar) and bound.value is None):
            numbers.append(None)
            continue
        found = integer(bound)
        if found is None:
            return None
        numbers.append(found)
    if numbers[2] == 0:
        return None
    cutter = slice(*numbers)
    if isinstance(value, Sequence):
        if not value.closed and not _before_rest(value, cutter):
            return None
        return Sequence(value.kind, value.elements[cutter])
    if isinstance(value, String) and not value.path:
        length = len(texts.mask(value.text))
        start, stop, step = cutter.indices(length)
        if step == 1 and value.text.known:
            return String(texts.cut(value.text, start, max(start, stop)))
        if value.text.known:
            pieces = [p for i in range(start, stop, step) for p in texts.cut(value.text, i, i + 1).pieces]
            return String(Text(pieces))
    return None


def _before_rest(value: Sequence, cutter: slice) -> bool:
    """Whether a slice of an open list is known all the same: from a known start to the end, or in front."""
    first = next(i for i, e in enumerate(value.elements) if e.rest)
    if cutter.step not in (None, 1) or (cutter.start or 0) < 0 or (cutter.start or 0) > first:
        return False
    return cutter.stop is None or 0 <= cutter.stop <= first


def compact(pieces: list[Piece]) -> Text:
    """Join known pieces that are neighbours in the source."""
    result: list[Piece] = []
    for piece in pieces:
        last = result[-1] if result else None
        if (
            last is not None
            and last.unknown is None
            and piece.unknown is None
            and last.span.source is piece.span.source
            and last.span.end == piece.span.start
            and last.assumptions == piece.assumptions
            and _maps(last)
            and _maps(piece)
        ):
            span = Span(last.span.source, last.span.start, piece.span.end)
            result[-1] = last._replace(text=last.text + piece.text, span=span)
        else:
            result.append(piece)
    return Text(result)


def _maps(piece: Piece) -> bool:
    """Whether each byte of a piece stands for itself in the source."""
    return len(piece.text.encode("utf-8", "replace")) == piece.span.end - piece.span.start


def reduce_numbers(name: str, values: list[Value], span: Span) -> Value | None:
    """`min`, `max`, `sum` of known values."""
    known = [plain(value) for value in values]
    if any(item is None for item in known) or (not known and name != "sum"):
        return None
    try:
        result = {"min": min, "max": max, "sum": sum}[name](known)  # type: ignore[operator]
    except (TypeError, ValueError, OverflowError):
        return None
    if isinstance(result, str):
        return String(Text([Piece(result, span, None, (), assumptions_of(*values))]))
    if isinstance(result, (int, float)) and not (isinstance(result, float) and math.isnan(result)):
        return Scalar(result, Origin(span, (), assumptions_of(*values)))
    return None
