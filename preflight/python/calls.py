"""Calls: functions and classes of the project are followed, known library functions modelled, others unknown.

In: a callee and its arguments.  Out: the value that comes back.  A call that is not followed may still be a
launch (flags handed to a helper) or build a configuration; both are noted on the path.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import lru_cache

import libcst as cst

from preflight.python import (
    attributes,
    expressions,
    itself,
    library,
    methods,
    modules,
    operators,
    options,
    runs,
    statements,
)
from preflight.python.objects import (
    Application,
    Arguments,
    Bound,
    Class,
    Element,
    External,
    Field,
    Function,
    Instance,
    Mapping,
    Missing,
    Origin,
    Partial,
    Scalar,
    Sequence,
    String,
    Super,
    Value,
    key_of,
)
from preflight.python.outline import GROUPING, PARTS
from preflight.python.scope import MAXIMUM_CALLS, EndedError, Frame, RaisedError
from preflight.source import Span
from preflight.values import Text, Unknown

_KEEPING = re.compile(
    r"_*(?:pretrain|finetune|train|print|log|logger|info|debug|warning|error|save|dump|run|validate|copy"
    r"|deepcopy|asdict|isinstance|len|str|repr|type|hasattr|getattr|partial|append|main|launch|provide|finalize"
    r"|get_model|build|init|initialize|setup|assert)",
    re.IGNORECASE,
)
_CLICK = frozenset({"standalone_mode", "prog_name", "args", "obj", "auto_envvar_prefix"})
_CLASS = re.compile(r"(?:^|\.)_?[A-Z]\w*$")


@lru_cache(maxsize=4096)
def _makes_object(name: str) -> bool:
    return _CLASS.search(name) is not None


@lru_cache(maxsize=4096)
def _changes_nothing(name: str) -> bool:
    return _KEEPING.match(name) is not None


def arguments(values: list[Value], span: Span) -> Arguments:
    """Positional arguments of a call that stands nowhere."""
    return Arguments(tuple(Element(v, span) for v in values), {}, None, None, span)


def call(callee: Value, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    """What a call gives back."""
    if isinstance(callee, Function):
        if callee.options and not given.positional and not given.keywords.keys() - _CLICK:
            return options.run_command(callee, given._replace(keywords={}), node, frame)
        return call_function(callee, given, node, frame)
    if isinstance(callee, Class):
        return instantiate(callee, given, node, frame)
    if isinstance(callee, Partial):
        return call(callee.target, _merged(callee.arguments, given), node, frame)
    if isinstance(callee, Bound):
        return _call_bound(callee, given, node, frame)
    if isinstance(callee, Application):
        return options.run_application(callee, given, node, frame)
    if isinstance(callee, External):
        if callee.name == "super":
            return _super(given, node, frame)
        known = library.call(callee.name, given, node, frame)
        return known if known is not None else call_unknown(callee.name, given, node, frame)
    if isinstance(callee, Instance) and callee.cls is not None:
        method = callee.cls.find("__call__")
        if isinstance(method, Function):
            first = Element(callee, given.span)
            return call_function(method, given._replace(positional=(first, *given.positional)), node, frame)
    name = callee.name if isinstance(callee, Instance) else _shown_callee(node, frame)
    return call_unknown(name, given, node, frame, callee)


def _shown_callee(node: cst.CSTNode, frame: Frame) -> str:
    return frame.tree.shown(node.func if isinstance(node, cst.Call) else node)


def _merged(ahead: Arguments, given: Arguments) -> Arguments:
    return given._replace(
        positional=ahead.positional + given.positional,
        keywords={**ahead.keywords, **given.keywords},
        rest=ahead.rest or given.rest,
        keyword_rest=ahead.keyword_rest or given.keyword_rest,
    )


def _call_bound(callee: Bound, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    if callee.function is not None:
        first = Element(callee.receiver, given.span)
        given = given._replace(positional=(first, *given.positional))
        return call_function(callee.function, given, node, frame)
    if isinstance(callee.receiver, Super):
        return Scalar(None, Origin(given.span))
    found = methods.call(callee.receiver, callee.name, given, node, frame)
    if found is not None:
        return found
    name = f"{_shown_receiver(callee, node, frame)}.{callee.name}"
    return call_unknown(name, given, node, frame, callee.receiver)


def _shown_receiver(callee: Bound, node: cst.CSTNode, frame: Frame) -> str:
    function = node.func if isinstance(node, cst.Call) else node
    return (
        frame.tree.shown(function.value)
        if isinstance(function, cst.Attribute)
        else type(callee.receiver).__name__
    )


def _super(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    inner: Frame | None = frame
    while inner is not None and inner.receiver is None:
        inner = inner.parent
    if inner is None or inner.cls is None or inner.receiver is None:
        return expressions.unknown(node, frame)
    return Super(inner.cls, inner.receiver)


def call_function(function: Function, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    """Follow a function of the project."""
    path = frame.path
    path.entered.add(function.node)
    if path.depth >= MAXIMUM_CALLS:
        return Missing(Unknown("branches", frame.tree.shown(node)), Origin(given.span))
    path.fuel.burn(5)
    inner = Frame("function", function.frame.tree, path, function.frame)
    owner = function.frame
    if owner.kind == "class":
        inner.cls = owner.cls
        inner.receiver = given.positional[0].value if given.positional else None
    bind_arguments(function, given, inner)
    path.depth += 1
    path.calls.append(id(node))
    try:
        if isinstance(function.node, cst.Lambda):
            return expressions.evaluate(function.node.body, inner)
        return statements.run_function(function, inner)
    finally:
        path.calls.pop()
        path.depth -= 1


def bind_arguments(function: Function, given: Arguments, inner: Frame) -> None:
    """Give each parameter its value."""
    positional, keywords = list(given.positional), dict(given.keywords)
    for parameter in function.parameters:
        name, span = parameter.name, parameter.span
        if parameter.kind == "rest":
            elements = list(positional)
            if given.rest is not None:
                elements.append(Element(given.rest, span, True))
            inner.names[name] = Sequence("tuple", elements)
            positional = []
        elif parameter.kind == "keywords":
            entries: dict[Hashable, tuple[Value, Value]] = {
                k: (_key(k, span), e.value) for k, e in keywords.items()
            }
            inner.names[name] = Mapping(entries, given.keyword_rest)
        elif parameter.kind == "plain" and positional:
            inner.names[name] = positional.pop(0).value
        elif name in keywords:
            inner.names[name] = keywords.pop(name).value
        elif parameter.kind == "plain" and given.rest is not None:
            inner.names[name] = Missing(given.rest.unknown, given.rest.origin)
        elif given.keyword_rest is not None:
            inner.names[name] = Missing(given.keyword_rest.unknown, given.keyword_rest.origin)
        elif parameter.default is not None:
            inner.names[name] = parameter.default
        else:
            inner.names[name] = Missing(Unknown("code", name), Origin(span))


def _key(name: str, span: Span) -> Value:
    return String(Text.literal(name, span))


def instantiate(cls: Class, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    """Make an object of a class of the project."""
    if cls.enumeration:
        return _member(cls, given, node, frame)
    instance = Instance(cls.name, cls, given.span)
    if cls.open:
        instance.rest = Missing(Unknown("code", frame.tree.shown(node)), Origin(given.span))
    made = cls.find("__init__")
    if isinstance(made, Function):
        first = Element(instance, given.span)
        call_function(made, given._replace(positional=(first, *given.positional)), node, frame)
    elif cls.record or cls.open:
        fill(instance, given, node, frame)
    instance.strict = cls.name in CLOSED and cls.frame is not None and _is_core(cls.frame)
    if is_configuration(cls) and instance not in frame.path.built:
        instance.built = True
        frame.path.fuel.grant()
        frame.path.built.append(instance)
    return instance


def is_configuration(cls: Class) -> bool:
    """Whether a class of the project is derived from one of Megatron's configurations."""
    return any(
        isinstance(base, External) and re.search(r"(?:Config|Provider)\w*$", base.name) is not None
        for c in cls.ancestry
        for base in c.bases
    )


def fields_of(cls: Class) -> dict[str, Field]:
    """The fields of a dataclass, those of its bases first."""
    found: dict[str, Field] = {}
    model = cls.model
    for c in reversed(cls.ancestry):
        if c.data or model:
            found.update(c.fields)
    return found


def fill(instance: Instance, given: Arguments, node: cst.CSTNode, frame: Frame) -> None:
    """What the `__init__` of a dataclass does."""
    cls = instance.cls
    if cls is None:
        return
    positional = list(given.positional)
    keywords = dict(given.keywords)
    for name, field in fields_of(cls).items():
        value: Value | None = None
        if not field.settable:
            pass
        elif positional:
            value = positional.pop(0).value
        elif name in keywords:
            element = keywords.pop(name)
            value = element.value
            instance.spans[name] = element.span
        elif given.rest is not None or given.keyword_rest is not None:
            cause = given.rest or given.keyword_rest
            value = Missing(cause.unknown, cause.origin) if cause is not None else None
        if value is None and field.factory is not None:
            value = call(field.factory, arguments([], field.span), node, frame)
        if value is None:
            value = field.default
        instance.attributes[name] = (
            value if value is not None else Missing(Unknown("code", name), Origin(field.span))
        )
    if cls.open:
        for name, element in keywords.items():
            instance.attributes[name] = element.value
            instance.spans[name] = element.span
    after = cls.find("__post_init__")
    if isinstance(after, Function):
        call_function(after, arguments([instance], given.span), node, frame)


def _member(cls: Class, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    """`Color("red")`."""
    if len(given.positional) == 1:
        wanted = given.positional[0].value
        for c in cls.ancestry:
            for value in c.namespace.values():
                if isinstance(value, Instance) and operators.equal(
                    value.attributes.get("value", value), wanted
                ):
                    return value
        if operators.plain(wanted) is not None:
            raise RaisedError("ValueError")
    return expressions.unknown(node, frame, *(e.value for e in given.positional))


def iterate(instance: Instance, node: cst.CSTNode, frame: Frame) -> list[Element] | None:
    """What iterating over an object of the project gives, where its class says so."""
    method = instance.cls.find("__iter__") if instance.cls is not None else None
    if not isinstance(method, Function):
        return None
    span = frame.tree.span(node)
    return operators.elements_of(call_function(method, arguments([instance], span), node, frame), span)


def call_unknown(
    name: str, given: Arguments, node: cst.CSTNode, frame: Frame, receiver: Value | None = None
) -> Value:
    """A call that cannot be followed."""
    if name.endswith(".skipTest"):
        raise EndedError
    span = given.span
    runs.hand_over(name, given, node, frame, receiver)
    itself.start_itself(name, given, frame)
    _call_back(name, given, node, frame)
    values = [element.value for element in (*given.positional, *given.keywords.values())]
    reason = expressions.reason_of(receiver) if receiver is not None else None
    shown = frame.tree.shown(node)
    unknown = reason._replace(text=shown) if reason is not None else Unknown("code", shown)
    grouping = name.rpartition(".")[2] == GROUPING and VIRTUAL in given.keywords
    makes = grouping or _makes_object(name)
    if not makes and not _changes_nothing(name.rpartition(".")[2]):
        for value in values:
            if isinstance(value, Instance) and (value.cls is None or is_configuration(value.cls)):
                forget(value, unknown)
    result = modules.opaque(name, unknown, span)
    if _RECIPE.search(name) is not None:
        for key in MACHINES & given.keywords.keys():
            result.attributes[key], result.spans[key] = given.keywords[key].value, given.keywords[key].span
    if makes:
        short = name.rpartition(".")[2]
        result.name = f"bridge.{short}" if short in PARTS and name.startswith("megatron.bridge.") else short
        for key, element in given.keywords.items():
            result.attributes[key] = element.value
            result.spans[key] = _with_keyword(key, element.span)
        if grouping:
            for key, element in zip(GROUPS, given.positional, strict=False):
                result.attributes[key], result.spans[key] = element.value, element.span
        for element in () if grouping else given.positional:
            if isinstance(element.value, (Instance, Sequence)):
                result.attributes.setdefault(f"[{len(result.attributes)}]", element.value)
        result.built = bool(given.keywords)
        open_from = given.keyword_rest or given.rest
        if open_from is not None:
            result.rest = Missing(open_from.unknown, open_from.origin)
        elif grouping or is_own(name) or is_plain(name):
            result.rest = None
        result.strict = is_own(name)
        if given.keywords:
            frame.path.fuel.grant()
            frame.path.built.append(result)
    return result


def _is_core(frame: Frame) -> bool:
    return "megatron/core/" in frame.tree.source.path


def is_plain(name: str) -> bool:
    """Whether a class is Megatron-Bridge's general provider, whose fields are Megatron's with Megatron's defaults."""
    return name.startswith("megatron.bridge.") and name.endswith(".GPTModelProvider")


def is_own(name: str) -> bool:
    """Whether a name is that of one of Megatron's own classes, as far as it says where it comes from."""
    place, _, short = name.rpartition(".")
    return short in CLOSED and (not place or place.split(".")[:2] == ["megatron", "core"])


_RECIPE = re.compile(r"(?:^|\.)(?:pretrain|finetune)_recipe$")
MACHINES = frozenset({"num_nodes", "num_gpus_per_node"})
"""Arguments of NeMo's recipes that count machines."""
VIRTUAL = "virtual_pipeline_model_parallel_size"
GROUPS = ("tensor_model_parallel_size", "pipeline_model_parallel_size", VIRTUAL)
"""The first arguments of the function that makes the process groups, in every release."""
CLOSED = frozenset({"TransformerConfig", "MLATransformerConfig", "ModelParallelConfig"})
"""Megatron's own classes, whose absent fields have the release's defaults."""


def _with_keyword(key: str, span: Span) -> Span:
    """The span with `key=` in front, where it stands there."""
    data = span.source.data
    start = span.start - len(key) - 1
    if start >= 0 and data[start : span.start] == f"{key}=".encode():
        return Span(span.source, start, span.end)
    return span


def forget(instance: Instance, unknown: Unknown, seen: int = 0) -> None:
    """After code that is not followed had an object in its hands, its attributes are not known any more."""
    instance.rest = Missing(unknown, Origin(instance.span))
    for key, value in list(instance.attributes.items()):
        if isinstance(value, Instance) and value.cls is None and seen < 8:
            forget(value, unknown, seen + 1)
        elif not isinstance(value, Instance):
            instance.attributes[key] = Missing(unknown, Origin(instance.spans.get(key, instance.span)))


def _call_back(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> None:
    """Call functions that are handed over to be run: threads, pools, `typer.run` of another name."""
    target = given.get("target")
    short = name.rpartition(".")[2]
    if isinstance(target, (Function, Bound, Partial)) and short in ("Thread", "Process"):
        listed = given.get("args")
        elements = tuple(listed.elements) if isinstance(listed, Sequence) and listed.closed else ()
        call(target, Arguments(elements, {}, None, None, given.span), node, frame)
    elif short in ("submit", "apply", "apply_async", "run_in_executor", "run", "spawn", "starmap", "map"):
        first = next((e.value for e in given.positional if isinstance(e.value, (Function, Partial))), None)
        if first is None:
            return
        at = next(i for i, e in enumerate(given.positional) if e.value is first)
        if short in ("map", "starmap"):
            missing = Missing(Unknown("code", "item"), Origin(given.span))
            call(first, arguments([missing], given.span), node, frame)
        else:
            left = given._replace(positional=given.positional[at + 1 :])
            call(first, left, node, frame)


def command_line(span: Span, frame: Frame) -> Value:
    """`sys.argv`."""
    path, context = frame.path, frame.path.context
    if path.argv is None:
        script = String(Text.literal(path.script_path, span))
        elements = [Element(script, span)]
        indices = sorted(i for i in context.arguments if i > 0)
        elements.extend(Element(String(Text.literal(context.arguments[i], span)), span) for i in indices)
        if not context.closed_arguments and len(elements) == 1:
            elements.append(Element(Missing(Unknown("positional", "sys.argv[1:]"), Origin(span)), span, True))
        path.argv = Sequence("list", elements)
    return path.argv


def fresh(factory: Value) -> Value | None:
    """A new empty container for `defaultdict`."""
    name = key_of(factory)
    if name == ("external", "list"):
        return Sequence("list", [])
    if name == ("external", "dict"):
        return Mapping({})
    return None


__all__ = ["attributes", "call", "call_function", "call_unknown", "instantiate"]
