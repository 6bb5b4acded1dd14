"""Functions of Python and its standard library that are modelled.

In: a dotted name and the arguments of a call.  Out: the value, or None for a function that is not modelled.
Nothing of the real function runs except on known plain values, and only where it has no effects.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Hashable
from typing import Any

import libcst as cst

from preflight.python import attributes, calls, expressions, modules, operators, options, runs, texts
from preflight.python.objects import (
    HEAVIEST,
    Application,
    Arguments,
    Bound,
    Class,
    Element,
    Environment,
    External,
    Function,
    Instance,
    Mapping,
    Missing,
    Module,
    Origin,
    Parser,
    Partial,
    Scalar,
    Sequence,
    String,
    Value,
    assumptions_of,
    key_of,
    text_of,
    weigh,
)
from preflight.python.scope import EndedError, Frame, RaisedError, truth
from preflight.source import Span
from preflight.values import Piece, Text, Unknown

Handler = Callable[[Arguments, cst.CSTNode, Frame], Value | None]
_FUNCTIONS: dict[str, Handler] = {}


def models(*names: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for name in names:
            _FUNCTIONS[name] = handler
        return handler

    return register


def call(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    """What a function of a library gives."""
    if runs.is_runner(name):
        return runs.start(name, given, node, frame)
    handler = _FUNCTIONS.get(name)
    if handler is None:
        handler = _by_ending(name)
    if handler is None:
        return None
    found = handler(given, node, frame)
    if found is not None:
        return found
    return expressions.unknown(node, frame, *(e.value for e in given.positional))


def _by_ending(name: str) -> Handler | None:
    top, _, short = name.rpartition(".")
    if short == "ArgumentParser":
        return _parser
    if short in ("Option", "Argument") and "typer" in top:
        return _typer_option
    if name.startswith(("logging.", "logger.")) and short != "getLogger":
        return _nothing
    if short in ("Typer",):
        return _application
    if name in ("typer.run", "fire.Fire", "Fire", "tyro.cli", "defopt.run", "draccus.wrap"):
        return _command
    if short in ("Path", "PosixPath", "PurePath", "PurePosixPath") and top in ("pathlib", ""):
        return _path
    if short == "device_count":
        return _node
    return None


@models("print", "os.makedirs", "os.mkdir", "time.sleep", "os.chmod", "shutil.rmtree", "sys.stdout.flush")
def _nothing(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    return Scalar(None, Origin(given.span))


def _node(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    return Missing(Unknown("node", frame.tree.shown(node)), Origin(given.span), True)


@models("input", "os.cpu_count", "socket.gethostname", "time.time", "os.getpid", "platform.node", "os.uname")
def _machine(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    return Missing(Unknown("command", frame.tree.shown(node)), Origin(given.span), True)


@models("sys.exit", "exit", "quit", "os._exit", "os.abort")
def _exit(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    raise EndedError


def _first(given: Arguments) -> Value | None:
    return given.positional[0].value if given.positional else None


def _scalar(value: object, given: Arguments, *causes: Value) -> Value:
    return Scalar(value, Origin(given.span, (), assumptions_of(*causes)))


@models("int", "float")
def _number(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
    if value is None:
        return _scalar(0, given)
    shown = getattr(node, "func", None)
    kind = float if isinstance(shown, cst.Name) and shown.value == "float" else int
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


def number_of(kind: str, value: Value, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    return _converted(float if kind == "float" else int, value, given, node, frame)


@models("str")
def _str(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
    if value is None:
        return String(Text.literal("", given.span))
    text = text_of(value, given.span)
    if text is None and isinstance(value, (Sequence, Mapping)):
        plain = jsonable(value)
        if plain is not _UNKNOWN and len(str(plain)) < 10_000 and not _quoted_scalars(value):
            return String(Text([Piece(str(plain), given.span, None, (), assumptions_of(value))]))
    if text is None and isinstance(value, Instance) and value.cls is not None:
        method = value.cls.find("__str__")
        if isinstance(method, Function):
            return calls.call_function(method, calls.arguments([value], given.span), node, frame)
    return String(text) if text is not None else None


def _quoted_scalars(value: Value) -> bool:
    return isinstance(value, Sequence) and value.kind != "list"


@models("repr")
def _repr(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
    plain = operators.plain(value) if value is not None else None
    return String(Text([Piece(repr(plain), given.span)])) if isinstance(plain, (str, int, float)) else None


@models("bool")
def _bool(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
    if value is None:
        return _scalar(False, given)
    known = truth(value)
    return _scalar(known, given, value) if known is not None else None


@models("len")
def _len(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
    if isinstance(value, Sequence) and value.closed:
        return _scalar(len(value.elements), given)
    if isinstance(value, Mapping) and value.rest is None:
        return _scalar(len(value.entries), given)
    if isinstance(value, String) and value.text.value is not None:
        return _scalar(len(value.text.value), given, value)
    return None


@models("range")
def _range(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
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
def _reduce(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    shown = node.func if isinstance(node, cst.Call) else None
    name = shown.value if isinstance(shown, cst.Name) else ""
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
def _arithmetic(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    shown = node.func if isinstance(node, cst.Call) else None
    name = (
        shown.attr.value
        if isinstance(shown, cst.Attribute)
        else shown.value
        if isinstance(shown, cst.Name)
        else ""
    )
    functions: dict[str, Callable[..., Any]] = {
        "abs": abs, "round": round, "ceil": math.ceil, "floor": math.floor, "log2": math.log2,
        "sqrt": math.sqrt, "gcd": math.gcd, "lcm": math.lcm, "divmod": divmod, "prod": math.prod,
    }  # fmt: skip
    numbers = [operators.plain(e.value) for e in given.positional]
    if name not in functions or any(not isinstance(n, (int, float, list, tuple)) for n in numbers):
        return None
    try:
        result = functions[name](*numbers)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        return None
    causes = [e.value for e in given.positional]
    if isinstance(result, tuple):
        return Sequence("tuple", [Element(_scalar(r, given, *causes), given.span) for r in result])
    return _scalar(result, given, *causes)


@models("list", "tuple", "set", "frozenset", "sorted", "reversed", "iter")
def _collect(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    shown = node.func if isinstance(node, cst.Call) else None
    name = shown.value if isinstance(shown, cst.Name) else "list"
    kind = {"tuple": "tuple", "set": "set", "frozenset": "set"}.get(name, "list")
    value = _first(given)
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
def _dict(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
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
def _defaultdict(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    result = Mapping({})
    result.default = _first(given)
    return result


@models("zip", "itertools.product", "itertools.zip_longest")
def _zip(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    lists = [operators.elements_of(e.value, given.span) for e in given.positional]
    if any(part is None or any(e.rest for e in part) for part in lists) or given.rest is not None:
        return None
    known = [part for part in lists if part is not None]
    shown = frame.tree.shown(node)
    if "product" in shown.partition("(")[0]:
        if math.prod(len(part) for part in known) > 1000 or "repeat" in given.keywords:
            return None
        import itertools

        rows = list(itertools.product(*known))
    elif "longest" in shown.partition("(")[0]:
        return None
    else:
        rows = list(zip(*known, strict=False))
    return Sequence("list", [Element(Sequence("tuple", list(row)), given.span) for row in rows])


@models("enumerate")
def _enumerate(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
    start = given.get("start", 1)
    first = operators.integer(start) if start is not None else 0
    listed = operators.elements_of(value, given.span) if value is not None else None
    if listed is None or first is None or any(e.rest for e in listed):
        return None
    origin = Origin(given.span)
    return Sequence(
        "list",
        [
            Element(Sequence("tuple", [Element(Scalar(first + i, origin), given.span), e]), given.span)
            for i, e in enumerate(listed)
        ],
    )


@models("any", "all")
def _any(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
    listed = operators.elements_of(value, given.span) if value is not None else None
    if listed is None:
        return None
    outcomes = [None if e.rest else truth(e.value) for e in listed]
    shown = node.func if isinstance(node, cst.Call) else None
    wanted = isinstance(shown, cst.Name) and shown.value == "any"
    if wanted in outcomes:
        return _scalar(wanted, given)
    return None if None in outcomes else _scalar(not wanted, given)


@models("map", "filter")
def _map(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    if len(given.positional) != 2:
        return None
    function, value = given.positional[0].value, given.positional[1].value
    shown = node.func if isinstance(node, cst.Call) else None
    filters = isinstance(shown, cst.Name) and shown.value == "filter"
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


@models("isinstance")
def _isinstance(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value, kinds = given.get("", 0), given.get("", 1)
    if value is None or kinds is None:
        return None
    listed = [e.value for e in kinds.elements] if isinstance(kinds, Sequence) else [kinds]
    outcomes = [_is_kind(value, kind) for kind in listed]
    if True in outcomes:
        return _scalar(True, given)
    return None if None in outcomes else _scalar(False, given)


def _is_kind(value: Value, kind: Value) -> bool | None:
    if isinstance(kind, Class):
        if isinstance(value, Instance) and value.cls is not None:
            return kind in value.cls.ancestry
        return None if isinstance(value, (Missing, Instance)) else False
    if not isinstance(kind, External) or isinstance(value, (Missing, External)):
        return None
    if isinstance(value, Instance):
        return None if value.cls is None or value.cls.open else False
    name = kind.name.rpartition(".")[2]
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


@models("getattr")
def _getattr(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
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
def _setattr(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    receiver, name, value = (given.get("", i) for i in range(3))
    key = key_of(name) if name is not None else None
    if receiver is not None and isinstance(key, str) and value is not None:
        attributes.set_attribute(receiver, key, value, given.span, frame)
    elif isinstance(receiver, Instance):
        calls.forget(receiver, Unknown("code", frame.tree.shown(node)))
    return _scalar(None, given)


@models("hasattr")
def _hasattr(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    receiver, name = given.get("", 0), given.get("", 1)
    key = key_of(name) if name is not None else None
    if isinstance(receiver, Instance) and isinstance(key, str):
        if key in receiver.attributes and not isinstance(receiver.attributes[key], Instance):
            return _scalar(True, given)
        if receiver.cls is None and receiver.rest is None and receiver.name == "Namespace":
            return _scalar(key in receiver.attributes, given)
        if receiver.cls is not None and receiver.rest is None:
            return _scalar(key in receiver.attributes or receiver.cls.find(key) is not None, given)
    return None


@models("vars", "dataclasses.asdict", "asdict")
def _vars(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
    if not isinstance(value, Instance):
        return None
    entries: dict[Hashable, tuple[Value, Value]] = {
        k: (String(Text.literal(k, given.span)), v) for k, v in value.attributes.items()
    }
    return Mapping(entries, value.rest)


@models("dataclasses.fields", "fields")
def _fields(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
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
def _replace(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
    if not isinstance(value, Instance):
        return None
    result = _copied(value, {}, True)
    assert isinstance(result, Instance)
    for key, element in given.keywords.items():
        result.attributes[key] = element.value
        result.spans[key] = element.span
    return result


@models("copy.copy", "copy.deepcopy", "deepcopy", "copy")
def _copy(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
    if isinstance(value, Environment):
        return attributes.copy_environment(given.span, frame)
    if value is None:
        return None
    copied = _copied(value, {}, False)
    if isinstance(copied, Instance) and copied.built and copied not in frame.path.built:
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
        made.built = value.built
        memory[id(value)] = made
        made.spans.update(value.spans)
        for key, item in value.attributes.items():
            made.attributes[key] = item if shallow else _copied(item, memory, shallow)
        return made
    return value


@models("functools.partial", "partial")
def _partial(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    if not given.positional:
        return None
    target = given.positional[0].value
    return Partial(target, given._replace(positional=given.positional[1:]))


@models("functools.reduce", "reduce")
def _fold(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
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
def _chain(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    parts = list(given.positional)
    if frame.tree.shown(node).partition("(")[0].endswith("from_iterable") and parts:
        parts = expressions.spread(parts[0].value, node, frame)
    return Sequence("list", [e for part in parts for e in expressions.spread(part.value, node, frame)])


@models("next")
def _next(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
    if isinstance(value, Sequence):
        if value.elements and not value.elements[0].rest:
            return value.elements[0].value
        if not value.elements:
            default = given.get("", 1)
            if default is None:
                raise RaisedError("StopIteration")
            return default
    return None


@models("type")
def _type(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
    return value.cls if isinstance(value, Instance) else None


@models("typing.cast", "cast")
def _cast(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    return given.get("val", 1)


@models("enum.auto", "auto")
def _auto(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    return Instance("enum.auto", None, given.span)


@models("types.SimpleNamespace", "SimpleNamespace", "argparse.Namespace", "Namespace")
def _namespace(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    result = Instance("Namespace", None, given.span, given.keyword_rest)
    for key, element in given.keywords.items():
        result.attributes[key] = element.value
        result.spans[key] = element.span
    return result


def _parser(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    result = Parser()
    parents = given.get("parents")
    if isinstance(parents, Sequence):
        for element in parents.elements:
            if isinstance(element.value, Parser):
                result.options.update(element.value.options)
            else:
                result.open = True
    return result


def _application(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    return Application()


def _typer_option(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    default = given.get("default", 0)
    if isinstance(default, String) and (default.text.value or "").startswith("-"):
        default = given.get("default")
    return default if default is not None else _scalar(..., given)


def _command(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    target = _first(given)
    empty = Arguments((), {}, None, None, given.span)
    if isinstance(target, Function):
        return options.run_command(target, empty, node, frame)
    if isinstance(target, Class):
        return options.command_instance(target, node, frame)
    if isinstance(target, (Bound, Application)):
        return calls.call(target, empty, node, frame)
    return None


@models("shlex.split", "split")
def _shlex_split(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = given.get("s", 0)
    if not isinstance(value, String):
        return None
    if isinstance(comments := given.get("comments", 1), Scalar) and comments.value:
        return None
    parts = texts.shell_words(value.text)
    if parts is None:
        raise RaisedError("ValueError")
    return Sequence("list", [_word(part, given) for part in parts])


def _word(part: Text, given: Arguments) -> Element:
    value: Value = String(part if part.pieces else Text.literal("", given.span))
    span = texts.extent(part, given.span)
    if texts.lone(part) and part.pieces[0].unknown is not None:
        missing = Missing(part.pieces[0].unknown, Origin(part.pieces[0].span))
        return Element(missing, span, True)
    return Element(value, span)


@models("shlex.quote", "pipes.quote", "quote")
def _quote(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = given.get("s", 0)
    text = text_of(value, given.span) if value is not None else None
    return String(texts.quote(text, given.span)) if text is not None else None


@models("shlex.join", "subprocess.list2cmdline")
def _shlex_join(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = given.get("split_command", 0)
    if not isinstance(value, Sequence):
        return None
    parts = [texts.quote(runs.word_text(e.value, e.span), e.span) for e in value.elements]
    return String(texts.join(Text.literal(" ", given.span), parts))


@models("textwrap.dedent", "dedent", "inspect.cleandoc")
def _dedent(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = given.get("text", 0)
    return String(texts.dedent(value.text)) if isinstance(value, String) else None


_UNKNOWN = object()


def jsonable(value: Value) -> Any:
    """The plain Python value, or `_UNKNOWN`."""
    return _jsonable(value) if weigh(value, HEAVIEST) <= HEAVIEST else _UNKNOWN


def _jsonable(value: Value) -> Any:
    if isinstance(value, Scalar):
        return value.value if isinstance(value.value, (bool, int, float, type(None))) else _UNKNOWN
    if isinstance(value, String):
        return value.text.value if value.text.known and not value.path else _UNKNOWN
    if isinstance(value, Sequence) and value.closed and value.kind != "set":
        items = [_jsonable(e.value) for e in value.elements]
        return _UNKNOWN if any(i is _UNKNOWN for i in items) else items
    if isinstance(value, Mapping) and value.rest is None:
        table = {}
        for key, (_, item) in value.entries.items():
            plain = _jsonable(item)
            if plain is _UNKNOWN or not isinstance(key, (str, int)):
                return _UNKNOWN
            table[key] = plain
        return table
    return _UNKNOWN


@models("json.dumps")
def _dumps(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = given.get("obj", 0)
    if value is None:
        return None
    plain = jsonable(value)
    settings: dict[str, Any] = {k: operators.plain(e.value) for k, e in given.keywords.items() if k != "obj"}
    if set(settings) - {"indent", "sort_keys", "ensure_ascii", "separators"}:
        return None
    if plain is _UNKNOWN:
        text = _json_text(value, given.span, 0) if not settings else None
        return String(text) if text is not None else None
    try:
        shown = json.dumps(plain, **settings)
    except (TypeError, ValueError, RecursionError):
        return None
    return String(Text([Piece(shown, given.span)])) if len(shown) < operators.LARGEST else None


def _json_text(value: Value, span: Span, depth: int) -> Text | None:
    """JSON with unknown parts; None where even its outline is not known."""
    if depth > 20:
        return None
    plain = jsonable(value)
    if plain is not _UNKNOWN:
        return Text.literal(json.dumps(plain), span)
    if isinstance(value, String):
        mark = Text.literal('"', span)
        known = [p.text for p in value.text.pieces if p.unknown is None]
        return mark.joined(value.text, mark) if not any(set(t) & set('"\\\n') for t in known) else None
    if isinstance(value, Missing):
        return runs.word_text(value, span)
    parts: list[Text] = []
    if isinstance(value, Mapping) and value.rest is None:
        for key, (_, item) in value.entries.items():
            inner = _json_text(item, span, depth + 1)
            if inner is None or not isinstance(key, str):
                return None
            parts.append(Text.literal(json.dumps(key) + ": ", span).joined(inner))
        ends = "{}"
    elif isinstance(value, Sequence) and value.closed and value.kind != "set":
        for element in value.elements:
            inner = _json_text(element.value, span, depth + 1)
            if inner is None:
                return None
            parts.append(inner)
        ends = "[]"
    else:
        return None
    joined = texts.join(Text.literal(", ", span), parts)
    return Text.literal(ends[0], span).joined(joined, Text.literal(ends[1], span))


@models("json.loads", "ast.literal_eval")
def _loads(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
    text = value.text.value if isinstance(value, String) else None
    if text is None or len(text) > 100_000:
        return None
    if not frame.tree.shown(node).startswith("json"):
        return None
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RaisedError("JSONDecodeError") from error
    return made(plain, Origin(texts.extent(value.text, given.span), (), assumptions_of(value)))  # type: ignore[union-attr, arg-type]


def made(plain: Any, origin: Origin, depth: int = 0) -> Value:
    """A value for a plain Python value."""
    if depth > 50:
        return Missing(Unknown("code", "..."), origin)
    if isinstance(plain, str):
        return String(Text([Piece(plain, origin.span, None, (), origin.assumptions)]))
    if isinstance(plain, list):
        return Sequence("list", [Element(made(p, origin, depth + 1), origin.span) for p in plain])
    if isinstance(plain, dict):
        return Mapping({k: (made(k, origin), made(v, origin, depth + 1)) for k, v in plain.items()})
    return Scalar(plain, origin)


@models("os.getenv", "os.environ.get", "getenv")
def _getenv(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    name, default = given.get("key", 0), given.get("default", 1)
    key = key_of(name) if name is not None else None
    if not isinstance(key, str):
        return None
    return frame.path.variable(key, default, given.span, frame.tree.shown(node))


@models("importlib.import_module", "__import__")
def _import_module(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    name = given.get("name", 0)
    known = name.text.value if isinstance(name, String) else None
    if known is None or known.startswith("."):
        return None
    return modules.bind(known, 0, None, given.span, frame)


@models("importlib.util.spec_from_file_location")
def _module_spec(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    name, place = given.get("name", 0), given.get("location", 1)
    name_text = name.text.value if isinstance(name, String) else None
    place_text = place.text.value if isinstance(place, String) else None
    if place_text is None:
        return None
    absolute_path = os.path.join(frame.path.context.files.directory, place_text)
    result = modules.opaque("ModuleSpec", Unknown("code", frame.tree.shown(node)), given.span)
    result.attributes["module"] = Module(name_text or place_text, absolute_path, given.span)
    return result


@models("importlib.util.module_from_spec")
def _module_of_spec(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    spec = given.get("spec", 0)
    return spec.attributes.get("module") if isinstance(spec, Instance) else None


@models("os.putenv")
def _putenv(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    name, value = given.get("key", 0), given.get("value", 1)
    if name is not None and value is not None:
        attributes.set_variable(name, value, given.span, frame)
    return _scalar(None, given)


@models("os.unsetenv")
def _unsetenv(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    key = key_of(given.positional[0].value) if given.positional else None
    if isinstance(key, str):
        frame.path.environment[key] = None
    return _scalar(None, given)


@models("os.chdir")
def _chdir(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
    frame.path.directory = text_of(value, given.span) if value is not None else None
    return _scalar(None, given)


@models("os.getcwd", "os.getcwdb", "pathlib.Path.cwd", "Path.cwd")
def _getcwd(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    path = "Path" in frame.tree.shown(node)
    if frame.path.directory is not None:
        return String(frame.path.directory, path)
    return String(Text.literal(frame.path.context.files.directory, given.span), path)


@models("os.path.join", "posixpath.join")
def _join(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    parts = [text_of(e.value, given.span) for e in given.positional]
    if given.rest is not None or any(part is None for part in parts):
        return None
    return String(operators.path_text([part for part in parts if part is not None], given.span))


@models("os.path.dirname", "os.path.basename", "os.path.splitext", "os.path.split")
def _split_path(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
    if not isinstance(value, String):
        return None
    shown = texts.mask(value.text)
    name = frame.tree.shown(node).partition("(")[0].rpartition(".")[2]
    at = len(os.path.splitext(shown)[0]) if name == "splitext" else shown.rfind("/") + 1
    head, tail = texts.cut(value.text, 0, at), texts.cut(value.text, at, len(shown))
    if name in ("dirname", "split") and texts.mask(head).strip("/"):
        head = texts.strip(head, "/", False, True)
    if name == "dirname":
        return String(head)
    if name == "basename":
        return String(tail)
    pair = [Element(String(head), given.span), Element(String(tail), given.span)]
    return Sequence("tuple", pair)


@models(
    "os.path.abspath",
    "os.path.realpath",
    "os.path.normpath",
    "os.path.expanduser",
    "os.fspath",
    "os.path.expandvars",
)
def _whole_path(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
    if not isinstance(value, String):
        return None
    name = frame.tree.shown(node).partition("(")[0].rpartition(".")[2]
    return absolute(value, name, given, frame)


def absolute(value: String, name: str, given: Arguments, frame: Frame) -> Value | None:
    """A path made absolute or normal; the text is kept where nothing changes."""
    shown = value.text.value
    if shown is None:
        return value if texts.mask(value.text).startswith("/") else None
    if name == "expanduser":
        return value if not shown.startswith("~") else None
    if name == "expandvars":
        return value if "$" not in shown else None
    if name == "fspath":
        return String(value.text)
    base = (
        frame.path.directory.value if frame.path.directory is not None else frame.path.context.files.directory
    )
    if name in ("abspath", "realpath", "resolve", "absolute"):
        if base is None:
            return None
        wanted = os.path.normpath(os.path.join(base, shown))
    else:
        wanted = os.path.normpath(shown)
    if wanted == shown:
        return value
    return String(
        Text([Piece(wanted, texts.extent(value.text, given.span), None, (), assumptions_of(value))]),
        value.path,
    )


def _path(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    parts = [text_of(e.value, given.span) for e in given.positional]
    if given.rest is not None or any(part is None for part in parts):
        return None
    if not parts:
        return String(Text.literal(".", given.span), True)
    joined = operators.path_text([part for part in parts if part is not None], given.span)
    return String(operators.normal_path(joined), True)


@models("os.path.isabs")
def _isabs(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = _first(given)
    if isinstance(value, String):
        shown = texts.mask(value.text)
        if shown.startswith("/") or value.text.known:
            return _scalar(shown.startswith("/"), given)
    return None


@models("os.path.exists", "os.path.isdir", "os.path.isfile", "os.path.islink", "shutil.which")
def _exists(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    return Missing(Unknown("file", frame.tree.shown(node)), Origin(given.span))


@models("typing.TypeVar", "TypeVar", "warnings.filterwarnings", "warnings.warn", "os.umask", "signal.signal")
def _ignored(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    return _scalar(None, given)


@models("open")
def _open(given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    return Instance(
        "file", None, given.span, Missing(Unknown("file", frame.tree.shown(node)), Origin(given.span))
    )


__all__ = ["call", "jsonable", "made", "models"]
