"""Entries: functions of a file that nothing in it calls, called as whoever calls them would.

In: a definition and the frame of the file.  Out: nothing; the path has what it found.  What has no default is not
known; an options object has its defaults, and of pytest's tables of parameters each row is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from preflight.execution import Condition
from preflight.python import calls, definitions, options
from preflight.python.objects import (
    Arguments,
    Class,
    Element,
    Function,
    Instance,
    Missing,
    Origin,
    Value,
    settled,
)
from preflight.python.operators import elements_of
from preflight.python.outline import Definition
from preflight.python.scope import EndedError, Frame, RaisedError
from preflight.values import Unknown


def call_entry(entry: Definition, frame: Frame) -> None:
    """Call a function that nothing in the file calls."""
    node = entry.node(frame.tree)
    if node is None:
        return
    holder = frame
    receiver: Value | None = None
    if entry.owner is not None:
        cls = _named(entry.owner, frame.names)
        if not isinstance(cls, Class):
            return
        function = _named(entry.name, cls.namespace)
        if isinstance(function, Function) and function.role != "static":
            receiver = _receiver(cls, function, frame)
    else:
        function = _named(entry.name, holder.names)
    if not isinstance(function, Function):
        function = definitions.define_function(node, frame)
    if not isinstance(function, Function):
        return
    span = frame.tree.span(node.name)
    positional = (Element(receiver, span),) if receiver is not None else ()
    given = _cases(function, Arguments(positional, {}, None, None, span), frame)
    signature = function.wrapped or function
    keywords = dict(given.keywords)
    for index, parameter in enumerate(signature.parameters):
        if parameter.kind in ("rest", "keywords") or parameter.name in keywords or index < len(positional):
            continue
        value = _argument(signature, parameter.name, frame)
        if value is not None:
            keywords[parameter.name] = Element(value, parameter.span)
    calls.call_function(function, given._replace(keywords=keywords), node, frame)


def _named(name: str, names: Mapping[str, Value]) -> Value | None:
    found = names.get(name)
    return settled(found) if found is not None else None


def _receiver(cls: Class, function: Function, frame: Frame) -> Value:
    """The object whose method is called: with its defaults, but a configuration is what its user makes of it."""
    span = frame.tree.span(cls.node.name)
    if function.role == "class":
        return cls
    if calls.is_configuration(cls):
        return Instance(cls.name, cls, span, Missing(Unknown("code", cls.name), Origin(span)))
    empty = Arguments((), {}, None, None, span)
    try:
        made = calls.instantiate(cls, empty, cls.node, frame)
    except (RaisedError, EndedError):
        made = Instance(cls.name, cls, span)
    if isinstance(made, Instance) and made.rest is None:
        made.rest = Missing(Unknown("code", cls.name), Origin(span))
    return made


def _argument(function: Function, name: str, frame: Frame) -> Value | None:
    """What a parameter of an entry is: its default, an options object with defaults, or unknown."""
    for parameter in function.parameters:
        if parameter.name != name:
            continue
        option = function.options.get(name)
        if option is not None and option.default is not None:
            return options.defaulted(option.default, option.flags[0], option.span, frame)
        if parameter.default is not None:
            return options.defaulted(parameter.default, name, parameter.span, frame)
        kind = options.annotation_of(parameter, function.frame)
        if isinstance(kind, Class) and kind.record:
            return options.command_instance(kind, function.node, function.frame)
        return Missing(Unknown("code", name), Origin(parameter.span))
    return None


def _cases(function: Function, given: Arguments, frame: Frame) -> Arguments:
    """One row of each of pytest's tables of parameters."""
    keywords = dict(given.keywords)
    for node, scope in function.cases:
        table = definitions.cases_of(node, scope)
        if table is None or not table[1].elements:
            continue
        names, listed = table[0], table[1].elements
        chosen = 0
        if len(listed) > 1:
            way = frame.path.choose(
                len(listed), scope.tree.span(node), partial(_row_condition, names, listed)
            )
            if way is None:
                continue
            chosen = way
        row = listed[chosen]
        cells = [row] if len(names) == 1 else elements_of(row.value, row.span)
        if isinstance(row.value, Instance):
            cells = None
        if cells is None or len(cells) != len(names):
            continue
        for name, cell in zip(names, cells, strict=True):
            keywords[name] = Element(cell.value, cell.span)
    return given._replace(keywords=keywords)


def _row_condition(names: list[str], rows: list[Element], chosen: int) -> Condition:
    span = rows[chosen].span
    return Condition(span, f"{', '.join(names)} = {' '.join(span.text.split())[:60]}", True)
