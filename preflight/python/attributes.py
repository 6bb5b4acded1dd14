"""Attributes and items: `value.name` and `value[index]`, read and written.

In: values.  Out: values, or None where the outcome is not known.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Hashable

import libcst as cst

from preflight.python import calls, expressions, modules, operators, patterns, slips, texts
from preflight.python.objects import (
    Application,
    Bound,
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
    Parser,
    Partial,
    Scalar,
    Sequence,
    String,
    Super,
    Value,
    key_of,
)
from preflight.python.scope import Frame, RaisedError
from preflight.source import Span
from preflight.values import Text, Unknown

BUILTINS = frozenset(dir(builtins))


def module_name(name: str, node: cst.CSTNode, frame: Frame) -> Value | None:
    """`__file__` and `__name__`, which every module has."""
    span = frame.tree.span(node)
    if name == "__file__":
        absolute = os.path.join(frame.path.context.files.directory, frame.tree.source.path)
        return String(Text.literal(absolute, span))
    if name == "__name__":
        own = frame.tree.source.path == frame.path.script_path and frame.path.as_main
        shown = "__main__" if own else os.path.splitext(os.path.basename(frame.tree.source.path))[0]
        return String(Text.literal(shown, span))
    return None


def get(receiver: Value, name: str, node: cst.CSTNode, frame: Frame) -> Value | None:
    """`receiver.name`."""
    span = frame.tree.span(node)
    if isinstance(receiver, External):
        frame.path.library.use(receiver.name, name)
        return _external(f"{receiver.name}.{name}", node, frame)
    if isinstance(receiver, Module):
        return modules.member(receiver, name, frame)
    if isinstance(receiver, Instance):
        return _instance(receiver, name, node, frame)
    if isinstance(receiver, Class):
        return _class(receiver, name, span)
    if isinstance(receiver, Super):
        return _super(receiver, name, node, frame)
    if isinstance(receiver, String) and receiver.path:
        return _path(receiver, name, span) or Bound(receiver, name)
    if isinstance(receiver, Function):
        if name in ("__name__", "__qualname__"):
            return String(Text.literal(receiver.name, span))
        return None
    if isinstance(
        receiver,
        (String, Sequence, Mapping, Environment, Parser, Application, Match, Missing, Scalar, Partial),
    ):
        return Bound(receiver, name)
    return None


def _external(name: str, node: cst.CSTNode, frame: Frame) -> Value:
    span = frame.tree.span(node)
    if name == "os.environ":
        return Environment()
    if name == "sys.argv":
        return calls.command_line(span, frame)
    if name == "sys.executable":
        return String(Text.literal("python", span))
    if name in ("os.sep", "os.path.sep"):
        return String(Text.literal("/", span))
    if name in ("os.linesep",):
        return String(Text.literal("\n", span))
    if name == "sys.platform":
        return String(Text.literal("linux", span))
    return External(name, span)


def _instance(receiver: Instance, name: str, node: cst.CSTNode, frame: Frame) -> Value | None:
    if name in receiver.attributes:
        return receiver.attributes[name]
    span = frame.tree.span(node)
    if receiver.cls is not None:
        found = receiver.cls.find(name)
        if isinstance(found, Function):
            return _method(receiver, found, node, frame)
        if found is not None:
            return found
        if name == "__class__":
            return receiver.cls
        if name == "__dict__":
            return Mapping(
                {k: (String(Text.literal(k, span)), v) for k, v in receiver.attributes.items()}, receiver.rest
            )
        if not receiver.cls.open and receiver.rest is None and not name.startswith("__"):
            return None
    if receiver.cls is None or receiver.rest is None:
        child = modules.opaque(f"{receiver.name}.{name}", _because(receiver, node, frame), span)
        child.parent = receiver
        if receiver.cls is None:
            receiver.attributes[name] = child
            receiver.spans[name] = span
        return child
    return Missing(_because(receiver, node, frame), Origin(span))


def _because(receiver: Instance, node: cst.CSTNode, frame: Frame) -> Unknown:
    shown = frame.tree.shown(node)
    return receiver.rest.unknown._replace(text=shown) if receiver.rest is not None else Unknown("code", shown)


def _method(receiver: Value, function: Function, node: cst.CSTNode, frame: Frame) -> Value:
    if function.role == "property":
        return calls.call_function(function, calls.arguments([receiver], frame.tree.span(node)), node, frame)
    if function.role == "static":
        return function
    if function.role == "class" and isinstance(receiver, Instance) and receiver.cls is not None:
        return Bound(receiver.cls, function.name, function)
    return Bound(receiver, function.name, function)


def _class(receiver: Class, name: str, span: Span) -> Value | None:
    found = receiver.find(name)
    if isinstance(found, Function) and found.role == "class":
        return Bound(receiver, name, found)
    if found is not None:
        return found
    if name in ("__name__", "__qualname__"):
        return String(Text.literal(receiver.name, span))
    return Bound(receiver, name)


def _super(receiver: Super, name: str, node: cst.CSTNode, frame: Frame) -> Value | None:
    for base in receiver.cls.bases:
        if isinstance(base, Class):
            found = base.find(name)
            if isinstance(found, Function):
                return _method(receiver.instance, found, node, frame)
            if found is not None:
                return found
    return Bound(receiver, name)


def _path(receiver: String, name: str, span: Span) -> Value | None:
    shown = texts.mask(receiver.text)
    if name == "parent":
        return String(parent(receiver.text, span), True)
    slash = shown.rfind("/") + 1
    if name == "name":
        return String(texts.cut(receiver.text, slash, len(shown)))
    if name in ("stem", "suffix"):
        dot = shown.rfind(".")
        dot = dot if dot > slash else len(shown)
        low, high = (slash, dot) if name == "stem" else (dot, len(shown))
        return String(texts.cut(receiver.text, low, high))
    if name == "parents":
        found, text = [], receiver.text
        for _ in range(min(shown.count("/") + 1, 64)):
            text = parent(text, span)
            found.append(Element(String(text, True), span))
        return Sequence("tuple", found)
    return None


def parent(text: Text, span: Span) -> Text:
    """The folder of a path, as `pathlib` gives it."""
    shown = texts.mask(text)
    slash = shown.rfind("/")
    if slash < 0:
        return Text.literal(".", span)
    return texts.cut(text, 0, max(slash, 1))


def item(receiver: Value, index: Value, node: cst.CSTNode, frame: Frame) -> Value | None:
    """`receiver[index]`."""
    if isinstance(receiver, Mapping):
        return entry(receiver, index, node, frame)
    if isinstance(receiver, Environment):
        key = key_of(index)
        if isinstance(key, str):
            return frame.path.variable(key, None, frame.tree.span(node), frame.tree.shown(node), absent=True)
        return None
    if isinstance(receiver, Match):
        return patterns.group(receiver, index, frame.tree.span(node))
    position = operators.integer(index)
    if isinstance(receiver, Sequence) and position is not None:
        return _nth(receiver, position)
    if isinstance(receiver, String) and position is not None and receiver.text.known:
        length = len(texts.mask(receiver.text))
        if -length <= position < length:
            position %= length
            return String(texts.cut(receiver.text, position, position + 1))
        raise RaisedError("IndexError")
    if isinstance(receiver, Class):
        if receiver.enumeration:
            key = key_of(index)
            return receiver.find(key) if isinstance(key, str) else None
        return receiver
    if isinstance(receiver, External):
        return receiver if not receiver.name.endswith("argv") else None
    if isinstance(receiver, Instance) and receiver.cls is not None:
        method = receiver.cls.find("__getitem__")
        if isinstance(method, Function):
            return calls.call_function(
                method, calls.arguments([receiver, index], frame.tree.span(node)), node, frame
            )
    return None


def entry(receiver: Mapping, index: Value, node: cst.CSTNode, frame: Frame) -> Value | None:
    """What a dictionary holds under a key."""
    key = key_of(index)
    if key is None:
        return None
    if key in receiver.entries:
        return receiver.entries[key][1]
    if receiver.outer and isinstance(key, str):
        return frame.path.variable(key, None, frame.tree.span(node), frame.tree.shown(node), absent=True)
    if receiver.rest is not None or isinstance(index, External):
        return None
    if receiver.default is not None:
        made = calls.fresh(receiver.default)
        if made is not None:
            receiver.entries[key] = (index, made)
        return made
    raise RaisedError("KeyError")


def _nth(receiver: Sequence, position: int) -> Value | None:
    elements = receiver.elements
    open_at = next((i for i, e in enumerate(elements) if e.rest), None)
    if open_at is None:
        if -len(elements) <= position < len(elements):
            return elements[position].value if receiver.kind != "set" else None
        raise RaisedError("IndexError")
    if 0 <= position < open_at:
        return elements[position].value
    last = max(i for i, e in enumerate(elements) if e.rest)
    if position < 0 and len(elements) + position > last:
        return elements[position].value
    return None


def set_attribute(receiver: Value, name: str, value: Value, span: Span, frame: Frame) -> None:
    """`receiver.name = value`."""
    if isinstance(receiver, Instance):
        if receiver.cls is not None:
            setter = receiver.cls.find(f"{name}.setter")
            if isinstance(setter, Function):
                calls.call_function(setter, calls.arguments([receiver, value], span), setter.node, frame)
                return
        receiver.attributes[name] = value
        receiver.spans[name] = span
        receiver.changed = receiver.changed or receiver.strict
        root = receiver
        while root.parent is not None and root.parent.cls is None:
            root = root.parent
        if root.cls is None and root not in frame.path.built:
            frame.path.fuel.grant()
            frame.path.built.append(root)
    elif isinstance(receiver, Class):
        receiver.namespace[name] = value
    elif isinstance(receiver, Module):
        space = modules.namespace(receiver, frame)
        if space is not None:
            space.names[name] = value
    elif isinstance(receiver, External) and f"{receiver.name}.{name}" == "sys.argv":
        frame.path.argv = value


def set_item(receiver: Value, index: Value, value: Value, node: cst.Subscript, frame: Frame) -> None:
    """`receiver[index] = value`."""
    span = frame.tree.span(node)
    if isinstance(receiver, Mapping):
        operators.store(receiver, index, value, expressions.unknown(node, frame, index))
    elif isinstance(receiver, Environment):
        set_variable(index, value, span, frame)
    elif isinstance(receiver, Sequence):
        position = operators.integer(index)
        if (
            position is not None
            and receiver.closed
            and -len(receiver.elements) <= position < len(receiver.elements)
        ):
            receiver.elements[position] = Element(value, span)
        else:
            missing = expressions.unknown(node, frame, index)
            receiver.elements[:] = [Element(missing, e.span, e.rest) for e in receiver.elements]
    elif isinstance(receiver, Instance) and receiver.cls is not None:
        method = receiver.cls.find("__setitem__")
        if isinstance(method, Function):
            calls.call_function(method, calls.arguments([receiver, index, value], span), node, frame)


def copy_environment(span: Span, frame: Frame) -> Mapping:
    """`os.environ` as a dictionary of its own."""
    entries: dict[Hashable, tuple[Value, Value]] = {}
    for name, text in frame.path.environment.items():
        if text is not None:
            entries[name] = (String(Text.literal(name, span)), String(text))
    result = Mapping(entries, Missing(Unknown("environment", "os.environ"), Origin(span)))
    result.outer = True
    return result


def set_variable(name: Value, value: Value, span: Span, frame: Frame, *, certain: bool = True) -> None:
    """`os.environ[name] = value`; it is not `certain` where the variable may have a value already."""
    key = key_of(name)
    if not isinstance(key, str):
        return
    if certain:
        slips.notice_variable(key, value, span, frame)
    text = value.text if isinstance(value, String) else None
    if text is None:
        missing = value if isinstance(value, Missing) else None
        unknown = missing.unknown if missing is not None else Unknown("code", f"${key}")
        text = Text.missing(unknown, span)
    frame.path.environment[key] = text


def remove_item(receiver: Value, index: Value, frame: Frame) -> None:
    """`del receiver[index]`."""
    key = key_of(index)
    if isinstance(receiver, Mapping) and key is not None:
        receiver.entries.pop(key, None)
        if receiver.outer:
            receiver.entries[key] = (index, Scalar(None, Origin(Span(frame.tree.source, 0, 0))))
    elif isinstance(receiver, Environment) and isinstance(key, str):
        frame.path.environment[key] = None
    elif isinstance(receiver, Sequence):
        position = operators.integer(index)
        if (
            position is not None
            and receiver.closed
            and -len(receiver.elements) <= position < len(receiver.elements)
        ):
            del receiver.elements[position]
