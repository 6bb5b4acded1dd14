"""What `expression` makes of an expression, and what is wrong with one.

In: nothing.  Out: the type of a tree, the names that it looks up, and the error of reading one.  It stands apart
so that a check whose rules are compiled already never imports the reader.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias


Tree: TypeAlias = "tuple[Any, ...]"


class ExpressionError(Exception):
    """Why an expression cannot be used, and the column (from 0) at which that shows."""

    def __init__(self, message: str, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


def list_names(tree: Tree) -> list[str]:
    """The names that a tree looks up, in order of appearance, without those bound inside it."""
    found: dict[str, None] = {}

    def walk(node: Any, bound: frozenset[str]) -> None:
        if not isinstance(node, tuple) or not node:
            return
        if node[0] == "name":
            if node[1] not in bound:
                found[node[1]] = None
        elif node[0] == "each":
            walk(node[4], bound)
            walk(node[2], bound | {node[3]})
            walk(node[5], bound | {node[3]})
        elif node[0] != "constant":
            for part in node[1:] if isinstance(node[0], str) else node:
                walk(part, bound)

    walk(tree, frozenset())
    return list(found)
