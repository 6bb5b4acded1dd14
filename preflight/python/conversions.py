"""Builtin functions on numbers, texts and truth values: `int`, `str`, `len`, `range`, `min`, `isinstance` and others.

In: arguments of a call.  Out: the value, or None where it is not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import libcst as cst

from preflight.python import calls, expressions, notations, operators, texts
from preflight.python.objects import (
    Arguments,
    Class,
    Element,
    External,
    Function,
    Instance,
    Mapping,
    Missing,
    Origin,
    Scalar,
    Sequence,
    String,
    Value,
    assumptions_of,
    text_of,
)
from preflight.python.registry import first, models, scalar
from preflight.python.scope import Frame, RaisedError, truth
from preflight.values import Piece, Text


@models("int", "float")
def _number(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    if value is None:
        return scalar(0, given)
    kind = float if name == "float" else int
    return _converted(kind, value, given, node, frame)


def _converted(
    kind: Callable[[Any], Any], value: Value, given: Arguments, node: cst.CSTNode, frame: Frame
) -> Value:
    if len(given.positional) > 1:
        return expressions.unknown(node, frame, value)
    plain = operators.plain(value)
    if isinstance(plain, (str, int, float)):
        try:
            result = kind(plain)
        except (ValueError, OverflowError) as error:
            raise RaisedError("ValueError") from error
        span = given.span
        if isinstance(value, String) and value.text.pieces:
            span = texts.extent(value.text, span)
        elif isinstance(value, Scalar):
            span = value.origin.span
        return Scalar(result, Origin(span, (), assumptions_of(value)))
    if isinstance(value, Scalar):
        raise RaisedError("TypeError")
    missing = expressions.unknown(node, frame, value)
    return Missing(missing.unknown, missing.origin, True)


@models("str")
def _str(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    if value is None:
        return String(Text.literal("", given.span))
    text = text_of(value, given.span)
    if text is None and isinstance(value, (Sequence, Mapping)):
        plain = notations.jsonable(value)
        if plain is not notations.UNKNOWN and len(str(plain)) < 10_000 and not _quoted_scalars(value):
            return String(Text([Piece(str(plain), given.span, None, (), assumptions_of(value))]))
    if text is None and isinstance(value, Instance) and value.cls is not None:
        method = value.cls.find("__str__")
        if isinstance(method, Function):
            return calls.call_function(method, calls.arguments([value], given.span), node, frame)
    return String(text) if text is not None else None


def _quoted_scalars(value: Value) -> bool:
    return isinstance(value, Sequence) and value.kind != "list"


@models("repr")
def _repr(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    plain = operators.plain(value) if value is not None else None
    return String(Text([Piece(repr(plain), given.span)])) if isinstance(plain, (str, int, float)) else None


@models("bool")
def _bool(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    if value is None:
        return scalar(False, given)
    known = truth(value)
    return scalar(known, given, value) if known is not None else None


@models("len")
def _len(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    if isinstance(value, Sequence) and value.closed:
        return scalar(len(value.elements), given)
    if isinstance(value, Mapping) and value.rest is None:
        return scalar(len(value.entries), given)
    if isinstance(value, String) and value.text.value is not None:
        return scalar(len(value.text.value), given, value)
    return None


@models("range")
def _range(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    bounds = [operators.integer(e.value) for e in given.positional]
    if not bounds or None in bounds or len(bounds) > 3:
        return None
    try:
        numbers = range(*(b for b in bounds if b is not None))
    except ValueError:
        return None
    if len(numbers) > 10_000:
        return None
    origin = Origin(given.span, (), assumptions_of(*(e.value for e in given.positional)))
    return Sequence("list", [Element(Scalar(n, origin), given.span) for n in numbers])


@models("min", "max", "sum")
def _reduce(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    if (
        name not in ("min", "max", "sum")
        or given.rest is not None
        or set(given.keywords) - {"start", "default"}
    ):
        return None
    values = [e.value for e in given.positional]
    if len(values) == 1 or name == "sum":
        listed = operators.elements_of(values[0], given.span) if values else None
        if listed is None or any(e.rest for e in listed):
            return None
        values = [e.value for e in listed] + values[1:]
    if name == "sum" and any(isinstance(v, Sequence) for v in values):
        found = [e for v in values if isinstance(v, Sequence) for e in v.elements]
        return Sequence("list", found)
    if not values and "default" in given.keywords:
        return given.keywords["default"].value
    return operators.reduce_numbers(name, values, given.span)


@models(
    "abs",
    "round",
    "math.ceil",
    "math.floor",
    "math.log2",
    "math.sqrt",
    "math.gcd",
    "math.lcm",
    "divmod",
    "pow",
    "math.prod",
)
def _arithmetic(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    short = name.rpartition(".")[2]
    functions: dict[str, Callable[..., Any]] = {
        "abs": abs, "round": round, "ceil": math.ceil, "floor": math.floor, "log2": math.log2,
        "sqrt": math.sqrt, "gcd": math.gcd, "lcm": math.lcm, "divmod": divmod, "prod": math.prod,
    }  # fmt: skip
    numbers = [operators.plain(e.value) for e in given.positional]
    if short not in functions or any(not isinstance(n, (int, float, list, tuple)) for n in numbers):
        return None
    try:
        result = functions[short](*numbers)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        return None
    causes = [e.value for e in given.positional]
    if isinstance(result, tuple):
        return Sequence("tuple", [Element(scalar(r, given, *causes), given.span) for r in result])
    return scalar(result, given, *causes)


@models("any", "all")
def _any(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    listed = operators.elements_of(value, given.span) if value is not None else None
    if listed is None:
        return None
    outcomes = [None if e.rest else truth(e.value) for e in listed]
    wanted = name == "any"
    if wanted in outcomes:
        return scalar(wanted, given)
    return None if None in outcomes else scalar(not wanted, given)


@models("isinstance")
def _isinstance(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value, kinds = given.get("", 0), given.get("", 1)
    if value is None or kinds is None:
        return None
    listed = [e.value for e in kinds.elements] if isinstance(kinds, Sequence) else [kinds]
    outcomes = [_is_kind(value, kind) for kind in listed]
    if True in outcomes:
        return scalar(True, given)
    return None if None in outcomes else scalar(False, given)


def _is_kind(value: Value, kind: Value) -> bool | None:
    if isinstance(kind, Class):
        if isinstance(value, Instance) and value.cls is not None:
            return kind in value.cls.ancestry
        return None if isinstance(value, (Missing, Instance)) else False
    if not isinstance(kind, External) or isinstance(value, (Missing, External)):
        return None
    name = kind.name.rpartition(".")[2]
    if isinstance(value, Instance):
        if value.cls is None:
            return True if value.built and value.name == name else None
        return None if value.cls.open else False
    if isinstance(value, Scalar):
        kinds = {"bool": bool, "int": int, "float": float, "NoneType": type(None), "bytes": bytes}
        return isinstance(value.value, kinds[name]) if name in kinds else False if name in _KINDS else None
    actual = (
        ("Path" if value.path else "str")
        if isinstance(value, String)
        else value.kind
        if isinstance(value, Sequence)
        else "dict"
        if isinstance(value, Mapping)
        else ""
    )
    if name in ("Sequence", "Iterable", "Collection"):
        return isinstance(value, (Sequence, String))
    return name == actual if name in _KINDS else None


_KINDS = frozenset(["str", "int", "float", "bool", "list", "tuple", "set", "dict", "bytes", "Path"])
