"""The conditions of many rules on one configuration: a part that several rules ask for is worked out once.

In: trees and the facts.  Out: what they come to, with the unknown facts they met on the way.  Most rules do not apply
or pass, and are through with that; the few that fail are evaluated again by `run`, which then keeps all that they used.
"""

from __future__ import annotations

from collections.abc import Mapping

from preflight.engine.evaluate import ABSENT, UNKNOWN, Evaluation, relate
from preflight.engine.tree import Tree, list_names
from preflight.facts.model import Fact
from preflight.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Truth = tuple[object, Mapping[str, Fact]]
"""True, False, UNKNOWN or ABSENT, and the unknown facts that were met."""

Blocking = tuple[tuple[str, str, str, str | None], ...]
"""What would decide: (fact, reason, text, remedy), each once."""

NOTHING: Mapping[str, Fact] = {}


class Part(NamedTuple):
    """A part of a condition. `key` is equal for parts that say the same, as far as that is cheap to see.

    Where the part is a `name`, perhaps negated or compared with a constant, it is asked for without its tree.
    """

    key: object
    tree: Tree
    name: str | None = None
    operator: str = ""
    constant: Any = None


def split_condition(tree: Tree | None) -> tuple[Part, ...]:
    """The parts that all have to hold."""
    if tree is None:
        return ()
    trees: list[Tree] = tree[1] if tree[0] == "and" else [tree]
    return tuple(make_part(each) for each in trees)


def make_gate(tree: Tree | None) -> Part | None:
    """The first of the parts that all have to hold, if there are any."""
    if tree is None:
        return None
    return make_part(tree[1][0] if tree[0] == "and" else tree)


def make_part(tree: Tree) -> Part:
    if tree[0] == "name":
        return Part(tree[1], tree, tree[1])
    if tree[0] == "not" and tree[1][0] == "name":
        return Part(("not", tree[1][1]), tree, tree[1][1], "not")
    if tree[0] == "compare" and tree[1][0] == "name" and len(tree[2]) == 1 and tree[2][0][1][0] == "constant":
        name, (operator, (_, constant)) = tree[1][1], tree[2][0]
        return Part((name, operator, type(constant), constant), tree, name, operator, constant)
    return Part(id(tree), tree)


class Truths:
    """What the parts of conditions come to on one configuration's facts.

    `earlier` are those of a configuration that may be alike: what asks for no fact that changed holds here too.
    """

    def __init__(self, facts: Mapping[str, Fact], earlier: Truths | None = None) -> None:
        self.facts = facts
        self._known: dict[object, Truth] = {}
        self._asked: list[Part] = []
        self._blocking: dict[tuple[str, ...], Blocking] = {}
        if earlier is not None:
            self._compare(earlier)

    def _compare(self, earlier: Truths) -> None:
        """Imported late: a check of one path has nothing earlier to compare with."""
        from preflight.facts.derive import Facts

        if isinstance(self.facts, Facts) and isinstance(earlier.facts, Facts):
            changed = self.facts.list_changes(earlier.facts)
            if changed is not None:
                self._adopt(earlier, changed)

    def _adopt(self, earlier: Truths, changed: set[str]) -> None:
        for part in earlier._asked:
            if names_of(part).isdisjoint(changed):
                self._known[part[0]] = earlier._known[part[0]]
                self._asked.append(part)
        for names, blocking in earlier._blocking.items():
            if changed.isdisjoint(names):
                self._blocking[names] = blocking

    def of(self, part: Part) -> Truth:
        known = self._known.get(part[0])
        if known is None:
            known = self._known[part[0]] = self.evaluate(part)
            self._asked.append(part)
        return known

    def evaluate(self, part: Part) -> Truth:
        _, tree, name, operator, constant = part
        if name is None:
            evaluation = Evaluation(self.facts)
            return evaluation.truth(tree), evaluation.blocked
        fact = self.facts.get(name)
        if fact is not None and fact.blocked_by:
            return UNKNOWN, {name: fact}
        value = None if fact is None else fact.value
        if operator == "not":
            return not value, NOTHING
        if operator:
            return relate(operator, value, constant), NOTHING
        return (False if value is None else value), NOTHING

    def of_all(self, parts: tuple[Part, ...]) -> Truth:
        """Whether all parts hold; one that does not decides, whatever the others are."""
        result: Any = True
        met: list[Mapping[str, Fact]] = []
        for part in parts:
            value, blocked = self._known.get(part[0]) or self.of(part)
            if value is False:
                return False, blocked
            if value is UNKNOWN or (value is ABSENT and result is not UNKNOWN):
                result = value
            if blocked:
                met.append(blocked)
        if not met:
            return result, NOTHING
        return result, met[0] if len(met) == 1 else {
            name: fact for each in met for name, fact in each.items()
        }

    def list_blocking(self, blocked: Mapping[str, Fact]) -> Blocking:
        """The unknown inputs behind unknown facts; kept, since many rules wait for the same ones."""
        names = tuple(blocked)
        known = self._blocking.get(names)
        if known is None:
            known = self._blocking[names] = tuple(list_blockers(blocked))
        return known


_names: dict[int, tuple[Tree, frozenset[str]]] = {}


def names_of(part: Part) -> frozenset[str]:
    """The facts that a part asks for."""
    found = _names.get(id(part.tree))
    if found is None or found[0] is not part.tree:
        found = _names[id(part.tree)] = (part.tree, frozenset(list_names(part.tree)))
    return found[1]


def list_blockers(blocked: Mapping[str, Fact]) -> Mapping[tuple[str, str, str, str | None], None]:
    """What would decide: the unknown inputs behind the unknown facts, each once."""
    seen: dict[tuple[str, str, str, str | None], None] = {}
    for fact in blocked.values():
        for blocker in fact.blocked_by:
            unknown = blocker.unknown
            seen[blocker.fact, unknown.reason, unknown.text, unknown.remedy] = None
    return seen
