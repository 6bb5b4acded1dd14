"""Reads list patterns such as `([0]*3+[1]*61)`, which Megatron evaluates as Python.

In: a text.  Out: the value.  `NotAPatternError` where Megatron's parser fails on it, `UnsureError` where that cannot be
told.  Only lists, whole numbers, `+` and `*` are worked out, up to a bound; nothing is evaluated as code.
"""

from __future__ import annotations

import ast
import builtins

from preflight.patterns import pattern
from preflight.targets.table import Value

PATTERN_LIMIT = 100_000
_PATTERN_TEXT = pattern(r"[,\d\[\]()+*]*")


class NotAPatternError(Exception):
    """The parser refuses this text; the message says what it wants."""


class UnsureError(Exception):
    """An expression of another kind, or one of huge size."""


def read_pattern(text: str, *, free: bool) -> Value:
    """The value of a pattern. `free` takes any expression, as old releases do."""
    if not free and not _PATTERN_TEXT.fullmatch(text):
        raise NotAPatternError("a list pattern made of digits and , [ ] ( ) + *")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotAPatternError("a list pattern with balanced brackets") from None
    try:
        return _work_out(tree.body)
    except TypeError:
        raise NotAPatternError("a list pattern") from None


def _work_out(node: ast.expr) -> Value:
    """The value of a pattern; UnsureError for what is no pattern or a huge one."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return tuple(_work_out(element) for element in elements)
        case ast.Name(id=name) if not hasattr(builtins, name):
            raise TypeError(f"{name} stands for nothing")
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _add(_work_out(left), _work_out(right))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _multiply(_work_out(left), _work_out(right))
    raise UnsureError


def _add(first: Value, second: Value) -> Value:
    if isinstance(first, tuple) and isinstance(second, tuple):
        return _bounded(len(first) + len(second)) and first + second
    if isinstance(first, int) and isinstance(second, int):
        return first + second
    raise TypeError("a list and a number cannot be added")


def _multiply(first: Value, second: Value) -> Value:
    if isinstance(first, int) and isinstance(second, tuple):
        first, second = second, first
    if isinstance(first, tuple) and isinstance(second, int):
        return _bounded(len(first) * max(second, 0)) and first * second
    if isinstance(first, int) and isinstance(second, int):
        return first * second
    raise TypeError("two lists cannot be multiplied")


def _bounded(length: int) -> bool:
    if length > PATTERN_LIMIT:
        raise UnsureError
    return True
