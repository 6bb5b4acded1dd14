"""Where comments for preflight stand, and which node each speaks of.

In: a source in bash (its syntax tree) or Python.  Out: `Place`s for `suppress`.  A comment behind the last line of a
simple statement speaks of that statement, one behind array elements of those that end on its line; one on its own line
speaks of what begins on the next.  Compound statements are never meant: there are no ranges.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from preflight.source import Source
from preflight.suppress import MARK, Place

if TYPE_CHECKING:
    import ast

    from tree_sitter import Node

SIMPLE = frozenset(
    {
        "command",
        "declaration_command",
        "list",
        "negated_command",
        "pipeline",
        "redirected_statement",
        "unset_command",
        "variable_assignment",
        "variable_assignments",
        "test_command",
    }
)
"""Statements that a comment may speak of, by the names of the bash grammar."""


def find_in_shell(source: Source, root: Node) -> Iterator[Place]:
    """The comments of a bash source that name preflight."""
    at = source.data.find(MARK)
    while at >= 0:
        node = root.descendant_for_byte_range(at, at + 1)
        if node is not None and node.type == "comment":
            start, end = node.start_byte, node.end_byte
            yield Place(source.span(start, end), tuple(_meant_in_shell(source.data, root, start, end)))
            at = source.data.find(MARK, end)
        else:
            at = source.data.find(MARK, at + 1)


def _meant_in_shell(data: bytes, root: Node, start: int, end: int) -> Iterator[tuple[int, int]]:
    before = data[data.rfind(b"\n", 0, start) + 1 : start]
    if before.strip():
        position: int | None = start - (len(before) - len(before.rstrip(b" \t;&")))
        assert position is not None
        chain = _chain(root, position - 1)
        edge = [node for node in chain if node.end_byte == position]
    else:
        position = _next_code(data, end)
        if position is None:
            return
        chain = _chain(root, position)
        edge = [node for node in chain if node.start_byte == position]
    array = next((node for node in chain if node.type == "array" and node not in edge), None)
    if array is not None:
        row = data.count(b"\n", 0, position)
        for child in array.named_children:
            line = child.end_point[0] if before.strip() else child.start_point[0]
            if child.type != "comment" and line == row:
                yield child.start_byte, child.end_byte
        return
    simple = [node for node in edge if node.type in SIMPLE]
    if simple:
        yield simple[-1].start_byte, simple[-1].end_byte


def _chain(root: Node, offset: int) -> list[Node]:
    """The node at an offset and all around it, innermost first."""
    chain: list[Node] = []
    node = root.descendant_for_byte_range(offset, offset + 1)
    while node is not None:
        chain.append(node)
        node = node.parent
    return chain


def _next_code(data: bytes, end: int) -> int | None:
    """Where code begins on the line below, comment lines passed over; None after a blank line."""
    at = data.find(b"\n", end)
    while at >= 0:
        stop = data.find(b"\n", at + 1)
        line = data[at + 1 : stop if stop >= 0 else len(data)]
        code = line.lstrip(b" \t")
        if not code.strip():
            return None
        if not code.startswith(b"#"):
            return at + 1 + len(line) - len(code)
        at = stop
    return None


def find_in_python(source: Source) -> Iterator[Place]:
    """The comments of a Python source that name preflight; none where it cannot be parsed."""
    import ast
    import io
    import tokenize

    try:
        tree = ast.parse(source.data)
        tokens = [
            token
            for token in tokenize.tokenize(io.BytesIO(source.data).readline)
            if token.type == tokenize.COMMENT and MARK.decode() in token.string
        ]
    except (SyntaxError, ValueError, tokenize.TokenError, RecursionError, MemoryError):
        return
    for token in tokens:
        row, column = token.start
        line = source.data[source.line_starts[row - 1] :].partition(b"\n")[0].decode("utf-8", "replace")
        start = source.line_starts[row - 1] + len(line[:column].encode())
        own = not line[:column].strip()
        target = _next_code(source.data, start) if own else start
        ranges: tuple[tuple[int, int], ...] = ()
        if target is not None:
            meant = source.position(target).line if own else row
            ranges = tuple(_meant_in_python(source, tree, start, meant, own))
        yield Place(source.span(start, start + len(token.string.encode())), ranges)


def _meant_in_python(
    source: Source, tree: ast.Module, start: int, row: int, own: bool
) -> Iterator[tuple[int, int]]:
    import ast

    statements: list[tuple[int, int]] = []
    elements: list[tuple[int, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and _line(node, own) == row:
            statements.append(_range(source, node))
        low, high = _range(source, node) if isinstance(node, ast.expr) else (0, 0)
        if low < start < high:
            elements += [_range(source, each) for each in _elements(node) if _line(each, own) == row]
    yield from elements or statements


def _elements(node: ast.AST) -> list[ast.expr | ast.keyword]:
    import ast

    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [*node.elts]
    if isinstance(node, ast.Call):
        return [*node.args, *node.keywords]
    if isinstance(node, ast.Dict):
        return [*node.values]
    return []


def _line(node: ast.stmt | ast.expr | ast.keyword, own: bool) -> int:
    return node.lineno if own else node.end_lineno or node.lineno


def _range(source: Source, node: ast.stmt | ast.expr | ast.keyword) -> tuple[int, int]:
    starts = source.line_starts
    end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
    return starts[node.lineno - 1] + node.col_offset, end
