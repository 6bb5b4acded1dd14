"""The functions that rule expressions may call.

In: known values.  Out: a value.  Each entry has the function, its number of arguments (least, most), and the type
of its result; a result of "same" is the type of the first argument, "element" that of its elements.  No function
takes time or memory that its input does not bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from preflight.record import NamedTuple
from preflight.targets.releases import read_numbers


class Function(NamedTuple):
    call: Callable[..., object]
    least: int
    most: int
    result: str


LARGEST = 10**7


def list_divisors(number: int) -> tuple[int, ...]:
    """All positive divisors, ascending; none for numbers below 1 or above ten million."""
    if not 0 < number <= LARGEST:
        return ()
    small = [candidate for candidate in range(1, math.isqrt(number) + 1) if number % candidate == 0]
    return tuple(sorted({*small, *(number // candidate for candidate in small)}))


def divide_up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def take_numbers(*values: object) -> tuple[object, ...]:
    return tuple(values[0]) if len(values) == 1 and isinstance(values[0], tuple) else values


FUNCTIONS: dict[str, Function] = {
    "len": Function(len, 1, 1, "int"),
    "min": Function(lambda *values: min(take_numbers(*values)), 1, 9, "element"),  # type: ignore[type-var]
    "max": Function(lambda *values: max(take_numbers(*values)), 1, 9, "element"),  # type: ignore[type-var]
    "sum": Function(sum, 1, 1, "int"),
    "abs": Function(abs, 1, 1, "same"),
    "all": Function(all, 1, 1, "bool"),
    "any": Function(any, 1, 1, "bool"),
    "int": Function(int, 1, 1, "int"),
    "str": Function(str, 1, 1, "str"),
    "round": Function(round, 1, 2, "float"),
    "sorted": Function(lambda values: tuple(sorted(values)), 1, 1, "same"),
    "set": Function(lambda values: tuple(dict.fromkeys(values)), 1, 1, "same"),
    "divisors": Function(list_divisors, 1, 1, "list[int]"),
    "gcd": Function(math.gcd, 1, 9, "int"),
    "lcm": Function(math.lcm, 1, 9, "int"),
    "ceil_div": Function(divide_up, 2, 2, "int"),
    "count": Function(lambda values, value: list(values).count(value), 2, 2, "int"),
    "startswith": Function(lambda text, prefix: text.startswith(prefix), 2, 2, "bool"),
    "endswith": Function(lambda text, suffix: text.endswith(suffix), 2, 2, "bool"),
    "contains": Function(lambda whole, part: part in whole, 2, 2, "bool"),
    "version": Function(read_numbers, 1, 1, "version"),
    "dotted": Function(lambda version: ".".join(map(str, version)), 1, 1, "str"),
}
