"""Tests: whether a condition holds, and which way a path goes where that is open.

In: expressions.  Out: True or False; None where a path takes no more decisions.  What a test says of an unknown is
known on the path that it leads to.
"""

from __future__ import annotations

from collections.abc import Hashable

import libcst as cst

from preflight.python import expressions, operators, statements
from preflight.python.objects import (
    Environment,
    Mapping,
    Missing,
    String,
    Value,
    key_of,
)
from preflight.python.scope import Frame, identity, opaque, truth


def decide(node: cst.CSTNode, frame: Frame) -> bool | None:
    """Whether a test holds; where that is open, the path chooses. None: no more choices are left."""
    if isinstance(node, cst.BooleanOperation):
        left = decide(node.left, frame)
        if isinstance(node.operator, cst.And):
            return left if left is not True else decide(node.right, frame)
        return left if left is not False else decide(node.right, frame)
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        inner = decide(node.expression, frame)
        return None if inner is None else not inner
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        return _decide_comparison(node, frame)
    return decide_value(expressions.evaluate(node, frame), node, frame)


def decide_value(value: Value, node: cst.CSTNode, frame: Frame) -> bool | None:
    known = truth(value)
    if known is not None:
        return known
    return frame.path.decide(_identity(value, frame), frame.tree.span(node), frame.tree.shown(node))


def _identity(value: Value, frame: Frame) -> Hashable:
    frame.path.kept.append(value)
    return ("true", identity(value))


def _decide_comparison(node: cst.Comparison, frame: Frame) -> bool | None:
    target = node.comparisons[0]
    left, right = expressions.evaluate(node.left, frame), expressions.evaluate(target.comparator, frame)
    result = compare(target.operator, left, right, node, frame)
    if result is not None:
        return result
    path = frame.path
    negative = isinstance(target.operator, (cst.NotEqual, cst.IsNot, cst.NotIn))
    equality = isinstance(target.operator, (cst.Equal, cst.NotEqual, cst.Is, cst.IsNot))
    path.kept.extend((left, right))
    other = key_of(right)
    family = "==" if equality else "in" if isinstance(target.operator, (cst.In, cst.NotIn)) else None
    name = family or type(target.operator).__name__
    key = (name, identity(left), other if other is not None else identity(right))
    taken = path.truths.get(key)
    if taken is None:
        span = frame.tree.span(node)
        chosen = path.choose(2, span, lambda way: statements.condition(frame, node, way == 0))
        if chosen is None:
            return None
        holds = chosen == 0
        taken = holds != negative
        path.truths[key] = taken
        if equality and taken and opaque(left) and other is not None:
            path.bind(left, right)
    return taken != negative


def compare(kind: cst.BaseCompOp, left: Value, right: Value, node: cst.CSTNode, frame: Frame) -> bool | None:
    """Whether a comparison holds, with `in os.environ` among them."""
    if isinstance(right, Mapping) and right.outer and key_of(left) in right.entries:
        return isinstance(kind, cst.In)
    if isinstance(right, Environment) or (isinstance(right, Mapping) and right.outer):
        name = key_of(left)
        if not isinstance(name, str) or not isinstance(kind, (cst.In, cst.NotIn)):
            return None
        value = frame.path.variable(name, None, frame.tree.span(node), f"${name}")
        if isinstance(value, Missing):
            return None
        present = isinstance(value, String)
        return present if isinstance(kind, cst.In) else not present
    return operators.compare(kind, left, right)
