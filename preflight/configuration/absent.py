"""Settings that no flag gives, as far as that tells what they are.

In: a flag table, and what is known of the rest of the command line and of the program.  Out: a `Bound` for each
destination.  Lines that are alike in this share them: most settings of most launches are absent.
"""

from __future__ import annotations

from collections.abc import Mapping

from preflight.configuration.layout import KEPT, SPLIT
from preflight.configuration.model import Bound, Value
from preflight.configuration.parse import default_of, show
from preflight.execution import Word
from preflight.record import NamedTuple
from preflight.targets.table import SUPPRESS, Option, Table
from preflight.values import Assumption, Unknown

SWITCHES = frozenset({"store_true", "store_false", "store_const", "append_const", "boolean", "count"})
MAXIMUM_KEPT = 16
"""Kinds of lines that are kept at a time."""


class Absence(NamedTuple):
    """How settings that no flag gives are to be taken.

    `opening` is text that may hold further flags.  `foreign` says that the program is not Megatron's, so that it may
    fill in what is missing; `split`, that a flag of its own shares the layers out.  `defaults` are the program's.
    """

    opening: Word | None
    foreign: bool
    defaults: Mapping[str, Value]
    split: bool = False

    def is_like(self, other: Absence) -> bool:
        """Whether both leave the same settings open, whatever text it is that may hold further flags."""
        return (self.opening is None) == (other.opening is None) and self[1:] == other[1:]

    def fills_in(self, name: str) -> bool:
        """Whether the program may give a setting by itself, or by a flag that the table does not know."""
        return self.foreign and (not KEPT.search(name) or (self.split and bool(SPLIT.search(name))))


class Absent:
    """The settings of one table under one absence, each settled when it is first asked for."""

    def __init__(self, table: Table, absence: Absence) -> None:
        self.table = table
        self.absence = absence
        word = absence.opening
        self.rest = Unknown("rest", word.text.display(), first_name(word)) if word is not None else None
        self._settled: dict[str, Bound] = {}

    def find(self, name: str) -> Bound | None:
        """The setting of a destination; None where the table has none of the name."""
        bound = self._settled.get(name)
        if bound is None:
            option = self.table.destinations.get(name)
            if option is None or option.default == SUPPRESS:
                return None
            bound = self._settled[name] = self._settle(default_of(option), option)
        return bound

    def is_like(self, other: Absent) -> bool:
        """Whether the same settings have the same values there."""
        return self is other or (self.table is other.table and self.absence.is_like(other.absence))

    def _settle(self, bound: Bound, option: Option) -> Bound:
        """In an open line a switch may still be given, and a value is assumed not to be.

        A program that is not Megatron's may turn switches on and fill in values.
        """
        absence, name, value = self.absence, bound.destination, bound.value
        if value is None and name in absence.defaults:
            value = absence.defaults[name]
        if self.rest is not None and option.action in SWITCHES:
            return Bound(name, bound.value, "default", self.rest)
        unknown = Unknown("program", option.strings[0]) if absence.fills_in(name) else None
        if absence.opening is None:
            return Bound(name, value, "default", unknown)
        assumed = (Assumption(option.strings[0], show(value), absence.opening.span),)
        return Bound(name, value, "default", unknown, (), assumed)


_kept: list[Absent] = []


def find_absent(table: Table, absence: Absence) -> Absent:
    """The absent settings of lines of this kind, those of the last few kinds kept."""
    for number, known in enumerate(_kept):
        if known.table is table and known.absence == absence:
            _kept.append(_kept.pop(number))
            return known
    _kept.append(Absent(table, absence))
    del _kept[:-MAXIMUM_KEPT]
    return _kept[-1]


def first_name(word: Word) -> str | None:
    """The variable that would decide a word."""
    return next((unknown.name for unknown in word.text.unknowns), None)
