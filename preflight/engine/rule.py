"""A rule as the engine runs it.

In: nothing; these are the records, and the choice of rules by name.  `Rule` is what `load` makes of a TOML file, or
the build has compiled: conditions are trees already.  The prose that only a finding or `explain` needs is in `Prose`,
kept apart so that a check which finds nothing never reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from preflight.diagnostics import Severity
from preflight.engine.releases import Range
from preflight.engine.template import Template
from preflight.engine.tree import Tree
from preflight.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Form(NamedTuple):
    """A rule as it holds for a range of releases; `require` is None for rules about remarks."""

    targets: Range
    severity: Severity
    fails_at: str | None
    when: Tree | None
    require: Tree | None
    prose: int  # index into `Prose.messages` and `Prose.helps`


class Prose(NamedTuple):
    """What people read about a rule; strings as in the file, messages split into literal text and trees."""

    summary: str
    why: str
    references: tuple[str, ...]
    tags: tuple[str, ...]
    targets: tuple[str, ...]  # one for each form, as written
    messages: tuple[Template, ...]
    helps: tuple[Template | None, ...]
    fix: Mapping[str, Any] | None
    examples: tuple[Mapping[str, Any], ...]
    conditions: tuple[tuple[str, str], ...]  # `when` and `require` as written, one pair for each form


class Rule(NamedTuple):
    """One rule. `prose` is called only when somebody reads it."""

    name: str
    family: str
    remark: str | None
    point_at: tuple[str, ...]
    forms: tuple[Form, ...]
    path: str
    line: int


class Family(NamedTuple):
    """A folder of rules. `forks` is False for what Megatron gave up, and a fork may still do."""

    name: str
    title: str
    summary: str
    forks: bool = True


class RuleSet(NamedTuple):
    """Rules with their prose by name, in the order of their names."""

    rules: tuple[Rule, ...]
    families: Mapping[str, Family]
    read_prose: Callable[[str], Prose]

    def prose(self, name: str) -> Prose:
        return self.read_prose(name)


def choose_rules(rules: RuleSet, select: Collection[str], ignore: Collection[str]) -> tuple[Rule, ...]:
    """The rules that names and families choose; without `select`, all of them."""
    if not select and not ignore:
        return rules.rules
    return tuple(
        rule
        for rule in rules.rules
        if (not select or named(rule, select)) and not (ignore and named(rule, ignore))
    )


def named(rule: Rule, names: Collection[str]) -> bool:
    """Whether a rule is meant by its own name, its family's, or `all`."""
    return rule.name in names or rule.family in names or "all" in names
