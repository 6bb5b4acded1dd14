"""Builtin functions that make or walk containers: `list`, `dict`, `zip`, `map`, `itertools.chain` and others.

In: arguments of a call.  Out: the value, or None where it is not known.
"""

from __future__ import annotations

import math

import libcst as cst

from preflight.python import attributes, calls, expressions, operators
from preflight.python.objects import (
    Arguments,
    Element,
    Environment,
    Mapping,
    Origin,
    Scalar,
    Sequence,
    String,
    Value,
)
from preflight.python.registry import first, models
from preflight.python.scope import Frame, RaisedError, truth
from preflight.values import Text


@models("list", "tuple", "set", "frozenset", "sorted", "reversed", "iter")
def _collect(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    kind = {"tuple": "tuple", "set": "set", "frozenset": "set"}.get(name, "list")
    value = first(given)
    if value is None:
        return Sequence(kind, [])
    listed = expressions.spread(value, node, frame)
    if name == "sorted":
        keys = [operators.plain(e.value) for e in listed]
        if any(e.rest for e in listed) or any(k is None for k in keys) or "key" in given.keywords:
            return (
                Sequence("list", [e._replace(rest=True) for e in listed]) if listed else Sequence("list", [])
            )
        flag = given.get("reverse")
        try:
            order = sorted(range(len(keys)), key=lambda i: keys[i], reverse=bool(flag and truth(flag)))
        except TypeError:
            return None
        listed = [listed[i] for i in order]
    elif name == "reversed":
        listed = listed[::-1]
    return Sequence(kind, operators.distinct(listed) if kind == "set" else listed)


@models("dict", "collections.OrderedDict", "OrderedDict")
def _dict(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    result = Mapping({})
    for element in given.positional:
        value = element.value
        if isinstance(value, Environment):
            value = attributes.copy_environment(given.span, frame)
        if isinstance(value, Mapping):
            operators.merge(result, value, None)
            result.outer = value.outer
            continue
        for pair in expressions.spread(value, node, frame):
            parts = operators.elements_of(pair.value, given.span)
            if parts is None or len(parts) != 2 or pair.rest:
                result.rest = expressions.unknown(node, frame, pair.value)
            else:
                operators.store(result, parts[0].value, parts[1].value, expressions.unknown(node, frame))
    for key, element in given.keywords.items():
        result.entries[key] = (String(Text.literal(key, element.span)), element.value)
    if given.keyword_rest is not None:
        result.rest = given.keyword_rest
    return result


@models("collections.defaultdict", "defaultdict")
def _defaultdict(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    result = Mapping({})
    result.default = first(given)
    return result


@models("zip", "itertools.product", "itertools.zip_longest")
def _zip(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    lists = [operators.elements_of(e.value, given.span) for e in given.positional]
    if any(part is None or any(e.rest for e in part) for part in lists) or given.rest is not None:
        return None
    known = [part for part in lists if part is not None]
    if name.endswith("product"):
        if math.prod(len(part) for part in known) > 1000 or "repeat" in given.keywords:
            return None
        import itertools

        rows = list(itertools.product(*known))
    elif name.endswith("longest"):
        return None
    else:
        rows = list(zip(*known, strict=False))
    return Sequence("list", [Element(Sequence("tuple", list(row)), given.span) for row in rows])


@models("enumerate")
def _enumerate(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    start = given.get("start", 1)
    initial = operators.integer(start) if start is not None else 0
    listed = operators.elements_of(value, given.span) if value is not None else None
    if listed is None or initial is None or any(e.rest for e in listed):
        return None
    origin = Origin(given.span)
    return Sequence(
        "list",
        [
            Element(Sequence("tuple", [Element(Scalar(initial + i, origin), given.span), e]), given.span)
            for i, e in enumerate(listed)
        ],
    )


@models("map", "filter")
def _map(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    if len(given.positional) != 2:
        return None
    function, value = given.positional[0].value, given.positional[1].value
    filters = name == "filter"
    found: list[Element] = []
    for element in expressions.spread(value, node, frame):
        if filters and isinstance(function, Scalar):
            kept = truth(element.value)
            result: Value = element.value
        else:
            result = calls.call(function, calls.arguments([element.value], given.span), node, frame)
            kept = truth(result) if filters else True
        if kept is not False:
            value_out = element.value if filters else result
            found.append(Element(value_out, element.span, element.rest or kept is None))
    return Sequence("list", found)


@models("functools.reduce", "reduce")
def _fold(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    if len(given.positional) < 2:
        return None
    listed = operators.elements_of(given.positional[1].value, given.span)
    if listed is None or any(e.rest for e in listed):
        return None
    values = [e.value for e in listed]
    if len(given.positional) > 2:
        values.insert(0, given.positional[2].value)
    if not values:
        return None
    result = values[0]
    for value in values[1:]:
        result = calls.call(
            given.positional[0].value, calls.arguments([result, value], given.span), node, frame
        )
    return result


@models("itertools.chain", "itertools.chain.from_iterable", "chain", "chain.from_iterable")
def _chain(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    parts = list(given.positional)
    if name.endswith("from_iterable") and parts:
        parts = expressions.spread(parts[0].value, node, frame)
    return Sequence("list", [e for part in parts for e in expressions.spread(part.value, node, frame)])


@models("next")
def _next(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    if isinstance(value, Sequence):
        if value.elements and not value.elements[0].rest:
            return value.elements[0].value
        if not value.elements:
            default = given.get("", 1)
            if default is None:
                raise RaisedError("StopIteration")
            return default
    return None
