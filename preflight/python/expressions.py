"""Expressions: from a node and the frame it stands in to a value.

In: LibCST expressions.  Out: values.  What is not modelled becomes `Missing` with the expression as its text;
what it depends on gives the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from preflight.python import (
    attributes,
    calls,
    decisions,
    definitions,
    formats,
    modules,
    operators,
    statements,
)
from preflight.python.objects import (
    Arguments,
    Element,
    Environment,
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
    key_of,
)
from preflight.python.scope import ExhaustedError, Frame, truth
from preflight.python.syntax import _HOLE
from preflight.source import Span
from preflight.values import Piece, Text, Unknown

Handler = Callable[[Any, Frame], Value]


_HANDLERS: dict[type[cst.CSTNode], Handler] = {}


def handles(*kinds: type[cst.CSTNode]) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for kind in kinds:
            _HANDLERS[kind] = handler
        return handler

    return register


def evaluate(node: cst.CSTNode, frame: Frame) -> Value:
    """The value of an expression."""
    path = frame.path
    path.fuel.burn()
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return unknown(node, frame)
    value = handler(node, frame)
    if path.bindings:
        value = path.resolve(value)
    if isinstance(value, String) and len(value.text.pieces) > LONGEST_TEXT:
        return unknown(node, frame)
    if isinstance(value, Sequence) and len(value.elements) > LONGEST_LIST:
        raise ExhaustedError
    return value


LONGEST_TEXT = 10_000
"""Pieces of a text that is followed."""


LONGEST_LIST = 20_000
"""Elements of a list that is followed."""


def unknown(node: cst.CSTNode, frame: Frame, *causes: Value) -> Missing:
    """An unknown that stands for a node, for the reason of the first cause that has one."""
    span = frame.tree.span(node)
    origin = Origin(span, (), assumptions_of(*causes))
    for cause in causes:
        found = reason_of(cause)
        if found is not None:
            return Missing(found._replace(text=frame.tree.shown(node)), origin)
    return Missing(Unknown("code", frame.tree.shown(node)), origin)


def reason_of(value: Value) -> Unknown | None:
    """Why a value is not known, if it is not."""
    if isinstance(value, Missing):
        return value.unknown
    if isinstance(value, String) and not value.text.known:
        return value.text.unknowns[0]
    if isinstance(value, Instance) and value.cls is None and value.rest is not None:
        return value.rest.unknown
    if isinstance(value, Sequence):
        for element in value.elements:
            found = reason_of(element.value)
            if found is not None:
                return found
    return None


def once(handler: Handler) -> Handler:
    """The handler of a literal, which is the same on every path: asked once for each node."""

    def ask(node: Any, frame: Frame) -> Value:
        literals = frame.tree.literals
        known = literals.get(id(node))
        if known is None:
            known = handler(node, frame)
            if not isinstance(known, Missing):
                literals[id(node)] = known
        return known

    return ask


@handles(cst.Integer, cst.Float)
@once
def _number(node: cst.Integer | cst.Float, frame: Frame) -> Value:
    literal = node.value.replace("_", "")
    try:
        value: object = float(literal) if type(node) is cst.Float else int(literal, 0)
    except (ValueError, OverflowError):
        return unknown(node, frame)
    return Scalar(value, Origin(frame.tree.span(node)))


@handles(cst.Ellipsis)
def _ellipsis(node: cst.Ellipsis, frame: Frame) -> Value:
    return Scalar(..., Origin(frame.tree.span(node)))


_CONSTANTS: dict[str, object] = {"True": True, "False": False, "None": None, "__debug__": True}


@once
def _constant(node: cst.Name, frame: Frame) -> Value:
    return Scalar(_CONSTANTS[node.value], Origin(frame.tree.span(node)))


@handles(cst.Name)
def _name(node: cst.Name, frame: Frame) -> Value:
    name = node.value
    if name in _CONSTANTS:
        return _constant(node, frame)
    holder = frame.find(name)
    if holder is not None:
        value = holder.names[name]
        found = modules.load(value, frame)
        if found is not value:
            holder.names[name] = found
        return found
    if name == _HOLE:
        piece = frame.tree.unknowns.get(frame.tree.span(node).start)
        if piece is not None and piece.unknown is not None:
            return Missing(piece.unknown, Origin(piece.span))
    special = attributes.module_name(name, node, frame)
    if special is not None:
        return special
    return External(name, frame.tree.span(node)) if name in attributes.BUILTINS else unknown(node, frame)


@handles(cst.SimpleString)
@once
def _string(node: cst.SimpleString, frame: Frame) -> Value:
    prefix = node.prefix.lower()
    start = frame.tree.span(node).start
    if node.lpar:
        start += _leading(node, frame)
    if "b" in prefix:
        try:
            return Scalar(node.evaluated_value, Origin(frame.tree.span(node)))
        except (ValueError, SyntaxError):
            return unknown(node, frame)
    inside = start + len(node.prefix) + len(node.quote)
    pieces = frame.tree.decode(inside, node.raw_value, "r" in prefix, False)
    if not pieces:
        pieces = [Piece("", Span(frame.tree.source, start, start))]
    return String(Text(pieces))


def _leading(node: cst.SimpleString | cst.FormattedString, frame: Frame) -> int:
    """How far into the node's span the literal begins, where parentheses belong to the span."""
    text = frame.tree.span(node).text
    at = text.find(node.start if isinstance(node, cst.FormattedString) else node.value[:8])
    return len(text[: max(at, 0)].encode("utf-8", "replace")) if text.startswith("(") else 0


@handles(cst.ConcatenatedString)
def _concatenation(node: cst.ConcatenatedString, frame: Frame) -> Value:
    pieces: list[Piece] = []
    current: cst.BaseExpression = node
    while True:
        part = current.left if isinstance(current, cst.ConcatenatedString) else current
        value = evaluate(part, frame)
        if not isinstance(value, String):
            return unknown(node, frame, value)
        pieces.extend(value.text.pieces)
        if not isinstance(current, cst.ConcatenatedString):
            return String(Text(pieces))
        current = current.right


@handles(cst.FormattedString)
def _formatted(node: cst.FormattedString, frame: Frame) -> Value:
    return String(Text(_parts(node.parts, "r" in node.prefix.lower(), frame)))


def _parts(parts: Any, raw: bool, frame: Frame) -> list[Piece]:
    pieces: list[Piece] = []
    for part in parts:
        if isinstance(part, cst.FormattedStringText):
            span = frame.tree.span(part)
            pieces.extend(frame.tree.decode(span.start, part.value, raw, True))
        else:
            pieces.extend(_field(part, raw, frame))
    return pieces


def _field(part: cst.FormattedStringExpression, raw: bool, frame: Frame) -> tuple[Piece, ...]:
    span = frame.tree.span(part.expression)
    value = evaluate(part.expression, frame)
    if part.equal is not None:
        return (Piece(span.text, span, Unknown("syntax", span.text)),)
    spec = Text(_parts(part.format_spec, raw, frame)) if part.format_spec else None
    return formats.format_value(value, spec, part.conversion, span, frame.tree.shown(part.expression)).pieces


@handles(cst.List, cst.Tuple, cst.Set)
def _sequence(node: cst.List | cst.Tuple | cst.Set, frame: Frame) -> Value:
    kind = {cst.List: "list", cst.Tuple: "tuple", cst.Set: "set"}[type(node)]
    elements: list[Element] = []
    for item in node.elements:
        value = evaluate(item.value, frame)
        if type(item) is cst.StarredElement:
            elements.extend(spread(value, item.value, frame))
        else:
            elements.append(Element(value, frame.tree.span(item.value)))
    return Sequence(kind, operators.distinct(elements) if kind == "set" else elements)


def spread(value: Value, node: cst.CSTNode, frame: Frame) -> list[Element]:
    """The elements that iterating over a value gives."""
    found = operators.elements_of(value, frame.tree.span(node))
    if found is not None:
        return found
    if isinstance(value, Instance) and value.cls is not None:
        listed = calls.iterate(value, node, frame)
        if listed is not None:
            return listed
    missing = value if isinstance(value, Missing) else unknown(node, frame, value)
    return [Element(missing, frame.tree.span(node), True)]


@handles(cst.Dict)
def _dictionary(node: cst.Dict, frame: Frame) -> Value:
    result = Mapping({})
    for item in node.elements:
        value = evaluate(item.value, frame)
        if isinstance(item, cst.DictElement):
            operators.store(result, evaluate(item.key, frame), value, unknown(item.key, frame))
        else:
            if isinstance(value, Environment):
                value = attributes.copy_environment(frame.tree.span(item.value), frame)
            operators.merge(result, value, unknown(item.value, frame, value))
            result.outer = result.outer or (isinstance(value, Mapping) and value.outer)
    return result


@handles(cst.BinaryOperation)
def _binary(node: cst.BinaryOperation, frame: Frame) -> Value:
    left, right = evaluate(node.left, frame), evaluate(node.right, frame)
    result = operators.combine(node.operator, left, right, frame.tree.span(node))
    return result if result is not None else unknown(node, frame, left, right)


@handles(cst.UnaryOperation)
def _unary(node: cst.UnaryOperation, frame: Frame) -> Value:
    value = evaluate(node.expression, frame)
    if isinstance(node.operator, cst.Not):
        known = truth(value)
        if known is None:
            return unknown(node, frame, value)
        return Scalar(not known, Origin(frame.tree.span(node), (), assumptions_of(value)))
    result = operators.apply(node.operator, value, frame.tree.span(node))
    return result if result is not None else unknown(node, frame, value)


@handles(cst.BooleanOperation)
def _boolean(node: cst.BooleanOperation, frame: Frame) -> Value:
    left = evaluate(node.left, frame)
    known = truth(left)
    if known is None:
        if isinstance(node.operator, cst.Or) and isinstance(left, Missing):
            right = evaluate(node.right, frame)
            return left if key_of(right) == "" else unknown(node, frame, left, right)
        return unknown(node, frame, left)
    if known == isinstance(node.operator, cst.Or):
        return left
    return evaluate(node.right, frame)


@handles(cst.Comparison)
def _comparison(node: cst.Comparison, frame: Frame) -> Value:
    left = evaluate(node.left, frame)
    outcome: bool | None = True
    operands: list[Value] = [left]
    for target in node.comparisons:
        right = evaluate(target.comparator, frame)
        operands.append(right)
        result = decisions.compare(target.operator, left, right, node, frame)
        if result is False:
            return Scalar(False, Origin(frame.tree.span(node), (), assumptions_of(*operands)))
        outcome = None if result is None else outcome
        left = right
    if outcome is None:
        return unknown(node, frame, *operands)
    return Scalar(True, Origin(frame.tree.span(node), (), assumptions_of(*operands)))


@handles(cst.IfExp)
def _conditional(node: cst.IfExp, frame: Frame) -> Value:
    taken = decisions.decide(node.test, frame)
    if taken is None:
        span = frame.tree.span(node)
        return Missing(Unknown("branches", frame.tree.shown(node)), Origin(span))
    return evaluate(node.body if taken else node.orelse, frame)


@handles(cst.Attribute)
def _attribute(node: cst.Attribute, frame: Frame) -> Value:
    receiver = evaluate(node.value, frame)
    found = attributes.get(receiver, node.attr.value, node, frame)
    return found if found is not None else unknown(node, frame, receiver)


@handles(cst.Subscript)
def _subscript(node: cst.Subscript, frame: Frame) -> Value:
    receiver = evaluate(node.value, frame)
    if len(node.slice) != 1:
        return unknown(node, frame, receiver)
    inner = node.slice[0].slice
    if isinstance(inner, cst.Slice):
        bounds = [
            evaluate(b, frame) if b is not None else None for b in (inner.lower, inner.upper, inner.step)
        ]
        result = operators.portion(receiver, bounds)
        return result if result is not None else unknown(node, frame, receiver)
    if not isinstance(inner, cst.Index):
        return unknown(node, frame, receiver)
    index = evaluate(inner.value, frame)
    found = attributes.item(receiver, index, node, frame)
    return found if found is not None else unknown(node, frame, receiver, index)


@handles(cst.Lambda)
def _lambda(node: cst.Lambda, frame: Frame) -> Value:
    parameters = definitions.parameters_of(node.params, frame)
    return Function("lambda", node, parameters, frame)


@handles(cst.NamedExpr)
def _walrus(node: cst.NamedExpr, frame: Frame) -> Value:
    value = evaluate(node.value, frame)
    target = frame
    while target.kind == "comprehension" and target.parent is not None:
        target = target.parent
    statements.assign(node.target, value, target)
    return value


@handles(cst.Await)
def _await(node: cst.Await, frame: Frame) -> Value:
    return evaluate(node.expression, frame)


@handles(cst.Yield)
def _yield(node: cst.Yield, frame: Frame) -> Value:
    outer: Frame | None = frame
    while outer is not None and outer.kind == "comprehension":
        outer = outer.parent
    if outer is not None and outer.yielded is not None and node.value is not None:
        if isinstance(node.value, cst.From):
            outer.yielded.extend(spread(evaluate(node.value.item, frame), node.value.item, frame))
        else:
            outer.yielded.append(Element(evaluate(node.value, frame), frame.tree.span(node.value)))
    return Scalar(None, Origin(frame.tree.span(node)))


@handles(cst.ListComp, cst.GeneratorExp, cst.SetComp, cst.DictComp)
def _comprehension(node: Any, frame: Frame) -> Value:
    inner = Frame("comprehension", frame.tree, frame.path, frame)
    inner.cls, inner.receiver = frame.cls, frame.receiver
    table = Mapping({})
    elements: list[Element] = []

    def produce(rest: bool) -> None:
        if isinstance(node, cst.DictComp):
            key, value = evaluate(node.key, inner), evaluate(node.value, inner)
            if rest:
                table.rest = unknown(node, frame, key, value)
            else:
                operators.store(table, key, value, unknown(node.key, frame, key))
        else:
            elements.append(Element(evaluate(node.elt, inner), frame.tree.span(node.elt), rest))

    _iterate(node.for_in, inner, produce, False)
    if isinstance(node, cst.DictComp):
        return table
    if isinstance(node, cst.SetComp):
        return Sequence("set", operators.distinct(elements))
    return Sequence("list", elements)


def _iterate(clause: cst.CompFor, frame: Frame, produce: Callable[[bool], None], rest: bool) -> None:
    for element in spread(evaluate(clause.iter, frame), clause.iter, frame):
        value = element.value
        if element.rest and isinstance(value, Missing):
            value = Missing(value.unknown, value.origin)
        statements.assign(clause.target, value, frame)
        uncertain = rest or element.rest
        kept = True
        for condition in clause.ifs:
            holds = _filter(condition.test, frame)
            if holds is False:
                kept = False
                break
            uncertain = uncertain or holds is None
        if not kept:
            continue
        if clause.inner_for_in is not None:
            _iterate(clause.inner_for_in, frame, produce, uncertain)
        else:
            produce(uncertain)


def _filter(node: cst.BaseExpression, frame: Frame) -> bool | None:
    value = evaluate(node, frame)
    known = truth(value)
    return known if known is not None else None


@handles(cst.Call)
def _call(node: cst.Call, frame: Frame) -> Value:
    callee = evaluate(node.func, frame)
    return calls.call(callee, arguments_of(node, frame), node, frame)


def arguments_of(node: cst.Call, frame: Frame) -> Arguments:
    """The arguments of a call, with `*` and `**` spread out."""
    positional: list[Element] = []
    keywords: dict[str, Element] = {}
    rest: Missing | None = None
    keyword_rest: Missing | None = None
    for argument in node.args:
        value = evaluate(argument.value, frame)
        span = frame.tree.span(argument.value)
        if argument.star == "*":
            for element in spread(value, argument.value, frame):
                if element.rest:
                    rest = unknown(argument.value, frame, element.value)
                elif rest is None:
                    positional.append(element)
        elif argument.star == "**":
            if isinstance(value, Mapping):
                for key, (name, item) in value.entries.items():
                    if isinstance(key, str):
                        keywords[key] = Element(item, span)
                    del name
                if value.rest is not None:
                    keyword_rest = value.rest
            else:
                keyword_rest = unknown(argument.value, frame, value)
        elif argument.keyword is not None:
            keywords[argument.keyword.value] = Element(value, span)
        elif rest is None:
            positional.append(Element(value, span))
    return Arguments(tuple(positional), keywords, rest, keyword_rest, frame.tree.span(node))


def frame_span(node: cst.CSTNode, frame: Frame) -> Span:
    return frame.tree.span(node)
