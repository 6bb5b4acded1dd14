"""What the tables of a rule file may hold: the name of each key, and the kind of its value.

In: a table out of TOML and the keys that it may have.  Out: the first key that does not belong there, or whose value is
of another kind, with what is wrong; so that the loader never meets a value which it cannot take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from preflight.engine.expression import suggest
from preflight.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Kind(NamedTuple):
    """A kind of values, in words for a message, and its test."""

    words: str
    holds: Callable[[Any], bool]


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float)


def is_table(value: Any) -> bool:
    return isinstance(value, dict)


TEXT = Kind("text in quotes", is_text)
SWITCH = Kind("true or false", lambda value: isinstance(value, bool))
COUNT = Kind("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool))
TEXTS = Kind("a list of texts in quotes", lambda value: isinstance(value, list) and all(map(is_text, value)))
SCALARS = Kind(
    "a list of texts or numbers", lambda value: isinstance(value, list) and all(map(is_scalar, value))
)
TABLE = Kind("a table", is_table)
TABLES = Kind(
    "tables, each under a heading in double brackets",
    lambda value: isinstance(value, list) and all(map(is_table, value)),
)
EXPRESSIONS = Kind(
    "a table of texts in quotes", lambda value: is_table(value) and all(map(is_text, value.values()))
)
VALUES = Kind(
    "a table of texts or numbers", lambda value: is_table(value) and all(map(is_scalar, value.values()))
)

Keys = Mapping[str, Kind]

FORM: Keys = dict.fromkeys(("targets", "severity", "fails_at", "when", "require", "message", "help"), TEXT)
RULE: Keys = {
    **FORM,
    **dict.fromkeys(("summary", "why", "remark"), TEXT),
    **dict.fromkeys(("references", "tags", "point_at"), TEXTS),
    **dict.fromkeys(("form", "example"), TABLES),
    "fix": TABLE,
}
CASE: Keys = {**RULE, "name": TEXT, "values": VALUES}
FAMILY: Keys = {"title": TEXT, "summary": TEXT, "forks": SWITCH}
EXAMPLE: Keys = {
    **dict.fromkeys(("expect", "title", "script", "language", "name", "message", "fixed"), TEXT),
    **dict.fromkeys(("target", "te", "gpu", "node"), TEXT),
    **dict.fromkeys(("nodes", "gpus_per_node"), COUNT),
    **dict.fromkeys(("base", "closed_env"), SWITCH),
    **dict.fromkeys(("also", "marks"), TEXTS),
    "arguments": SCALARS,
    "env": VALUES,
    "files": EXPRESSIONS,
}
ACTIONS: Keys = {**dict.fromkeys(("add", "remove", "export", "edits"), TEXT), "replace": EXPRESSIONS}
"""What a fix may do; it does one of them."""
FIX: Keys = {"title": TEXT, "safety": TEXT, **ACTIONS}


def find_fault(data: Mapping[str, Any], known: Keys) -> tuple[str, str] | None:
    """The first key that is wrong, and why; None where the table is as it should be."""
    for key, value in data.items():
        if key not in known:
            return key, f"unknown key {key!r}{suggest(key, known)}"
        if not known[key].holds(value):
            return key, f"{key} is {known[key].words}"
    return None
