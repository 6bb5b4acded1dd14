"""The stretches of a module: each function and class at its level, and the statements between them.

In: a module's text, with the interpreter's own reading of it, which costs a tenth of LibCST's.  Out: the stretches in
order.  LibCST parses one when it is run: a module that is read for one function of it costs little more than that.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from collections.abc import Sequence as Listing
from typing import Literal

import libcst as cst

from preflight.python.insides import Inside, first_line, hollow

Kind = Literal["function", "class", "other"]

_LINE = re.compile(r"\r\n?|\n")
_KEEPS_NO_LIST = re.compile(
    r"(?:pytest|unittest|mock|functools|contextlib|torch)\.|(?:patch|contextmanager|cache|lru_cache)\b"
)
_FIELDS = re.compile(r"(?:^|\.)(?:[Ff]ield|ib|attrib)$")


def keeps_no_list(decorator: str) -> bool:
    """Whether a decorator keeps no list of what it decorates, and so may wait until that is used."""
    return _KEEPS_NO_LIST.match(decorator) is not None


class Stretch:
    """One function, one class, or statements in a row.

    `waits`: nothing happens where it is defined, so that it may wait until its name is used; `idle` says so of a
    class with nothing in its body that could build something.  `body` is None until it is parsed; `ready` is what was
    parsed before there was a stretch.  `lines` are the characters of the file at which its lines begin, `at` is the
    one at which the stretch does.
    """

    __slots__ = (
        "_hollow",
        "at",
        "body",
        "idle",
        "kind",
        "lines",
        "name",
        "nodes",
        "ready",
        "start",
        "text",
        "waits",
    )

    def __init__(
        self, kind: Kind, nodes: list[ast.stmt], start: int, text: str, at: int = 0, lines: Listing[int] = ()
    ) -> None:
        self.kind: Kind = kind
        self.nodes = nodes
        self.start = start
        self.text = text
        self.name = ""
        self.waits = False
        self.idle = False
        self.at = at
        self.lines = lines
        self.body: list[cst.CSTNode] | None = None
        self.ready: cst.Module | None = None
        self._hollow: tuple[str, list[Inside]] | None = None
        node = nodes[0] if nodes else None
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self.name = node.name
            self.waits = _function_waits(node)
        elif isinstance(node, ast.ClassDef):
            self.name = node.name
            self.waits = not node.keywords and all("dataclass" in ast.unparse(d) for d in node.decorator_list)
            self.idle = self.waits and not any(_builds(statement) for statement in node.body)

    def hollow(self) -> tuple[str, list[Inside]]:
        """The text, of a class without the insides of its methods, and those."""
        if self._hollow is None:
            node = self.nodes[0] if self.kind == "class" else None
            if isinstance(node, ast.ClassDef):
                self._hollow = hollow(self.text, self.start, self.lines, self.at, node)
            else:
                self._hollow = self.text, []
        return self._hollow

    @property
    def size(self) -> int:
        """How many characters LibCST has to parse, about; the insides that were left out count when they are."""
        text, insides = self.hollow()
        return len(text) - sum(len(inside.text) for inside in insides)


def _function_waits(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return not _makes_defaults(node) and all(keeps_no_list(ast.unparse(d)) for d in node.decorator_list)


def _makes_defaults(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(default, ast.Call) for default in (*node.args.defaults, *node.args.kw_defaults))


def _builds(statement: ast.stmt) -> bool:
    """Whether a statement of a class's body may do more than set a field."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return _makes_defaults(statement)
    if isinstance(statement, ast.ClassDef):
        return any(_builds(inner) for inner in statement.body)
    calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(_FIELDS.search(ast.unparse(call.func)) is None for call in calls)


def divide(text: str, module: ast.Module) -> list[Stretch]:
    """The stretches of a module; together they are its whole text."""
    lines = [0, *(match.end() for match in _LINE.finditer(text))]
    groups = list(_groups(module.body))
    plain = text.isascii()
    result: list[Stretch] = []
    at = offset = 0
    for index, (kind, nodes) in enumerate(groups):
        stop = lines[first_line(groups[index + 1][1][0]) - 1] if index + 1 < len(groups) else len(text)
        part = text[at:stop]
        result.append(Stretch(kind, nodes, offset, part, at, lines))
        offset += len(part) if plain else len(part.encode("utf-8"))
        at = stop
    return result


def _groups(body: list[ast.stmt]) -> Iterator[tuple[Kind, list[ast.stmt]]]:
    row: list[ast.stmt] = []
    for node in body:
        defining = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if not defining:
            row.append(node)
            continue
        if row:
            yield "other", row
            row = []
        yield ("class" if isinstance(node, ast.ClassDef) else "function"), [node]
    if row:
        yield "other", row
