"""The launcher's own command line: argparse, typer, click and their like.

In: declared options and the context's arguments.  Out: the values that the program gets.  An option that the
caller is not known to give has its default, under the assumption that the caller does not give it.  Where nothing is
started that way, what has no default is for the caller to give: each of its choices, or anything.
"""

from __future__ import annotations

from functools import partial

import libcst as cst

from preflight.execution import Condition
from preflight.python import calls, expressions, operators
from preflight.python.objects import (
    Application,
    Arguments,
    Class,
    Element,
    Function,
    Instance,
    Missing,
    Option,
    Origin,
    Parameter,
    Parser,
    Scalar,
    Sequence,
    String,
    Value,
    assume,
    describe,
)
from preflight.python.scope import Frame, RaisedError
from preflight.source import Span
from preflight.values import Assumption, Text, Unknown

MOST_CHOICES = 12
"""Choices of an option that are followed one by one."""

_SWITCHES = ("store_true", "store_false")


def given_options(span: Span, frame: Frame) -> tuple[dict[str, list[Value]], list[Value]]:
    """What the context's arguments say: values by option name without dashes, and the positional ones."""
    words = calls.command_line(span, frame)
    named: dict[str, list[Value]] = {}
    loose: list[Value] = []
    current: list[Value] | None = None
    if not isinstance(words, Sequence):
        return named, loose
    for element in words.elements[1:]:
        text = element.value.text.value if isinstance(element.value, String) else None
        if element.rest:
            continue
        if text is not None and text.startswith("--") and len(text) > 2:
            name, equals, rest = text[2:].partition("=")
            current = named.setdefault(name.replace("-", "_"), [])
            if equals:
                current.append(String(Text.literal(rest, span)))
                current = None
        elif current is not None and not (text or "").startswith("--"):
            current.append(element.value)
        else:
            loose.append(element.value)
    return named, loose


def _certain(frame: Frame) -> bool:
    """Whether the caller's arguments are all known."""
    return frame.path.context.closed_arguments or any(i > 0 for i in frame.path.context.arguments)


def defaulted(value: Value, name: str, span: Span, frame: Frame) -> Value:
    """A default, under the assumption that the caller leaves it."""
    if _certain(frame):
        return value
    shown = value.text.value if isinstance(value, String) else describe(value)
    return value if shown is None else assume(value, Assumption(name, shown, span))


def declare(parser: Parser, given: Arguments, frame: Frame) -> None:
    """`parser.add_argument(...)`."""
    flags: list[str] = []
    for element in given.positional:
        text = element.value.text.value if isinstance(element.value, String) else None
        if text is None:
            parser.open = True
            return
        flags.append(text)
    if not flags:
        return
    long = next((f for f in flags if f.startswith("--")), flags[0])
    destination = given.get("dest")
    known = destination.text.value if isinstance(destination, String) else None
    name = known or long.lstrip("-").replace("-", "_")
    action_value = given.get("action")
    action = action_value.text.value if isinstance(action_value, String) else None
    if action_value is not None and action is None:
        action = "switch" if "BooleanOptionalAction" in str(getattr(action_value, "name", "")) else "custom"
    default = given.get("default")
    if default is None and action in _SWITCHES:
        default = Scalar(action == "store_false", Origin(given.span))
    nargs = given.get("nargs")
    required = given.get("required")
    if default is None and not (isinstance(required, Scalar) and required.value) and flags[0].startswith("-"):
        default = Scalar(None, Origin(given.span))
    if default is None and isinstance(nargs, String) and nargs.text.value in ("?", "*"):
        default = Scalar(None, Origin(given.span)) if nargs.text.value == "?" else Sequence("list", [])
    many = nargs is not None and not (isinstance(nargs, String) and nargs.text.value == "?")
    parser.options[name] = Option(
        name,
        tuple(flags),
        default,
        given.get("type"),
        action or "store",
        many,
        given.span,
        given.get("choices"),
    )


def parse(parser: Parser, given: Arguments, node: cst.CSTNode, frame: Frame) -> Instance:
    """`parser.parse_args()`."""
    result = Instance("Namespace", None, given.span)
    listed = given.get("args", 0)
    own = listed is None or isinstance(listed, Scalar)
    named, loose = given_options(given.span, frame) if own else ({}, [])
    for name, option in parser.options.items():
        result.attributes[name] = _value(option, named, loose, own, node, frame)
        result.spans[name] = option.span
    for name, value in parser.defaults.items():
        if name not in named:
            result.attributes[name] = value
    result.rest = Missing(Unknown("positional", "parse_args()"), Origin(given.span)) if parser.open else None
    return result


def _value(
    option: Option,
    named: dict[str, list[Value]],
    loose: list[Value],
    own: bool,
    node: cst.CSTNode,
    frame: Frame,
) -> Value:
    long = next((f for f in option.flags if f.startswith("--")), option.flags[0])
    origin = Origin(option.span)
    positional = not option.flags[0].startswith("-")
    if not own:
        return Missing(Unknown("code", long), origin)
    found = next((named[k] for f in option.flags if (k := f.lstrip("-").replace("-", "_")) in named), None)
    if positional and loose:
        found = [loose.pop(0)] if not option.many else loose
    if found is not None:
        if option.action in _SWITCHES:
            return Scalar(option.action == "store_true", origin)
        converted = [convert(v, option.convert, node, frame) for v in found]
        if option.many:
            return Sequence("list", [Element(v, option.span) for v in converted])
        if converted:
            return converted[0]
        if option.action == "switch":
            return Scalar(True, origin)
    default = option.default
    if isinstance(default, Scalar) and default.value is None and not _certain(frame):
        frame.path.withheld = True
        default = None if frame.path.demanding else default
    if default is None:
        return _demand(option, long, frame)
    if isinstance(default, String):
        default = convert(default, option.convert, node, frame)
    return defaulted(default, long, option.span, frame)


def _demand(option: Option, long: str, frame: Frame) -> Value:
    """What the caller has to give: each of the choices on a path of its own, where they are few; else anything."""
    path = frame.path
    choices = _choices(option) if path.demanding else []
    chosen = (
        path.choose(len(choices), option.span, partial(_demanded, option, choices, long)) if choices else None
    )
    if chosen is None:
        return Missing(Unknown("positional", long), Origin(option.span))
    return choices[chosen]


def _demanded(option: Option, choices: list[Value], long: str, chosen: int) -> Condition:
    value = choices[chosen]
    shown = value.text.value if isinstance(value, String) else describe(value)
    return Condition(_place(value, option.span), f"{long} {shown}", True)


def _place(value: Value, fallback: Span) -> Span:
    """Where a choice is written."""
    if isinstance(value, String) and value.text.pieces:
        return value.text.pieces[0].span
    return value.origin.span if isinstance(value, Scalar) else fallback


def _choices(option: Option) -> list[Value]:
    """The values of an option, where all are known and few."""
    if option.choices is None or option.many:
        return []
    listed = operators.elements_of(option.choices, option.span) or []
    few = len(listed) <= MOST_CHOICES and not any(each.rest for each in listed)
    return [each.value for each in listed] if few else []


def convert(value: Value, kind: Value | None, node: cst.CSTNode, frame: Frame) -> Value:
    """Apply an option's `type`."""
    if kind is None:
        return value
    try:
        return calls.call(kind, calls.arguments([value], expressions.frame_span(node, frame)), node, frame)
    except RaisedError:
        return Missing(Unknown("positional", "type"), Origin(expressions.frame_span(node, frame)))


def run_application(app: Application, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    """`app()`: one of its commands."""
    commands = app.commands
    if not commands:
        return Scalar(None, Origin(given.span))
    chosen = 0
    if len(commands) > 1:
        named = given_options(given.span, frame)[1]
        first = named[0].text.value if named and isinstance(named[0], String) else None
        match = [
            i for i, c in enumerate(commands) if c.name.replace("_", "-") == (first or "").replace("_", "-")
        ]
        chosen = match[0] if match else frame.path.choose(len(commands), given.span) or 0
    return run_command(commands[chosen], given, node, frame)


def run_command(function: Function, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    """Call a function as its command line would."""
    keywords: dict[str, Element] = dict(given.keywords)
    named, loose = given_options(given.span, frame)
    signature = function.wrapped or function
    for parameter in signature.parameters:
        if parameter.name in keywords or parameter.kind in ("rest", "keywords"):
            continue
        value = _parameter(signature, parameter, named, loose, node, frame)
        if value is not None:
            keywords[parameter.name] = Element(value, parameter.span)
    return calls.call_function(function, given._replace(positional=(), keywords=keywords), node, frame)


def _parameter(
    function: Function,
    parameter: Parameter,
    named: dict[str, list[Value]],
    loose: list[Value],
    node: cst.CSTNode,
    frame: Frame,
) -> Value | None:
    flag = "--" + parameter.name.replace("_", "-")
    option = function.options.get(parameter.name)
    if option is not None:
        return _value(option, named, loose, True, node, frame)
    kind = annotation_of(parameter, function.frame)
    if parameter.name in named:
        found = named[parameter.name]
        if not found:
            return Scalar(True, Origin(parameter.span))
        return convert(found[0], kind if not isinstance(kind, Class) else None, node, frame)
    if parameter.default is not None and not _required(parameter.default):
        return defaulted(parameter.default, flag, parameter.span, frame)
    if isinstance(kind, Class) and kind.record:
        return command_instance(kind, node, frame)
    if loose:
        return convert(loose.pop(0), kind, node, frame)
    return Missing(Unknown("positional", flag), Origin(parameter.span))


def _required(value: Value) -> bool:
    return isinstance(value, Scalar) and value.value is ...


def annotation_of(parameter: Parameter, frame: Frame) -> Value | None:
    """What a parameter's annotation stands for, where it is a plain name."""
    node = parameter.annotation
    if node is None:
        return None
    if isinstance(node, cst.Subscript) and frame.tree.shown(node.value).endswith("Annotated"):
        inner = node.slice[0].slice
        node = inner.value if isinstance(inner, cst.Index) else node
    if isinstance(node, cst.SimpleString):
        node = cst.Name(node.raw_value) if node.raw_value.isidentifier() else node
    if not isinstance(node, (cst.Name, cst.Attribute)):
        return None
    return expressions.evaluate(node, frame)


def command_instance(cls: Class, node: cst.CSTNode, frame: Frame) -> Value:
    """An options object whose fields come from the command line."""
    span = expressions.frame_span(node, frame)
    named, _ = given_options(span, frame)
    keywords: dict[str, Element] = {}
    for name, field in calls.fields_of(cls).items():
        if not field.settable:
            continue
        if name in named:
            parameter = Parameter(name, "plain", None, field.annotation, field.span)
            kind = annotation_of(parameter, cls.frame or frame)
            found = named[name]
            value = convert(found[0], kind, node, frame) if found else Scalar(True, Origin(span))
            keywords[name] = Element(value, field.span)
        elif field.default is not None and not _required(field.default):
            flag = "--" + name.replace("_", "-")
            keywords[name] = Element(defaulted(field.default, flag, field.span, frame), field.span)
    return calls.instantiate(cls, Arguments((), keywords, None, None, span), node, frame)


def add_click_option(function: Function, kind: str, given: Arguments, frame: Frame) -> None:
    """`@click.option("--tp", default=8)`."""
    parser = Parser()
    flag = given.get("is_flag")
    if isinstance(flag, Scalar) and flag.value and "action" not in given.keywords:
        action = String(Text.literal("store_true", given.span))
        keywords = {k: v for k, v in given.keywords.items() if k != "type"}
        given = given._replace(keywords={**keywords, "action": Element(action, given.span)})
    names = [e for e in given.positional if isinstance(e.value, String) and e.value.text.value]
    bare = [e for e in names if not str(e.value.text.value).startswith("-")]  # type: ignore[attr-defined]
    flags = [e for e in names if e not in bare]
    if kind == "option" and bare:
        given = given._replace(keywords={**given.keywords, "dest": bare[0]})
    given = given._replace(positional=tuple(flags or bare))
    declare(parser, given, frame)
    for name, option in parser.options.items():
        function.options[name.lower()] = option
