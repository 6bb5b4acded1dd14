"""Definitions of functions and classes, patterns and handlers: what a name stands for once it is defined.

In: LibCST definitions.  Out: `Function` and `Class` values.  Decorators that are not known are taken to leave
the function as it is.
"""

from __future__ import annotations

import libcst as cst

from preflight.python import calls, expressions, modules, operators, options, statements
from preflight.python.objects import (
    Application,
    Bound,
    Class,
    Deferred,
    External,
    Field,
    Function,
    Imported,
    Instance,
    Origin,
    Parameter,
    Scalar,
    Sequence,
    String,
    Value,
    settled,
)
from preflight.python.scope import Frame, RaisedError
from preflight.source import Span
from preflight.values import Text

_LOOKUPS = {
    "KeyError": ("LookupError",),
    "IndexError": ("LookupError",),
    "JSONDecodeError": ("ValueError",),
    "FileNotFoundError": ("OSError", "IOError"),
    "ModuleNotFoundError": ("ImportError",),
    "NotImplementedError": ("RuntimeError",),
    "ZeroDivisionError": ("ArithmeticError",),
    "UnicodeDecodeError": ("ValueError",),
}


def parameters_of(node: cst.Parameters, frame: Frame) -> list[Parameter]:
    """The parameters of a function, their defaults evaluated where it is defined."""
    found: list[Parameter] = []

    def add(parameter: cst.Param, kind: str) -> None:
        default = expressions.evaluate(parameter.default, frame) if parameter.default is not None else None
        annotation = parameter.annotation.annotation if parameter.annotation is not None else None
        span: Span = frame.tree.span(parameter)
        found.append(Parameter(parameter.name.value, kind, default, annotation, span))

    for parameter in (*node.posonly_params, *node.params):
        add(parameter, "plain")
    if isinstance(node.star_arg, cst.Param):
        add(node.star_arg, "rest")
    for parameter in node.kwonly_params:
        add(parameter, "keyword")
    if node.star_kwarg is not None:
        add(node.star_kwarg, "keywords")
    return found


def define_function(node: cst.FunctionDef, frame: Frame) -> Value:
    """The function that a `def` makes, decorated."""
    parameters = parameters_of(node.params, frame)
    function = Function(node.name.value, node, parameters, frame)
    result: Value = function
    for decorator in reversed(node.decorators):
        result = _decorate(decorator.decorator, result, function, frame)
    return result


def _decorate(node: cst.BaseExpression, value: Value, function: Function, frame: Frame) -> Value:
    if isinstance(node, cst.Attribute) and node.attr.value in ("setter", "getter", "deleter"):
        before = frame.names.get(function.name)
        frame.names[f"{function.name}.{node.attr.value}"] = function
        return before if before is not None else function
    callee = node.func if isinstance(node, cst.Call) else node
    maker = expressions.evaluate(callee, frame)
    if isinstance(maker, Bound) and isinstance(maker.receiver, Application):
        if maker.name in ("command", "callback", "default") and maker.name == "command":
            maker.receiver.commands.append(function)
        function.role = function.role or "command"
        return value
    if isinstance(maker, External):
        return _known_decorator(maker.name, node, value, function, frame)
    if isinstance(maker, Function) and _reflects(maker):
        function.role = function.role or "command"
        return value
    if isinstance(maker, (Function, Bound, Class)):
        given = expressions.arguments_of(node, frame) if isinstance(node, cst.Call) else None
        wrapper: Value = maker if given is None else calls.call(maker, given, node, frame)
        result = calls.call(wrapper, calls.arguments([value], frame.tree.span(node)), node, frame)
        if isinstance(result, Function) and result is not function and isinstance(value, Function):
            result.wrapped = value.wrapped or value
        return (
            result if isinstance(result, (Function, Bound, Class, Instance)) and _callable(result) else value
        )
    return value


def _reflects(maker: Function) -> bool:
    """Whether a decorator looks at signatures: then it offers the function to a command line as it is."""
    tree = maker.frame.tree
    if "reflects" not in tree.read_off:
        tree.read_off["reflects"] = b"inspect.signature" in tree.source.data
    return tree.read_off["reflects"] is True


def _callable(value: Value) -> bool:
    return not isinstance(value, Instance) or (
        value.cls is not None and value.cls.find("__call__") is not None
    )


def _known_decorator(
    name: str, node: cst.BaseExpression, value: Value, function: Function, frame: Frame
) -> Value:
    short = name.rpartition(".")[2]
    if short in ("property", "cached_property"):
        function.role = "property"
    elif short == "staticmethod":
        function.role = "static"
    elif short == "classmethod":
        function.role = "class"
    elif short in ("option", "argument") and isinstance(node, cst.Call):
        options.add_click_option(function, short, expressions.arguments_of(node, frame), frame)
    elif short == "command":
        function.role = "command"
    elif short == "group":
        return Application()
    elif short == "parametrize" and isinstance(node, cst.Call):
        function.cases.append((node, frame))
    return value


def cases_of(node: cst.Call, frame: Frame) -> tuple[list[str], Sequence] | None:
    """The names and rows of one of pytest's tables of parameters."""
    given = expressions.arguments_of(node, frame)
    names, rows = given.get("argnames", 0), given.get("argvalues", 1)
    if isinstance(names, String) and names.text.value is not None:
        listed = [n.strip() for n in names.text.value.split(",")]
    elif isinstance(names, Sequence):
        listed = [n for e in names.elements if isinstance(n := operators.plain(e.value), str)]
    else:
        return None
    return (listed, rows) if isinstance(rows, Sequence) and rows.closed else None


def define_class(node: cst.ClassDef, frame: Frame) -> Value:
    """The class that a `class` statement makes."""
    bases = [_base(argument.value, frame) for argument in node.bases if argument.star == ""]
    inner = Frame("class", frame.tree, frame.path, frame)
    cls = Class(node.name.value, bases, inner.names, node)
    inner.cls = cls
    cls.frame = inner
    cls.load = lambda value: modules.load(value, frame)
    cls.enumeration = any(
        (isinstance(b, (External, Imported)) and b.name.endswith(("Enum", "Flag")))
        or (isinstance(b, Class) and b.enumeration)
        for b in bases
    )
    statements.run_suite(node.body, inner)
    if cls.enumeration:
        _enumerate(cls, frame)
    for decorator in node.decorators:
        callee = decorator.decorator
        maker = expressions.evaluate(callee.func if isinstance(callee, cst.Call) else callee, frame)
        shown = maker.name if isinstance(maker, External) else frame.tree.shown(callee)
        if "dataclass" in shown or shown.startswith(("attr.", "attrs.", "attr(")) or shown.endswith("define"):
            cls.data = True
    return cls


def _base(node: cst.BaseExpression, frame: Frame) -> Value:
    """A base class; one that is imported is not loaded yet."""
    if isinstance(node, cst.Name):
        holder = frame.find(node.value)
        found = settled(holder.names[node.value]) if holder is not None else None
        if isinstance(found, Imported):
            return found
    return expressions.evaluate(node, frame)


def _enumerate(cls: Class, frame: Frame) -> None:
    count = 0
    for name, value in list(cls.namespace.items()):
        if name.startswith("_") or isinstance(value, (Deferred, Function, Class)):
            continue
        count += 1
        span = frame.tree.span(cls.node)
        if isinstance(value, Instance) and value.name == "enum.auto":
            value = Scalar(count, Origin(span))
        member = Instance(cls.name, cls, span)
        member.attributes = {"value": value, "name": String(Text.literal(name, span))}
        cls.namespace[name] = member


def add_field(cls: Class, node: cst.AnnAssign, frame: Frame) -> None:
    """An annotated name in a class body."""
    assert isinstance(node.target, cst.Name)
    name, annotation = node.target.value, node.annotation.annotation
    span = frame.tree.span(node)
    constant = "ClassVar" in frame.tree.shown(annotation)
    default: Value | None = None
    factory: Value | None = None
    settable = True
    if node.value is not None:
        made = node.value
        callee = expressions.evaluate(made.func, frame) if isinstance(made, cst.Call) else None
        if isinstance(made, cst.Call) and isinstance(callee, External) and _is_field(callee.name):
            given = expressions.arguments_of(made, frame)
            default = given.get("default") or (
                given.get("default", 0) if callee.name.endswith("Field") else None
            )
            factory = given.get("default_factory") or given.get("factory")
            flag = given.get("init")
            settable = not (isinstance(flag, Scalar) and flag.value is False)
            if isinstance(default, Scalar) and default.value is ...:
                default = None
        else:
            default = expressions.evaluate(node.value, frame)
    if default is not None:
        cls.namespace[name] = default
    if not constant:
        cls.fields[name] = Field(name, default, factory, annotation, span, settable)


def _is_field(name: str) -> bool:
    return name.rpartition(".")[2] in ("field", "Field", "ib", "attrib")


def catches(handler: cst.ExceptHandler | cst.ExceptStarHandler, name: str, frame: Frame) -> bool:
    """Whether an `except` clause catches an exception of a builtin name."""
    if handler.type is None:
        return True
    kinds = (
        [e.value for e in handler.type.elements] if isinstance(handler.type, cst.Tuple) else [handler.type]
    )
    names = {frame.tree.shown(kind).rpartition(".")[2] for kind in kinds}
    return bool(names & {"Exception", "BaseException", name, *_LOOKUPS.get(name, ())})


def literal(pattern: cst.MatchPattern, frame: Frame) -> Value | None:
    """The value that a pattern stands for, where it is one."""
    if isinstance(pattern, (cst.MatchValue, cst.MatchSingleton)):
        return expressions.evaluate(pattern.value, frame)
    return None


def matches(pattern: cst.MatchPattern, subject: Value, frame: Frame) -> bool | None:
    """Whether a value fits a pattern; names in it are bound where it does."""
    if isinstance(pattern, (cst.MatchValue, cst.MatchSingleton)):
        return operators.equal(subject, expressions.evaluate(pattern.value, frame))
    if isinstance(pattern, cst.MatchOr):
        outcomes = [matches(element.pattern, subject, frame) for element in pattern.patterns]
        return True if True in outcomes else None if None in outcomes else False
    if isinstance(pattern, cst.MatchAs):
        fits = True if pattern.pattern is None else matches(pattern.pattern, subject, frame)
        if fits is not False and pattern.name is not None:
            frame.assign(pattern.name.value, subject)
        return fits
    if isinstance(pattern, (cst.MatchTuple, cst.MatchList)):
        return _matches_each(pattern, subject, frame)
    return None


def _matches_each(pattern: cst.MatchTuple | cst.MatchList, subject: Value, frame: Frame) -> bool | None:
    if isinstance(subject, (String, Scalar)):
        return False
    if not isinstance(subject, Sequence) or not subject.closed:
        return None
    if any(isinstance(p, cst.MatchStar) for p in pattern.patterns):
        return None
    if len(pattern.patterns) != len(subject.elements):
        return False
    outcomes: list[bool | None] = []
    for inner, element in zip(pattern.patterns, subject.elements, strict=True):
        if isinstance(inner, cst.MatchSequenceElement):
            outcomes.append(matches(inner.value, element.value, frame))
    return False if False in outcomes else None if None in outcomes else True


__all__ = ["RaisedError", "add_field", "catches", "define_class", "define_function", "literal", "matches"]
