"""What a stretch of code may change, read off its syntax.

In: statements.  Out: whether they do anything that a launch could depend on, whether they end the program, and,
for code that runs an unknown number of times or not at all, the names and objects to be forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from preflight.python import expressions
from preflight.python.objects import (
    Element,
    Environment,
    Instance,
    Mapping,
    Missing,
    Origin,
    Sequence,
    Value,
    key_of,
)
from preflight.python.scope import Frame, RaisedError
from preflight.source import Span
from preflight.values import Text, Unknown

_SPEAKING = frozenset(
    [
        "print",
        "info",
        "debug",
        "warning",
        "warn",
        "error",
        "critical",
        "exception",
        "log",
        "echo",
        "secho",
        "write",
        "flush",
        "rule",
        "print_exc",
        "sleep",
        "makedirs",
        "mkdir",
        "print_help",
        "print_rank_0",
        "log_rank_0",
        "barrier",
        "skip",
        "fail",
    ]
)
_ENDING = frozenset({"exit", "_exit", "quit", "abort", "error", "skip", "fail"})


def _called(node: cst.BaseExpression) -> str:
    """The last name of what is called."""
    if isinstance(node, cst.Call):
        if isinstance(node.func, cst.Attribute):
            return node.func.attr.value
        return node.func.value if isinstance(node.func, cst.Name) else ""
    return ""


def acts(suite: cst.CSTNode) -> bool:
    """Whether code does more than speak, check and end."""
    return any(_acts(statement) for statement in _statements(suite))


def _statements(suite: cst.CSTNode) -> Iterator[cst.CSTNode]:
    if isinstance(suite, (cst.IndentedBlock, cst.SimpleStatementSuite, cst.SimpleStatementLine)):
        for statement in suite.body:
            if isinstance(statement, cst.SimpleStatementLine):
                yield from statement.body
            else:
                yield statement
    elif isinstance(suite, cst.Else):
        yield from _statements(suite.body)
    else:
        yield suite


def _acts(node: cst.CSTNode) -> bool:
    if isinstance(node, (cst.Pass, cst.Raise, cst.Assert, cst.Import, cst.ImportFrom)):
        return False
    if isinstance(node, cst.Expr):
        if isinstance(node.value, (cst.SimpleString, cst.ConcatenatedString, cst.Ellipsis)):
            return False
        name = _called(node.value)
        return not (name in _SPEAKING or name in _ENDING) or _nested_calls(node.value)
    if isinstance(node, cst.If):
        return acts(node.body) or (node.orelse is not None and acts(node.orelse))
    return True


def _nested_calls(node: cst.BaseExpression) -> bool:
    """Whether arguments of a call hold calls of plain names: `sys.exit(main())`."""
    if not isinstance(node, cst.Call):
        return False
    return any(
        isinstance(a.value, cst.Call)
        and isinstance(a.value.func, cst.Name)
        and a.value.func.value not in _PURE
        for a in node.args
    )


_PURE = frozenset({"str", "int", "repr", "len", "type", "list", "dict", "sorted"})


def aborts(suite: cst.CSTNode) -> bool:
    """Whether code ends with an error or the end of the program."""
    last: cst.CSTNode | None = None
    for statement in _statements(suite):
        last = statement
    if isinstance(last, cst.Raise):
        return True
    return isinstance(last, cst.Expr) and _called(last.value) in _ENDING


class _Yields(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found = False
        self.depth = 0

    def visit_Yield(self, node: cst.Yield) -> None:
        self.found = True

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self.depth += 1
        return self.depth == 1

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False


_GENERATORS: dict[int, tuple[cst.CSTNode, bool]] = {}


def yields(node: cst.CSTNode) -> bool:
    """Whether a function is a generator."""
    if not isinstance(node, cst.FunctionDef):
        return False
    known = _GENERATORS.get(id(node))
    if known is None or known[0] is not node:
        if len(_GENERATORS) > 5000:
            _GENERATORS.clear()
        visitor = _Yields()
        node.visit(visitor)
        known = _GENERATORS[id(node)] = (node, visitor.found)
    return known[1]


class _Changes(cst.CSTVisitor):
    """Targets of assignments, and the roots of what methods and calls may change."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.objects: list[cst.BaseExpression] = []
        self.fields: list[tuple[cst.BaseExpression, str]] = []
        self.items: list[cst.Subscript] = []

    def _target(self, node: cst.BaseExpression) -> None:
        if isinstance(node, cst.Name):
            self.names[node.value] = None
        elif isinstance(node, cst.Attribute):
            self.fields.append((node.value, node.attr.value))
        elif isinstance(node, cst.Subscript):
            self.items.append(node)
        elif isinstance(node, (cst.Tuple, cst.List)):
            for element in node.elements:
                self._target(element.value)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._target(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._target(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._target(node.target)
        self.objects.append(node.target)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self._target(node.target)

    def visit_For(self, node: cst.For) -> None:
        self._target(node.target)

    def visit_AsName(self, node: cst.AsName) -> None:
        if isinstance(node.name, (cst.Name, cst.Tuple, cst.List)):
            self._target(node.name)

    def visit_Del(self, node: cst.Del) -> None:
        self._target(node.target)

    def visit_Call(self, node: cst.Call) -> None:
        name = _called(node)
        if name in _SPEAKING or name in _PURE or name in _READING:
            return
        if isinstance(node.func, cst.Attribute):
            self.objects.append(node.func.value)
        for argument in node.args:
            if isinstance(argument.value, (cst.Name, cst.Attribute)):
                self.objects.append(argument.value)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self.names[node.name.value] = None
        return False

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False


_READING = frozenset(
    [
        "get",
        "items",
        "keys",
        "values",
        "split",
        "strip",
        "join",
        "format",
        "replace",
        "startswith",
        "endswith",
        "lower",
        "upper",
        "getenv",
        "exists",
        "float",
        "bool",
        "range",
        "enumerate",
        "zip",
        "min",
        "max",
        "sum",
        "any",
        "all",
        "Path",
        "isinstance",
        "hasattr",
        "call",
        "check_call",
        "check_output",
        "Popen",
    ]
)


def forget(suites: Iterable[cst.CSTNode], frame: Frame) -> None:
    """Forget what the code may change."""
    changes = _Changes()
    span = Span(frame.tree.source, 0, 0)
    for suite in suites:
        span = frame.tree.span(suite)
        suite.visit(changes)
    for node in changes.objects:
        value = _peek(node, frame)
        if value is not None:
            _loosen(value, frame.tree.shown(node), span)
    for node, name in changes.fields:
        value = _peek(node, frame)
        if isinstance(value, Instance):
            value.attributes[name] = Missing(
                Unknown("branches", f"{frame.tree.shown(node)}.{name}"), Origin(span)
            )
    for item in changes.items:
        value = _peek(item.value, frame)
        if isinstance(value, Environment):
            _forget_variable(item, frame, span)
        elif value is not None:
            _loosen(value, frame.tree.shown(item.value), span, True)
    for name in changes.names:
        holder = frame.find(name)
        if holder is not None and isinstance(holder.names[name], (Sequence, Mapping)):
            _loosen(holder.names[name], name, span)
        missing = Missing(Unknown("branches", name), Origin(span))
        frame.assign(name, missing)


def _peek(node: cst.BaseExpression, frame: Frame) -> Value | None:
    """The object that a plain name or attribute stands for, without any effect."""
    while isinstance(node, (cst.Subscript, cst.Call)):
        node = node.value if isinstance(node, cst.Subscript) else node.func
    if isinstance(node, cst.Name):
        holder = frame.find(node.value)
        return holder.names[node.value] if holder is not None else None
    if isinstance(node, cst.Attribute):
        receiver = _peek(node.value, frame)
        if isinstance(receiver, Instance):
            return receiver.attributes.get(node.attr.value)
        if frame.tree.shown(node) == "os.environ":
            return Environment()
    return None


def _loosen(value: Value, shown: str, span: Span, items: bool = False) -> None:
    missing = Missing(Unknown("branches", shown), Origin(span))
    if isinstance(value, Sequence):
        if items:
            value.elements[:] = [Element(missing, e.span, e.rest) for e in value.elements]
        if not value.elements or not value.elements[-1].rest:
            value.elements.append(Element(missing, span, True))
    elif isinstance(value, Mapping):
        for key, (name, _) in list(value.entries.items()):
            value.entries[key] = (name, missing)
        value.rest = missing
    elif isinstance(value, Instance):
        for key, attribute in list(value.attributes.items()):
            if not isinstance(attribute, (Instance, Sequence, Mapping)):
                value.attributes[key] = missing
            elif isinstance(attribute, (Sequence, Mapping)):
                _loosen(attribute, f"{shown}.{key}", span)


def _forget_variable(item: cst.Subscript, frame: Frame, span: Span) -> None:
    if len(item.slice) == 1 and isinstance(item.slice[0].slice, cst.Index):
        try:
            name = expressions.evaluate(item.slice[0].slice.value, frame)
        except RaisedError:
            return
        key = key_of(name)
        if isinstance(key, str):
            frame.path.environment[key] = Text.missing(Unknown("branches", f"${key}"), span)
