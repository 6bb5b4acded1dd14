"""Rules as constants of Python: what the wheel carries, so that a check reads no TOML.

In: a `RuleSet`.  Out: a file with what every check needs, and one for each family with the prose that only findings and
`explain` read; and back.  The round trip is exact.
"""

from __future__ import annotations

import os

from preflight.constants import read_constant, write_constant
from preflight.engine.rule import Family, Form, Prose, Rule, RuleSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

RULES, PROSE = "rules.py", "prose"


def write_compiled(rules: RuleSet, folder: Path) -> None:
    """The files below a folder."""
    hot = tuple(
        (*rule[:4], tuple(map(tuple, rule.forms)), "", 0)  # fields of a record, in their order
        for rule in rules.rules
    )
    families = tuple(map(tuple, rules.families.values()))
    write_constant(folder / RULES, (families, hot))
    for family in {rule.family for rule in rules.rules}:
        cold = {rule.name: tuple(rules.prose(rule.name)) for rule in rules.rules if rule.family == family}
        write_constant(folder / PROSE / f"{family}.py", cold)


def read_compiled(folder: str) -> RuleSet | None:
    """The rules that the build compiled into a folder; None where there are none."""
    try:
        families, entries = read_constant(os.path.join(folder, RULES))
    except FileNotFoundError:
        return None
    rules = tuple([restore_rule(entry) for entry in entries])
    prose = LazyProse(os.path.join(folder, PROSE), rules)
    return RuleSet(rules, {entry[0]: Family(*entry) for entry in families}, prose)


def restore_rule(entry: tuple[Any, ...]) -> Rule:
    """A rule out of its fields; a thousand records are made here at each start, so past their constructors."""
    name, family, remark, point_at, forms, path, line = entry
    restored = tuple([tuple.__new__(Form, form) for form in forms])
    return tuple.__new__(Rule, (name, family, remark, point_at, restored, path, line))


class LazyProse:
    """Prose by rule name; a family's file is read when one of its rules is asked for."""

    def __init__(self, folder: str, rules: tuple[Rule, ...]) -> None:
        self.folder = folder
        self.rules = rules
        self.families: dict[str, str] = {}
        self.read: dict[str, dict[str, Any]] = {}

    def __call__(self, name: str) -> Prose:
        if not self.families:
            self.families = {rule.name: rule.family for rule in self.rules}
        family = self.families[name]
        if family not in self.read:
            self.read[family] = read_constant(os.path.join(self.folder, f"{family}.py"))
        return Prose(*self.read[family][name])
