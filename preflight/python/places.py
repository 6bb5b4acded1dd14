"""Where the nodes of a LibCST tree stand.

In: a parsed module.  Out: for each node, by its identity, the bytes where it begins and ends.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import libcst as cst
from libcst._nodes.internal import CodegenState


class _Places(CodegenState):
    """Writes the module out as LibCST does, and notes in bytes where each node begins and ends.

    The same as LibCST's own provider of byte spans, which first visits and checks the whole tree, at several
    times the cost.
    """

    def __init__(self, module: cst.Module, plain: bool, start: int) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.plain = plain
        self.position = start
        self.found: dict[int, tuple[int, int]] = {}
        self.starts: list[int] = []

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.position += len(token) if self.plain else len(token.encode("utf-8"))

    def add_token(self, value: str) -> None:
        self.position += len(value) if self.plain else len(value.encode("utf-8"))

    def before_codegen(self, node: cst.CSTNode) -> None:
        self.starts.append(self.position)

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self.starts.pop()
        self.found.setdefault(id(node), (start, self.position))

    def record_syntactic_position(  # type: ignore[override]
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> AbstractContextManager[None]:
        return _Mark(self, node, start_node, end_node)


class _Mark(AbstractContextManager[None]):
    """The stretch between entering and leaving, or from one inner node to another."""

    __slots__ = ("first", "last", "node", "places", "start")

    def __init__(
        self, places: _Places, node: cst.CSTNode, first: cst.CSTNode | None, last: cst.CSTNode | None
    ) -> None:
        self.places, self.node, self.first, self.last = places, node, first, last
        self.start = places.position

    def __exit__(self, *_: object) -> None:
        found = self.places.found
        start = found[id(self.first)][0] if self.first is not None else self.start
        end = found[id(self.last)][1] if self.last is not None else self.places.position
        found[id(self.node)] = (start, end)


def locate(module: cst.Module, plain: bool, start: int) -> dict[int, tuple[int, int]]:
    """The places of a module's nodes. `plain`: all of it is ASCII; `start`: where the module itself begins."""
    with deep_recursion():
        places = _Places(module, plain, start)
        try:
            module._codegen(places)
        except (RecursionError, KeyError):
            return {}
        return places.found


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Let the walks over long implicit concatenations, which nest to the right, go to their end."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 12_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
