"""From the text of a flag's value to the value, as the parser's `type` makes it.

In: an option's named type and a text.  Out: the value, or `WrongValueError` where the parser would refuse it.
Types whose function is not known here give `None` for "cannot tell".  Patterns such as `([0]*3+[1]*61)` are
worked out by a small bounded reader (`pattern`); nothing is evaluated as code.
"""

from __future__ import annotations

from preflight.record import NamedTuple
from preflight.targets.table import Option, Value


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
        return convert_frequency(text, free=name.endswith(":free"))
    return CANNOT_TELL


def _number(kind: type[int] | type[float], text: str, wanted: str) -> int | float:
    try:
        return kind(text)
    except ValueError as error:
        raise WrongValueError(wanted) from error


def convert_frequency(text: str, *, free: bool) -> Converted:
    """A frequency: a whole number, or a list pattern. `free` takes any expression, as old releases do."""
    if "[" not in text:
        return Converted(_number(int, text, "a whole number or a list pattern"))
    from preflight.configuration.pattern import NotAPatternError, UnsureError, read_pattern

    try:
        return Converted(read_pattern(text, free=free))
    except NotAPatternError as error:
        raise WrongValueError(str(error)) from None
    except UnsureError:
        return CANNOT_TELL
