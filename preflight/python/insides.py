"""The insides of methods, which LibCST parses when one of them is first run.

In: the text of a class, with the interpreter's own reading of it.  Out: the text with a mark in place of each inside,
of as many bytes, so that all that stays stands where it stood; and the insides.  Most methods of a class are never
run, and to parse them is most of what it costs to read the class.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from collections.abc import Sequence as Listing

import libcst as cst

SMALLEST = 120
"""Shortest inside that is left out, in characters."""

_MARK = "...#inside"
_NUMBER = re.compile(r"#inside(\d+)-*$")
_AROUND = "class _:\n"

Method = ast.FunctionDef | ast.AsyncFunctionDef


class Inside:
    """The inside of a method. `number`: the byte of the file at which it begins; `suite`: None until it is parsed."""

    __slots__ = ("number", "suite", "text")

    def __init__(self, number: int, text: str) -> None:
        self.number = number
        self.text = _AROUND + text
        self.suite: cst.BaseSuite | None = None

    @property
    def size(self) -> int:
        """How many characters LibCST has to parse."""
        return len(self.text)

    @property
    def start(self) -> int:
        """The byte of the file at which the text would begin."""
        return self.number - len(_AROUND)

    def fill(self, module: cst.Module | None) -> cst.BaseSuite:
        """Take the suite out of what was parsed; an empty one where it was not understood."""
        outer = module.body[0] if module is not None else None
        self.suite = outer.body if isinstance(outer, cst.ClassDef) else cst.IndentedBlock(body=())
        return self.suite


def hollow(
    text: str, start: int, lines: Listing[int], first: int, node: ast.ClassDef
) -> tuple[str, list[Inside]]:
    """A class without the insides of its methods, and those.

    `start`: the byte of the file at which the text begins, and `first` the character; `lines`: the characters at which
    the lines of the file begin.
    """
    parts: list[str] = []
    insides: list[Inside] = []
    at, number = 0, start
    for method in _methods(node) if _MARK not in text else ():
        begin, end = (at - first for at in _range(method, lines))
        inside = text[begin:end].rstrip("\r\n")
        blank = len(inside) - len(inside.lstrip(" \t"))
        if len(inside) < SMALLEST or not _has_own_lines(method, blank):
            continue
        number += len(text[at:begin].encode("utf-8"))
        size = len(inside.encode("utf-8"))
        parts += [text[at : begin + blank], f"{_MARK}{number}".ljust(size - blank, "-")]
        insides.append(Inside(number, inside))
        at, number = begin + len(inside), number + size
    return "".join([*parts, text[at:]]), insides


def _methods(node: ast.ClassDef) -> Iterator[Method]:
    for statement in node.body:
        if isinstance(statement, Method):
            yield statement
        elif isinstance(statement, ast.ClassDef):
            yield from _methods(statement)


def _range(method: Method, lines: Listing[int]) -> tuple[int, int]:
    """The characters of the file from the first line of a method's inside to the end of its last."""
    last = method.body[-1].end_lineno or 0
    return lines[first_line(method.body[0]) - 1], lines[last] if last < len(lines) else sys.maxsize


def _has_own_lines(method: Method, blank: int) -> bool:
    """Whether the first statement stands at the beginning of a line."""
    first = method.body[0]
    return first_line(first) != first.lineno or (first.lineno > method.lineno and first.col_offset == blank)


def first_line(node: ast.stmt) -> int:
    """The line at which a statement begins, with what decorates it."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def number_of(node: cst.FunctionDef) -> int | None:
    """The number of the inside that was left out of a method, if one was."""
    body = node.body.body
    line = body[0] if len(body) == 1 else None
    comment = line.trailing_whitespace.comment if isinstance(line, cst.SimpleStatementLine) else None
    match = _NUMBER.match(comment.value) if comment is not None else None
    return int(match[1]) if match is not None else None
