"""Running expressions over facts, in strong Kleene logic.

In: a tree of `expression` and the facts.  Out: a value, `UNKNOWN` (a fact that decides is not known; it is noted in
`blocked`), or `ABSENT` (None reached arithmetic or an ordering: the expression speaks of something that is not
there).  Law: replacing an unknown by any value never turns true into false or back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from preflight.engine.functions import FUNCTIONS
from preflight.engine.tree import Tree
from preflight.facts.model import Fact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final


class Mark:
    """A value that is none: unknown or absent."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


UNKNOWN: Final[Mark] = Mark("UNKNOWN")
ABSENT: Final[Mark] = Mark("ABSENT")
GREATEST = 2**4096


class RuleError(Exception):
    """A rule's expression cannot be computed on these values (a division by zero, a number too large)."""


class Evaluation:
    """One rule's look at the facts: `used` lists those that it asked for, `blocked` the unknown ones."""

    def __init__(self, facts: Mapping[str, Fact], extra: Mapping[str, object] | None = None) -> None:
        self.facts = facts
        self.local: dict[str, object] = dict(extra or {})
        self.used: dict[str, Fact] = {}
        self.blocked: dict[str, Fact] = {}

    def evaluate(self, tree: Tree) -> Any:
        return _KINDS[tree[0]](self, tree)

    def name(self, tree: Tree) -> Any:
        name = tree[1]
        if name in self.local:
            return self.local[name]
        fact = self.facts.get(name)
        if fact is None:  # a flag that this release does not have
            return None
        self.used[name] = fact
        if fact.blocked_by:
            self.blocked[name] = fact
            return UNKNOWN
        return fact.value

    def constant(self, tree: Tree) -> Any:
        return tree[1]

    def conjunction(self, tree: Tree) -> Any:
        return self.combine(tree[1], deciding=False)

    def disjunction(self, tree: Tree) -> Any:
        return self.combine(tree[1], deciding=True)

    def combine(self, parts: tuple[Tree, ...], deciding: bool) -> Any:
        """`and` (deciding False) or `or` (deciding True): one deciding part decides, whatever the others are."""
        result: Any = not deciding
        for part in parts:
            value = self.truth(part)
            if value is deciding:
                return deciding
            if value is UNKNOWN or (value is ABSENT and result is not UNKNOWN):
                result = value
        return result

    def truth(self, tree: Tree) -> Any:
        value = self.evaluate(tree)
        return False if value is None else value

    def negation(self, tree: Tree) -> Any:
        value = self.truth(tree[1])
        return value if isinstance(value, Mark) else not value

    def negative(self, tree: Tree) -> Any:
        value = self.evaluate(tree[1])
        if value is None:
            return ABSENT
        return value if isinstance(value, Mark) else -value

    def binary(self, tree: Tree) -> Any:
        left, right = self.evaluate(tree[2]), self.evaluate(tree[3])
        marked = mark_of(left, right, none_is_absent=True)
        return marked if marked is not None else compute(tree[1], left, right)

    def compare(self, tree: Tree) -> Any:
        left = self.evaluate(tree[1])
        result: Any = True
        for operator, part in tree[2]:
            right = self.evaluate(part)
            value = relate(operator, left, right)
            if value is False:
                return False
            if value is UNKNOWN or (value is ABSENT and result is not UNKNOWN):
                result = value
            left = right
        return result

    def choice(self, tree: Tree) -> Any:
        test = self.truth(tree[1])
        if isinstance(test, Mark):
            return test
        return self.evaluate(tree[2] if test else tree[3])

    def sequence(self, tree: Tree) -> Any:
        values = tuple(self.evaluate(part) for part in tree[1])
        marked = mark_of(*values)
        return values if marked is None else marked

    def index(self, tree: Tree) -> Any:
        whole, index = self.evaluate(tree[1]), self.evaluate(tree[2])
        marked = mark_of(whole, index, none_is_absent=True)
        if marked is not None:
            return marked
        return whole[index] if -len(whole) <= index < len(whole) else ABSENT

    def call(self, tree: Tree) -> Any:
        return self.apply(tree[1], [self.evaluate(part) for part in tree[2]])

    def apply(self, name: str, values: list[Any]) -> Any:
        marked = mark_of(*values, none_is_absent=name != "count")
        if marked is not None:
            return marked
        try:
            return FUNCTIONS[name].call(*values)
        except (ValueError, TypeError, ArithmeticError):
            return ABSENT

    def each(self, tree: Tree) -> Any:
        _, name, element, variable, vector, condition = tree
        values = self.evaluate(vector)
        if values is None:
            return ABSENT
        if isinstance(values, Mark):
            return values
        results: list[Any] = []
        for value in values:
            self.local[variable] = value
            if condition is None:
                results.append(self.evaluate(element))
                continue
            test = self.truth(condition)
            if isinstance(test, Mark):
                results.append(test)
            elif test:
                results.append(self.evaluate(element))
        self.local.pop(variable, None)
        if name in ("all", "any"):
            return fold(results, deciding=name == "any")
        return self.apply(name, [tuple(results)] if mark_of(*results) is None else results)


def fold(values: list[Any], deciding: bool) -> Any:
    if any(value is deciding for value in values):
        return deciding
    marked = mark_of(*values)
    return (not deciding) if marked is None else marked


def mark_of(*values: object, none_is_absent: bool = False) -> Mark | None:
    """UNKNOWN if one value is, else ABSENT if one is (or is None where that counts), else None."""
    found: Mark | None = None
    for value in values:
        if value is UNKNOWN:
            return UNKNOWN
        if value is ABSENT or (value is None and none_is_absent):
            found = ABSENT
    return found


def compute(operator: str, left: Any, right: Any) -> Any:
    try:
        result = _ARITHMETIC[operator](left, right)
    except ZeroDivisionError:
        return ABSENT
    except (TypeError, OverflowError) as error:
        raise RuleError(str(error)) from None
    if isinstance(result, int) and abs(result) > GREATEST:
        raise RuleError("a number grew too large")
    return result


def relate(operator: str, left: Any, right: Any) -> Any:
    """A comparison of two values; the identity with None and equality take None as a value."""
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if left is ABSENT or right is ABSENT:
        return ABSENT
    if operator in ("is", "=="):
        return left is right if operator == "is" else left == right
    if operator in ("is not", "!="):
        return left is not right if operator == "is not" else left != right
    if right is None or (left is None and operator not in ("in", "not in")):
        return ABSENT
    if operator in ("in", "not in"):
        held = left is not None and left in right if isinstance(right, str) else left in right
        return held if operator == "in" else not held
    try:
        return bool(_ORDERINGS[operator](left, right))
    except TypeError:
        return ABSENT


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
}
_ORDERINGS: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_KINDS: dict[str, Callable[[Evaluation, Tree], Any]] = {
    "name": Evaluation.name,
    "constant": Evaluation.constant,
    "and": Evaluation.conjunction,
    "or": Evaluation.disjunction,
    "not": Evaluation.negation,
    "negative": Evaluation.negative,
    "binary": Evaluation.binary,
    "compare": Evaluation.compare,
    "if": Evaluation.choice,
    "list": Evaluation.sequence,
    "index": Evaluation.index,
    "call": Evaluation.call,
    "each": Evaluation.each,
}
