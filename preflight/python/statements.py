"""Statements: assignments, branches, loops, definitions and imports.

In: LibCST statements and the frame they run in.  Out: nothing; the frame and its path change.  A branch that
cannot be decided is taken both ways by two paths, or merged where no more choices are left; a loop over
something unknown runs once with what it may change forgotten.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence as Listing
from typing import Any

import libcst as cst

from preflight.execution import Condition
from preflight.python import attributes, decisions, definitions, effects, expressions, names, operators
from preflight.python.objects import (
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
    key_of,
)
from preflight.python.scope import EndedError, Frame, RaisedError, identity, opaque, truth
from preflight.python.syntax import Tree
from preflight.values import Unknown

LONGEST_LOOP = 2000
"""Rounds that a loop is followed for."""


class ReturnError(Exception):
    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class BreakError(Exception):
    pass


class ContinueError(Exception):
    pass


def run_module(tree: Tree, frame: Frame) -> None:
    """The statements of a file; functions and classes in it wait until their names are used."""
    with contextlib.suppress(ReturnError, BreakError, ContinueError):
        for stretch in tree.stretches:
            if not names.promise(stretch, frame):
                run_body(names.open_stretch(stretch, frame), frame)


def run_function(function: Function, frame: Frame) -> Value:
    """The value that a function's body returns."""
    assert isinstance(function.node, cst.FunctionDef)
    body = names.open_body(function.node, frame)
    if body is None:
        return Missing(Unknown("code", function.name), Origin(frame.tree.span(function.node)))
    generator = effects.yields(function.node, frame.tree)
    if generator:
        frame.yielded = []
    result: Value = Scalar(None, Origin(frame.tree.span(function.node)))
    try:
        run_suite(body, frame)
    except ReturnError as done:
        result = done.value
    except (BreakError, ContinueError):
        pass
    return Sequence("list", frame.yielded) if frame.yielded is not None else result


def run_suite(suite: cst.BaseSuite, frame: Frame) -> None:
    run_body(suite.body, frame)


def run_body(body: Listing[cst.CSTNode], frame: Frame) -> None:
    for statement in body:
        run(statement, frame)


def run(node: cst.CSTNode, frame: Frame) -> None:
    frame.path.fuel.burn()
    handler = _HANDLERS.get(type(node))
    if handler is not None:
        handler(node, frame)


def condition(frame: Frame, node: cst.CSTNode, taken: bool) -> Condition:
    return Condition(frame.tree.span(node), frame.tree.shown(node), taken)


def _line(node: cst.SimpleStatementLine | cst.SimpleStatementSuite, frame: Frame) -> None:
    run_body(node.body, frame)


def _expression(node: cst.Expr, frame: Frame) -> None:
    if not isinstance(node.value, (cst.SimpleString, cst.ConcatenatedString)):
        expressions.evaluate(node.value, frame)


def _assign(node: cst.Assign, frame: Frame) -> None:
    value = expressions.evaluate(node.value, frame)
    for target in node.targets:
        assign(target.target, value, frame)


def _annotated(node: cst.AnnAssign, frame: Frame) -> None:
    if frame.kind == "class" and frame.cls is not None and isinstance(node.target, cst.Name):
        definitions.add_field(frame.cls, node, frame)
    elif node.value is not None:
        assign(node.target, expressions.evaluate(node.value, frame), frame)


def assign(target: cst.BaseExpression, value: Value, frame: Frame) -> None:
    """Bind a target: a name, an attribute, an item, or several of them."""
    if isinstance(target, cst.Name):
        frame.assign(target.value, value)
    elif isinstance(target, cst.Attribute):
        receiver = expressions.evaluate(target.value, frame)
        attributes.set_attribute(receiver, target.attr.value, value, frame.tree.span(target), frame)
    elif isinstance(target, cst.Subscript):
        _assign_item(target, value, frame)
    elif isinstance(target, (cst.Tuple, cst.List)):
        _unpack(target, value, frame)


def _assign_item(target: cst.Subscript, value: Value, frame: Frame) -> None:
    receiver = expressions.evaluate(target.value, frame)
    if len(target.slice) == 1 and isinstance(target.slice[0].slice, cst.Index):
        index = expressions.evaluate(target.slice[0].slice.value, frame)
        attributes.set_item(receiver, index, value, target, frame)
    elif isinstance(receiver, Sequence):
        missing = expressions.unknown(target, frame)
        receiver.elements[:] = [Element(missing, frame.tree.span(target), True)]


def _unpack(target: cst.Tuple | cst.List, value: Value, frame: Frame) -> None:
    parts = operators.elements_of(value, frame.tree.span(target))
    if parts is None and isinstance(value, Instance) and value.cls is not None:
        parts = [Element(v, frame.tree.span(target)) for v in value.attributes.values()]
    star = next((i for i, e in enumerate(target.elements) if isinstance(e, cst.StarredElement)), None)
    count = len(target.elements)
    fits = parts is not None and not any(e.rest for e in parts)
    if parts is None or not fits or (len(parts) != count if star is None else len(parts) < count - 1):
        if fits and parts is not None and isinstance(value, (Sequence, String)):
            raise RaisedError("ValueError")
        for element in target.elements:
            missing = expressions.unknown(element.value, frame, value)
            if isinstance(element, cst.StarredElement):
                rest = [Element(missing, missing.origin.span, True)]
                assign(element.value, Sequence("list", rest), frame)
            else:
                assign(element.value, missing, frame)
        return
    tail = count - 1 - star if star is not None else 0
    for index, element in enumerate(target.elements):
        if star is not None and index == star:
            assign(element.value, Sequence("list", parts[star : len(parts) - tail]), frame)
        else:
            at = index if star is None or index < star else len(parts) - (count - index)
            assign(element.value, parts[at].value, frame)


def _augmented(node: cst.AugAssign, frame: Frame) -> None:
    current = expressions.evaluate(node.target, frame)
    value = expressions.evaluate(node.value, frame)
    if isinstance(current, Sequence) and current.kind == "list" and isinstance(node.operator, cst.AddAssign):
        current.elements.extend(expressions.spread(value, node.value, frame))
        return
    if isinstance(current, Mapping) and isinstance(node.operator, cst.BitOrAssign):
        operators.merge(current, value, expressions.unknown(node.value, frame, value))
        return
    kind = _PLAIN.get(type(node.operator))
    result = operators.combine(kind(), current, value, frame.tree.span(node)) if kind is not None else None
    if result is None:
        result = expressions.unknown(node.target, frame, current, value)
    assign(node.target, result, frame)


_PLAIN: dict[type[cst.BaseAugOp], type[cst.BaseBinaryOp]] = {
    cst.AddAssign: cst.Add,
    cst.SubtractAssign: cst.Subtract,
    cst.MultiplyAssign: cst.Multiply,
    cst.DivideAssign: cst.Divide,
    cst.FloorDivideAssign: cst.FloorDivide,
    cst.ModuloAssign: cst.Modulo,
    cst.PowerAssign: cst.Power,
    cst.BitOrAssign: cst.BitOr,
    cst.BitAndAssign: cst.BitAnd,
    cst.LeftShiftAssign: cst.LeftShift,
    cst.RightShiftAssign: cst.RightShift,
}


def _if(node: cst.If, frame: Frame) -> None:
    if not effects.acts(node.body) and (node.orelse is None or effects.aborts(node.body)):
        if truth(expressions.evaluate(node.test, frame)) is True:
            run_suite(node.body, frame)
        else:
            _otherwise(node, frame)
        return
    taken = decisions.decide(node.test, frame)
    if taken is None:
        frame.path.truncated.append(Unknown("branches", frame.tree.shown(node.test)))
        suites = [node.body, *([node.orelse] if node.orelse is not None else [])]
        effects.forget(suites, frame)
        frame.unsure = frame.unsure or effects.leaves(suites, frame.tree)
    elif taken:
        run_suite(node.body, frame)
    else:
        _otherwise(node, frame)


def _otherwise(node: cst.If, frame: Frame) -> None:
    if isinstance(node.orelse, cst.If):
        _if(node.orelse, frame)
    elif isinstance(node.orelse, cst.Else):
        run_suite(node.orelse.body, frame)


def _for(node: cst.For, frame: Frame) -> None:
    elements = expressions.spread(expressions.evaluate(node.iter, frame), node.iter, frame)
    try:
        for element in elements[:LONGEST_LOOP]:
            if element.rest:
                _once(node.body, frame, node.target, element.value)
                continue
            assign(node.target, element.value, frame)
            with contextlib.suppress(ContinueError):
                run_suite(node.body, frame)
    except BreakError:
        return
    if node.orelse is not None:
        run_suite(node.orelse.body, frame)


def _once(body: cst.BaseSuite, frame: Frame, target: cst.BaseExpression | None, value: Value) -> None:
    """A round of a loop that runs any number of times: before it and after it, what it changes is unknown."""
    kept = effects.forget([body], frame)
    if target is not None:
        shown = value.unknown if isinstance(value, Missing) else Unknown("branches", "loop")
        assign(target, Missing(shown, calls_origin(value, frame, target)), frame)
    with contextlib.suppress(BreakError, ContinueError):
        run_suite(body, frame)
    effects.forget([body], frame)
    kept.restore(frame)


def calls_origin(value: Value, frame: Frame, node: cst.CSTNode) -> Origin:
    return value.origin if isinstance(value, Missing) else Origin(frame.tree.span(node))


def _while(node: cst.While, frame: Frame) -> None:
    for _ in range(LONGEST_LOOP):
        known = truth(expressions.evaluate(node.test, frame))
        if known is False:
            if node.orelse is not None:
                run_suite(node.orelse.body, frame)
            return
        if known is None:
            _once(node.body, frame, None, Scalar(None, Origin(frame.tree.span(node))))
            return
        before = len(frame.path.truths)
        try:
            run_suite(node.body, frame)
        except BreakError:
            return
        except ContinueError:
            pass
        if len(frame.path.truths) > before:
            effects.forget([node.body], frame)
            return
    frame.path.truncated.append(Unknown("branches", frame.tree.shown(node.test)))
    effects.forget([node.body], frame)


def _try(node: cst.Try | cst.TryStar, frame: Frame) -> None:
    try:
        try:
            run_suite(node.body, frame)
        except RaisedError as raised:
            for handler in node.handlers:
                if definitions.catches(handler, raised.name, frame):
                    if handler.name is not None:
                        value = expressions.unknown(handler.name.name, frame)
                        assign(handler.name.name, value, frame)
                    run_suite(handler.body, frame)
                    return
            raise
        if node.orelse is not None:
            run_suite(node.orelse.body, frame)
    finally:
        if node.finalbody is not None:
            run_suite(node.finalbody.body, frame)


def _with(node: cst.With, frame: Frame) -> None:
    expecting = False
    for item in node.items:
        value = expressions.evaluate(item.item, frame)
        expecting = expecting or _expects_failure(value, frame.tree.shown(item.item))
        if (
            isinstance(value, Sequence)
            and value.elements
            and not isinstance(item.item, (cst.List, cst.Tuple))
        ):
            value = value.elements[0].value
        if item.asname is not None:
            assign(item.asname.name, value, frame)
    frame.path.expecting_failure += expecting
    if expecting:
        frame.path.built.clear()
    try:
        run_suite(node.body, frame)
    except RaisedError:
        if not expecting:
            raise
    finally:
        frame.path.expecting_failure -= expecting
        if expecting:
            frame.path.built.clear()


def _expects_failure(value: Value, shown: str) -> bool:
    """Whether what is entered is a test's `raises`: what is built for it and inside it is meant to fail."""
    if isinstance(value, Instance) and value.cls is None:
        return value.name.endswith("raises")
    return shown.startswith(("pytest.raises", "self.assertRaises"))


def _return(node: cst.Return, frame: Frame) -> None:
    if node.value is None:
        raise ReturnError(Scalar(None, Origin(frame.tree.span(node))))
    raise ReturnError(expressions.evaluate(node.value, frame))


def _raise(node: cst.Raise, frame: Frame) -> None:
    """An exception; past a branch that may have left the function, nothing is known of what comes back."""
    if frame.unsure and frame.kind == "function":
        raise ReturnError(expressions.unknown(node, frame))
    shown = node.exc.func if isinstance(node.exc, cst.Call) else node.exc
    raise RaisedError(frame.tree.shown(shown).rpartition(".")[2] if shown is not None else "Exception")


def _break(node: cst.Break, frame: Frame) -> None:
    raise BreakError


def _continue(node: cst.Continue, frame: Frame) -> None:
    raise ContinueError


def _assert(node: cst.Assert, frame: Frame) -> None:
    """What an assertion says of an unknown is known after it; one that fails ends the path."""
    if truth(expressions.evaluate(node.test, frame)) is False:
        raise RaisedError("AssertionError")
    if isinstance(node.test, cst.Comparison) and len(node.test.comparisons) == 1:
        target = node.test.comparisons[0]
        if isinstance(target.operator, cst.Equal):
            left = expressions.evaluate(node.test.left, frame)
            right = expressions.evaluate(target.comparator, frame)
            if opaque(left) and key_of(right) is not None:
                frame.path.bind(left, right)


def _delete(node: cst.Del, frame: Frame) -> None:
    targets = [e.value for e in node.target.elements] if isinstance(node.target, cst.Tuple) else [node.target]
    for target in targets:
        if isinstance(target, cst.Name):
            holder = frame.find(target.value)
            if holder is not None:
                del holder.names[target.value]
        elif isinstance(target, cst.Subscript) and len(target.slice) == 1:
            inner = target.slice[0].slice
            if isinstance(inner, cst.Index):
                receiver = expressions.evaluate(target.value, frame)
                attributes.remove_item(receiver, expressions.evaluate(inner.value, frame), frame)


def _global(node: cst.Global, frame: Frame) -> None:
    frame.globals.update(item.name.value for item in node.names)


def _nonlocal(node: cst.Nonlocal, frame: Frame) -> None:
    frame.nonlocals.update(item.name.value for item in node.names)


def _match(node: cst.Match, frame: Frame) -> None:
    subject = expressions.evaluate(node.subject, frame)
    for case in node.cases:
        fits = definitions.matches(case.pattern, subject, frame)
        if fits is None:
            key = ("case", identity(subject), id(case))
            frame.path.kept.append(subject)
            shown = f"{frame.tree.shown(node.subject)} matches {frame.tree.shown(case.pattern)}"
            fits = frame.path.decide(key, frame.tree.span(case.pattern), shown)
            if fits is None:
                frame.path.truncated.append(Unknown("branches", frame.tree.shown(node.subject)))
                effects.forget([c.body for c in node.cases], frame)
                return
            if fits and opaque(subject):
                literal = definitions.literal(case.pattern, frame)
                if literal is not None and key_of(literal) is not None:
                    frame.path.bind(subject, literal)
        if not fits:
            continue
        if case.guard is not None and decisions.decide(case.guard, frame) is not True:
            continue
        run_suite(case.body, frame)
        return


_HANDLERS: dict[type[cst.CSTNode], Any] = {
    cst.SimpleStatementLine: _line,
    cst.SimpleStatementSuite: _line,
    cst.Expr: _expression,
    cst.Assign: _assign,
    cst.AnnAssign: _annotated,
    cst.AugAssign: _augmented,
    cst.If: _if,
    cst.For: _for,
    cst.While: _while,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.With: _with,
    cst.Return: _return,
    cst.Raise: _raise,
    cst.Break: _break,
    cst.Continue: _continue,
    cst.Assert: _assert,
    cst.Del: _delete,
    cst.Global: _global,
    cst.Nonlocal: _nonlocal,
    cst.Import: names.import_modules,
    cst.ImportFrom: names.import_names,
    cst.Match: _match,
    cst.FunctionDef: names.define_function,
    cst.ClassDef: names.define_class,
}

__all__ = ["Class", "EndedError", "External", "run", "run_body", "run_module", "run_suite"]
