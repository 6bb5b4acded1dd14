"""What a stretch of code may change, read off its syntax.

In: statements.  Out: whether they do anything that a launch could depend on, whether they end the program, and,
for code that runs an unknown number of times or not at all, the names and objects to be forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Sequence as Listing
from typing import NamedTuple

import libcst as cst

from preflight.python import expressions, outline
from preflight.python.objects import (
    Element,
    Environment,
    Instance,
    Mapping,
    Missing,
    Origin,
    Sequence,
    String,
    Value,
    key_of,
    missing_text,
)
from preflight.python.scope import Frame, RaisedError
from preflight.python.syntax import Tree
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
_ENDING = frozenset({"exit", "_exit", "quit", "abort", "error", "skip", "fail", "skipTest"})


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


def yields(node: cst.CSTNode, tree: Tree) -> bool:
    """Whether a function is a generator."""
    if not isinstance(node, cst.FunctionDef):
        return False
    key = ("yields", id(node))
    known = tree.read_off.get(key)
    if known is None:
        inside = tree.inside(node)
        text = inside.text if inside is not None else tree.span(node).text
        yielding = "yield" in text and any(type(inner) is cst.Yield for inner in _walk(tree.body(node)))
        known = tree.read_off[key] = yielding
    return known is True


def leaves(suites: Listing[cst.CSTNode], tree: Tree) -> bool:
    """Whether code may go on elsewhere: after a loop, or where the function was called."""
    key = ("leaves", *map(id, suites))
    known = tree.read_off.get(key)
    if known is None:
        known = tree.read_off[key] = any(map(_leaves, suites))
    return known is True


def _leaves(suite: cst.CSTNode) -> bool:
    stack = [suite]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is cst.Return or kind is cst.Break:
            return True
        if kind in outline.COMPOUND or kind is cst.SimpleStatementLine:
            stack += outline.children_of(node)
    return False


def _walk(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes below a node that hold others, without the insides of functions and lambdas in it."""
    found: list[cst.CSTNode] = []
    stack = [node]
    while stack:
        current = stack.pop()
        found.append(current)
        if type(current) not in _CLOSED:
            stack += [child for child in reversed(outline.children_of(current)) if type(child) not in _BARE]
    return found


_CLOSED = frozenset({cst.FunctionDef, cst.Lambda})
_BARE = frozenset({cst.Name, cst.SimpleString, cst.Integer, cst.Float, cst.FormattedStringText})


class _Changes:
    """Targets of assignments, and the roots of what methods and calls may change."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.grown: dict[str, None] = {}
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

    def read(self, node: cst.CSTNode) -> None:
        """Note what one node changes."""
        if type(node) not in _CHANGING:
            return
        if isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.NamedExpr, cst.For, cst.Del)):
            self._target(node.target)
        elif isinstance(node, cst.AugAssign):
            if isinstance(node.target, cst.Name):
                self.grown[node.target.value] = None
            else:
                self._target(node.target)
            self.objects.append(node.target)
        elif isinstance(node, cst.AsName) and isinstance(node.name, (cst.Name, cst.Tuple, cst.List)):
            self._target(node.name)
        elif isinstance(node, cst.FunctionDef):
            self.names[node.name.value] = None
        elif isinstance(node, cst.Call):
            self._call(node)

    def _call(self, node: cst.Call) -> None:
        name = _called(node)
        if name in _SPEAKING or name in _PURE or name in _READING:
            return
        if isinstance(node.func, cst.Attribute):
            self.objects.append(node.func.value)
        for argument in node.args:
            if isinstance(argument.value, (cst.Name, cst.Attribute)):
                self.objects.append(argument.value)


_CHANGING = frozenset(
    {cst.AssignTarget, cst.AnnAssign, cst.NamedExpr, cst.For, cst.Del, cst.AugAssign, cst.AsName}
    | {cst.FunctionDef, cst.Call}
)
_READING = frozenset(
    re.findall(
        r"\w+",
        "get items keys values split strip join format replace startswith endswith lower upper getenv exists float"
        " bool range enumerate zip min max sum any all Path isinstance hasattr call check_call check_output Popen",
    )
)


def _changes_of(suites: Listing[cst.CSTNode], tree: Tree) -> _Changes:
    """What code changes, read once for all paths."""
    key = tuple(map(id, suites))
    changes = tree.read_off.get(key)
    if not isinstance(changes, _Changes):
        changes = tree.read_off[key] = _Changes()
        for suite in suites:
            for node in _walk(suite):
                changes.read(node)
    return changes


class Kept(NamedTuple):
    """Lists and texts as they are after forgetting: what one round of a loop adds to them is not kept."""

    lists: list[tuple[Sequence, int]]
    texts: dict[str, Value]

    def restore(self, frame: Frame) -> None:
        for sequence, length in self.lists:
            del sequence.elements[length:]
        for name, value in self.texts.items():
            frame.assign(name, value)


def forget(suites: Listing[cst.CSTNode], frame: Frame) -> Kept:
    """Forget what the code may change."""
    kept = Kept([], {})
    changes = _changes_of(suites, frame.tree)
    span = frame.tree.span(suites[-1])
    for receiver in changes.objects:
        value = _peek(receiver, frame)
        if value is not None:
            _loosen(value, frame.tree.shown(receiver), span)
        if isinstance(value, Sequence):
            kept.lists.append((value, len(value.elements)))
    for receiver, name in changes.fields:
        value = _peek(receiver, frame)
        if isinstance(value, Instance):
            shown = f"{frame.tree.shown(receiver)}.{name}"
            value.attributes[name] = Missing(Unknown("branches", shown), Origin(span))
    for item in changes.items:
        value = _peek(item.value, frame)
        if isinstance(value, Environment):
            _forget_variable(item, frame, span)
        elif value is not None:
            _loosen(value, frame.tree.shown(item.value), span, True)
    for name in [n for n in changes.grown if n not in changes.names]:
        kept.texts[name] = _grow(name, frame, span)
    for name in changes.names:
        holder = frame.find(name)
        if holder is not None and isinstance(holder.names[name], (Sequence, Mapping)):
            _loosen(holder.names[name], name, span)
        missing = Missing(Unknown("branches", name), Origin(span))
        frame.assign(name, missing)
    return kept


def _grow(name: str, frame: Frame, span: Span) -> Value:
    """After `name += ...` any number of times: a list or text goes on, anything else is unknown."""
    holder = frame.find(name)
    value = holder.names[name] if holder is not None else None
    missing = Missing(Unknown("branches", name), Origin(span))
    if isinstance(value, String):
        value = String(value.text.joined(missing_text(missing)))
    elif not isinstance(value, (Sequence, Mapping)):
        value = missing
    frame.assign(name, value)
    return value


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
