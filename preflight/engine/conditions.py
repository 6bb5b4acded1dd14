"""The conditions of many rules on one configuration: a part that several rules ask for is worked out once.

In: trees and the facts.  Out: what they come to, with the unknown facts they met on the way.  Most rules do not apply
or pass, and are through with that; the few that fail are evaluated again by `run`, which then keeps all that they used.
"""

from __future__ import annotations

from collections.abc import Mapping

from preflight.engine.evaluate import ABSENT, UNKNOWN, Evaluation, RuleError, relate
from preflight.engine.tree import Tree, list_names
from preflight.facts.model import Fact
from preflight.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Names = tuple[str, ...]
Truth = tuple[object, Names]
"""True, False, UNKNOWN or ABSENT, and the unknown facts that were met."""

NOTHING: Names = ()


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


def names_of(part: Part) -> Names:
    """The facts that a part asks for."""
    return (part.name,) if part.name is not None else tuple(list_names(part.tree))


class Truths:
    """What the parts of conditions come to on one configuration's facts."""

    def __init__(self, facts: Mapping[str, Fact]) -> None:
        self.facts = facts
        self._known: dict[object, Truth] = {}

    def of(self, part: Part) -> Truth:
        known = self._known.get(part[0])
        if known is None:
            known = self._known[part[0]] = self.evaluate(part)
        return known

    def evaluate(self, part: Part) -> Truth:
        _, tree, name, operator, constant = part
        if name is None:
            evaluation = Evaluation(self.facts)
            return evaluation.truth(tree), tuple(evaluation.blocked)
        fact = self.facts.get(name)
        if fact is not None and fact.blocked_by:
            return UNKNOWN, (name,)
        value = None if fact is None else fact.value
        if operator == "not":
            return not value, NOTHING
        if operator:
            return relate(operator, value, constant), NOTHING
        return (False if value is None else value), NOTHING

    def of_all(self, parts: tuple[Part, ...]) -> Truth:
        """Whether all parts hold; one that does not decides, whatever the others are."""
        result: Any = True
        met = NOTHING
        for part in parts:
            value, blocked = self._known.get(part[0]) or self.of(part)
            if value is False:
                return False, blocked
            if value is UNKNOWN or (value is ABSENT and result is not UNKNOWN):
                result = value
            if blocked:
                met = unite(met, blocked)
        return result, met

    def follow(self, facts: Mapping[str, Fact], concerned: Mapping[object, Part]) -> list[object]:
        """Go over to facts that say something else to these parts; returns the parts that come to something else."""
        self.facts = facts
        before = {key: known for key in concerned if (known := self._known.pop(key, None)) is not None}
        return [key for key, known in before.items() if not self._comes_to(concerned[key], known)]

    def _comes_to(self, part: Part, known: Truth) -> bool:
        """Whether a part that is worked out again comes to the same."""
        try:
            truth = self.of(part)
        except RuleError:
            return False
        return truth == known and type(truth[0]) is type(known[0])


def unite(one: Names, other: Names) -> Names:
    """The names of both, each once."""
    return tuple(dict.fromkeys(one + other)) if one and other else one or other
