"""From the text of a flag's value to the value, as the parser's `type` makes it.

In: an option's named type and a text.  Out: the value, or `WrongValueError` where the parser would refuse it.
Types whose function is not known here give `None` for "cannot tell".  Patterns such as `([0]*3+[1]*61)` are
worked out by a small bounded reader; nothing is evaluated as code.
"""

from __future__ import annotations

import ast
import builtins
import re

from preflight.record import NamedTuple
from preflight.targets.table import Option, Value

PATTERN_LIMIT = 100_000
_PATTERN_TEXT = re.compile(r"[,\d\[\]()+*]*")


class WrongValueError(Exception):
    """The parser refuses this text; the message says what it wants."""


class Converted(NamedTuple):
    """A value, or `known` False where the type's function cannot be followed."""

    value: Value
    known: bool = True


CANNOT_TELL = Converted(None, False)


def convert(option: Option, text: str) -> Converted:
    """The value that an option makes of a text, its choices checked."""
    if option.unsure:
        return CANNOT_TELL
    converted = convert_type(option.type, text)
    choices = option.choices
    if choices is not None and converted.known and not contains(choices, converted.value):
        raise WrongValueError("choice")
    return converted


def contains(choices: tuple[Value, ...], value: Value) -> bool:
    return any(value == choice and isinstance(value, str) == isinstance(choice, str) for choice in choices)


def convert_type(name: str | None, text: str) -> Converted:
    """What a named type makes of a text."""
    if name is None or name in ("str", "enum", "names"):
        return Converted(text)
    if name == "int":
        return Converted(_number(int, text, "a whole number"))
    if name == "float":
        return Converted(_number(float, text, "a number"))
    if name == "bool":
        return Converted(bool(text))
    if name == "tuple_type":
        return Converted(tuple(_number(int, part, "whole numbers") for part in text.strip("()").split(",")))
    if name.endswith(("freq_type", "freq_type:free")):
        return convert_pattern(text, free=name.endswith(":free"))
    return CANNOT_TELL


def _number(kind: type[int] | type[float], text: str, wanted: str) -> int | float:
    try:
        return kind(text)
    except ValueError as error:
        raise WrongValueError(wanted) from error


def convert_pattern(text: str, *, free: bool) -> Converted:
    """A frequency: a whole number, or a list pattern. `free` takes any expression, as old releases do."""
    if "[" not in text:
        return Converted(_number(int, text, "a whole number or a list pattern"))
    if not free and not _PATTERN_TEXT.fullmatch(text):
        raise WrongValueError("a list pattern made of digits and , [ ] ( ) + *")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise WrongValueError("a list pattern with balanced brackets") from error
    try:
        return Converted(_work_out(tree.body))
    except TypeError as error:
        raise WrongValueError("a list pattern") from error
    except (LookupError, OverflowError):
        return CANNOT_TELL


def _work_out(node: ast.expr) -> Value:
    """The value of a pattern; LookupError for what is not a pattern, OverflowError for a huge one."""
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
    raise LookupError


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
        raise OverflowError
    return True
