"""The few names of the standard library whose value is known without running anything.

In: a dotted name and evaluated arguments.  Out: the value, as it is with an empty environment, or `UNREAD`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from preflight.targets.objects import UNREAD, Enumeration, Member, Outside, Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SIMPLE: dict[str, Callable[..., Any]] = {
    "int": int,
    "float": float,
    "str": str,
    "list": list,
    "tuple": tuple,
    "range": range,
    "len": len,
    "sorted": sorted,
    "set": frozenset,
    "max": max,
    "min": min,
    "abs": abs,
    "bool": bool,
}
TYPES = frozenset({"int", "float", "str", "bool", "list", "dict", "tuple", "None", "object", "bytes"})
"""Built-in names that can stand as a type."""


def resolve_signal(name: str | None) -> Any:
    """The standard library's signals are an enum that parsers use for choices."""
    import signal

    enumeration = Enumeration("Signals", {member.name: int(member) for member in signal.Signals})
    if name is None:
        return Outside("signal")
    if name == "Signals":
        return enumeration
    return Member(enumeration, name) if name in enumeration.members else UNREAD


def call_outside(name: str, arguments: list[Any], keywords: Mapping[str, Any]) -> Any:
    """Calls of the standard library that have a value known without running: literals, unset environment."""
    if name in ("os.getenv", "os.environ.get"):
        return arguments[1] if len(arguments) > 1 else None
    if name.rpartition(".")[2] == "ArgumentParser":
        return Parser()
    if name in ("math.inf", "float") and arguments and isinstance(arguments[0], (str, int, float)):
        try:
            return float(arguments[0])
        except ValueError:
            return UNREAD
    if len(arguments) == 1 and isinstance(arguments[0], Enumeration) and name == "list":
        return [Member(arguments[0], member) for member in arguments[0].members]
    simple = SIMPLE.get(name)
    if simple is None or keywords or any(value is UNREAD for value in arguments):
        return UNREAD
    if name == "range" and not all(isinstance(value, int) and abs(value) < 10_000 for value in arguments):
        return UNREAD
    try:
        result = simple(*arguments)
    except (TypeError, ValueError, ArithmeticError):
        return UNREAD
    return UNREAD if isinstance(result, float) and math.isnan(result) else result
