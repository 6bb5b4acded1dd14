"""Words that come out the same on several paths are expanded once.

In: a command or assignment, and the state it is about to be expanded in.  Out: what an earlier path made of it,
where all that it reads is the very same there.  What has effects of its own, or reads more than variables and
arguments, is never remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_

from preflight.shell.lookup import IS_SPECIAL
from preflight.shell.parts import Assignment, Literal, Open, Parameter, Placeholder, Simple, Token
from preflight.shell.state import State, Variable
from preflight.shell.syntax import Syntax
from preflight.values import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAXIMUM_ENTRIES = 8
"""Different states that are kept for one command."""

_HARMLESS = frozenset(("", "#", "##", "%", "%%", "/", "//", "/#", "/%", "^", "^^", ",", ",,"))


class Memory:
    """What was expanded before, by the statement it came from."""

    def __init__(self) -> None:
        self.names: dict[int, tuple[str, ...] | None] = {}
        self.entries: dict[int, list[tuple[tuple[Any, ...], Any]]] = {}
        self.nodes: list[object] = []
        self.options: dict[frozenset[str], frozenset[str]] = {}
        self.variables: dict[tuple[int, bool], Variable] = {}

    def reads(self, node: Simple | Assignment, syntax: Syntax) -> tuple[str, ...] | None:
        """The variables that the words of a node read, where that is all that they do."""
        key = id(node)
        if key not in self.names:
            self.names[key] = names_read(node, syntax)
            self.nodes.append(node)
        return self.names[key]

    def variable(self, value: Text, exported: bool, state: State) -> Variable:
        """The variable for a value: the same one on every path, so that paths are quickly found alike."""
        if not state.forks:
            return Variable(value, exported)
        key = (id(value), exported)
        found = self.variables.get(key)
        if found is None:
            found = self.variables[key] = Variable(value, exported)
        return found

    def recall(self, node: Simple | Assignment, syntax: Syntax, state: State, make: Callable[[], Any]) -> Any:
        """The result of `make` for this node, from memory where nothing that it reads has changed."""
        if not state.forks:
            return make()
        key = id(node)
        names = self.reads(node, syntax)
        if names is None:
            return make()
        variables = state.variables
        options = self.options.setdefault(state.options, state.options)
        read = [variables.get(name) for name in names]
        arguments = state.arguments if names and not names[0][0].isalpha() else None
        seen: tuple[Any, ...] = (arguments, state.directory, state.missing, options, *read)
        entries = self.entries.setdefault(key, [])
        for before, result in entries:
            if all(map(is_, before, seen)):
                return result
        if any(variable is not None and variable.reference for variable in read):
            return make()
        result = make()
        if len(entries) < MAXIMUM_ENTRIES:
            entries.append((seen, result))
        return result


def names_read(node: Simple | Assignment, syntax: Syntax) -> tuple[str, ...] | None:
    """The variables that the words of a node read, positional ones first; None where that is not all."""
    found: dict[str, None] = {"IFS": None, "HOME": None}
    tokens: list[Token] = []
    if isinstance(node, Simple):
        tokens = [argument for argument in node.arguments if isinstance(argument, Token)]
    elif node.elements is not None:
        for key, _, value in node.elements:
            tokens += [value] if key is None else [key, value]
    elif node.value is not None:
        tokens = [node.value]
    for token in tokens:
        for part in token.parts:
            if isinstance(part, (Literal, Open, Placeholder)):
                continue
            if not isinstance(part, Parameter) or not _is_harmless(part, syntax.source.data):
                return None
            found[part.name] = None
    return tuple(sorted(found))


def _is_harmless(part: Parameter, data: bytes) -> bool:
    if not part.operator and not part.prefix and part.subscript is None and part.name.isidentifier():
        return part.name not in IS_SPECIAL
    if part.prefix == "!" or part.operator not in _HARMLESS or part.name in IS_SPECIAL:
        return False
    if part.argument is not None and any(c in data[slice(*part.argument)] for c in b"$`"):
        return False
    if part.subscript is not None:
        raw = data[slice(*part.subscript)]
        if raw not in (b"@", b"*") and not raw.isdigit():
            return False
    return part.name.isidentifier() or part.name.isdigit() or part.name in ("@", "*", "#")
