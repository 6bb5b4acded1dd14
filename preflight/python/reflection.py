"""Functions on objects: `getattr`, `vars`, `copy`, `dataclasses`, `functools.partial` and others.

In: arguments of a call.  Out: the value, or None where it is not known.
"""

from __future__ import annotations

from collections.abc import Hashable

import libcst as cst

from preflight.python import attributes, calls, expressions
from preflight.python.objects import (
    Arguments,
    Bound,
    Class,
    Element,
    Environment,
    Instance,
    Mapping,
    Partial,
    Sequence,
    String,
    Value,
    key_of,
)
from preflight.python.registry import first, models, scalar
from preflight.python.scope import Frame
from preflight.values import Text, Unknown


@models("getattr")
def _getattr(called: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    receiver, name = given.get("", 0), given.get("", 1)
    key = key_of(name) if name is not None else None
    if receiver is None or not isinstance(key, str):
        return None
    default = given.get("", 2)
    found = attributes.get(receiver, key, node, frame)
    if isinstance(found, Instance) and found.cls is None and found.rest is not None and default is not None:
        return expressions.unknown(node, frame)
    if isinstance(found, Bound) and found.function is None and default is not None:
        return default
    return found if found is not None else default


@models("setattr")
def _setattr(called: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    receiver, name, value = (given.get("", i) for i in range(3))
    key = key_of(name) if name is not None else None
    if receiver is not None and isinstance(key, str) and value is not None:
        attributes.set_attribute(receiver, key, value, given.span, frame)
    elif isinstance(receiver, Instance):
        calls.forget(receiver, Unknown("code", frame.tree.shown(node)))
    return scalar(None, given)


@models("hasattr")
def _hasattr(called: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    receiver, name = given.get("", 0), given.get("", 1)
    key = key_of(name) if name is not None else None
    if isinstance(receiver, Instance) and isinstance(key, str):
        if key in receiver.attributes and not isinstance(receiver.attributes[key], Instance):
            return scalar(True, given)
        if receiver.cls is None and receiver.rest is None and receiver.name == "Namespace":
            return scalar(key in receiver.attributes, given)
        if receiver.cls is not None and receiver.rest is None:
            return scalar(key in receiver.attributes or receiver.cls.find(key) is not None, given)
    return None


@models("vars", "dataclasses.asdict", "asdict")
def _vars(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    if not isinstance(value, Instance):
        return None
    entries: dict[Hashable, tuple[Value, Value]] = {
        k: (String(Text.literal(k, given.span)), v) for k, v in value.attributes.items()
    }
    return Mapping(entries, value.rest)


@models("dataclasses.fields", "fields")
def _fields(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    cls = value.cls if isinstance(value, Instance) else value
    if not isinstance(cls, Class):
        return None
    found = []
    for name, field in calls.fields_of(cls).items():
        item = Instance("Field", None, field.span)
        item.attributes = {"name": String(Text.literal(name, field.span))}
        if field.default is not None:
            item.attributes["default"] = field.default
        found.append(Element(item, given.span))
    return Sequence("tuple", found)


@models("dataclasses.replace", "replace")
def _replace(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    if not isinstance(value, Instance):
        return None
    result = _copied(value, {}, True)
    assert isinstance(result, Instance)
    for key, element in given.keywords.items():
        result.attributes[key] = element.value
        result.spans[key] = element.span
    return result


@models("copy.copy", "copy.deepcopy", "deepcopy", "copy")
def _copy(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    if isinstance(value, Environment):
        return attributes.copy_environment(given.span, frame)
    if value is None:
        return None
    copied = _copied(value, {}, False)
    if isinstance(copied, Instance) and copied.built and copied not in frame.path.built:
        frame.path.fuel.grant()
        frame.path.built.append(copied)
    return copied


def _copied(value: Value, memory: dict[int, Value], shallow: bool) -> Value:
    if id(value) in memory:
        return memory[id(value)]
    if isinstance(value, Sequence):
        result = Sequence(value.kind, [])
        memory[id(value)] = result
        result.elements.extend(e._replace(value=_copied(e.value, memory, shallow)) for e in value.elements)
        return result
    if isinstance(value, Mapping):
        table = Mapping({}, value.rest)
        table.outer, table.default = value.outer, value.default
        memory[id(value)] = table
        table.entries.update({k: (n, _copied(v, memory, shallow)) for k, (n, v) in value.entries.items()})
        return table
    if isinstance(value, Instance) and not (value.cls is not None and value.cls.enumeration):
        made = Instance(value.name, value.cls, value.span, value.rest)
        made.built, made.strict, made.changed = value.built, value.strict, value.changed
        memory[id(value)] = made
        made.spans.update(value.spans)
        for key, item in value.attributes.items():
            made.attributes[key] = item if shallow else _copied(item, memory, shallow)
        return made
    return value


@models("functools.partial", "partial")
def _partial(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    if not given.positional:
        return None
    target = given.positional[0].value
    return Partial(target, given._replace(positional=given.positional[1:]))


@models("type")
def _type(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    return value.cls if isinstance(value, Instance) else None


@models("typing.cast", "cast")
def _cast(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    return given.get("val", 1)


@models("enum.auto", "auto")
def _auto(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    return Instance("enum.auto", None, given.span)


@models("types.SimpleNamespace", "SimpleNamespace", "argparse.Namespace", "Namespace")
def _namespace(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    result = Instance("Namespace", None, given.span, given.keyword_rest)
    for key, element in given.keywords.items():
        result.attributes[key] = element.value
        result.spans[key] = element.span
    return result
