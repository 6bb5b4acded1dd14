"""From a configuration to facts, each worked out when it is asked for.

In: a configuration, the surroundings, and the facts that other stages have about launch and node.  Out: `Facts`, a
mapping from names to facts.  An unknown stays unknown and carries what would decide it; a name that nothing gives is
known to be absent (None).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from preflight.configuration.bind import Settings, differs
from preflight.configuration.model import Bound, Configuration, Value
from preflight.facts.adjust import ADJUSTMENTS
from preflight.facts.derived import DERIVATIONS
from preflight.facts.model import Blocker, Evidence, Fact, Places
from preflight.facts.origins import describe_bound, describe_environment
from preflight.facts.steps import KEEP, AbsentError, Keep, MissingError, Step, Version
from preflight.facts.surroundings import Surroundings
from preflight.facts.world import SOURCES
from preflight.record import NamedTuple
from preflight.targets.releases import parse_release
from preflight.values import Unknown

NOTHING_SAID = Surroundings()
LAST = 1 << 30
"""After every step."""
LIMIT = 12
"""Places that a derived fact shows at most."""


def derive_facts(
    configuration: Configuration,
    surroundings: Surroundings = NOTHING_SAID,
    *,
    given: Mapping[str, Fact] | None = None,
) -> Facts:
    """The facts of a configuration; `given` are those of the launch, scheduler and node by name."""
    return Facts(configuration, surroundings, given or {})


class Order(NamedTuple):
    """The steps of a release by the fact that they write, numbered in their order.

    `readers` are, by fact, the facts whose steps have ever asked for it.
    """

    steps: Mapping[str, tuple[tuple[int, Step], ...]]
    readers: dict[str, set[str]]


@lru_cache(maxsize=32)
def order_steps(release: Version) -> Order:
    """The steps that hold for a release."""
    found: dict[str, list[tuple[int, Step]]] = {}
    for number, step in enumerate(ADJUSTMENTS + DERIVATIONS):
        if step.holds_for(release):
            found.setdefault(step.writes, []).append((number, step))
    return Order({name: tuple(steps) for name, steps in found.items()}, {})


class Facts(Mapping[str, Fact]):
    """All facts of one configuration, lazily."""

    def __init__(
        self, configuration: Configuration, surroundings: Surroundings, given: Mapping[str, Fact]
    ) -> None:
        self.configuration = configuration
        self.surroundings = surroundings
        self.given = given
        self.release = parse_release(configuration.release)
        self.steps, self.readers = order_steps(self.release)
        self._final: dict[str, Fact] = {}
        self._first: dict[str, Fact] = {}
        self._taken: dict[int, Fact] = {}
        self._outside: set[str] = set()
        """What no setting says, of all that was looked at here and in configurations that this one follows."""

    def __getitem__(self, name: str) -> Fact:
        fact = self._final.get(name)
        if fact is None:
            fact = self._final[name] = self.find(name, LAST)
        return fact

    def get(self, name: str, default: object = None) -> Fact:
        """Every name has a fact, so that a default is never taken."""
        return self._final.get(name) or self[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self.configuration.values, **self.given, **dict.fromkeys(self.steps)})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str)

    def find(self, name: str, before: int) -> Fact:
        """The fact as it stands before a step."""
        if name in self.steps:
            for number, step in reversed(self.steps[name]):
                if number < before:
                    fact = self._taken.get(number)
                    if fact is None:
                        fact = self._taken[number] = self.take(number, step)
                    return fact
        return self.first(name)

    def first(self, name: str) -> Fact:
        """The fact before any step."""
        fact = self._first.get(name)
        if fact is None:
            fact = self._first[name] = self.start(name)
        return fact

    def list_changes(self, earlier: Facts) -> set[str] | None:
        """The facts that say something else than earlier, or may; None where the two cannot be compared.

        What a fact is follows from the facts that its steps ask for, and in the end from those before any step.
        """
        alike = self.surroundings is earlier.surroundings and self.given == earlier.given
        if self.steps is not earlier.steps or not alike:
            return None
        settings = list_changes(self.configuration.values, earlier.configuration.values)
        if settings is None:
            return None
        changed = {f"{prefix}{name}" for name in settings for prefix in ("", *_OF_SETTINGS)}
        self._outside |= earlier._outside
        here, before = self._first, earlier._first
        for name in self._outside:
            if not same_value(before.get(name) or earlier.first(name), here.get(name) or self.first(name)):
                changed.add(name)
        fresh = list(changed)
        while fresh:
            for reader in tuple(self.readers.get(fresh.pop(), ())):
                if reader not in changed:
                    changed.add(reader)
                    fresh.append(reader)
        return changed

    def take(self, number: int, step: Step) -> Fact:
        """Run one step."""
        view = View(self, number)
        try:
            value = self.run(step, view)
        except MissingError as missing:
            return Fact(step.writes, None, "derived", blocked_by=missing.blockers)
        except (AbsentError, ArithmeticError):
            value = KEEP
        if isinstance(value, Keep):
            earlier = self.find(step.writes, number)
            more = tuple(
                a for fact in view.inputs.values() for a in fact.assumptions if a not in earlier.assumptions
            )
            return (
                earlier._replace(assumptions=earlier.assumptions + tuple(dict.fromkeys(more)))
                if more
                else earlier
            )
        inputs = [fact for name, fact in view.inputs.items() if name != step.writes or fact.value is not None]
        assumptions = dict.fromkeys(a for fact in inputs for a in fact.assumptions)
        return Fact(step.writes, value, "derived", Places(lambda: gather(inputs)), tuple(assumptions))

    def run(self, step: Step, view: View) -> Value | Keep:
        """The value of a step's formula; what it asked for is kept, whatever becomes of it."""
        try:
            return step.formula(view)
        finally:
            for name in (*view.inputs, *view.asked):
                self.readers.setdefault(name, set()).add(step.writes)

    def start(self, name: str) -> Fact:
        """The fact before any step: a flag, an environment variable, a source outside, or nothing."""
        bound = self.configuration.values.get(name)
        if bound is not None:
            return describe_bound(bound)
        known = self.given.get(name) or self.surroundings.node.get(name)
        if known is not None:
            return known
        if name.startswith("env_"):
            self._outside.add(name)
            return describe_environment(self.configuration.launch, name)
        source = SOURCES.get(name)
        if source is not None:
            self._outside.add(name)
            return source(self.configuration, self.surroundings, self.given)
        for prefix, make in _PREFIXES.items():
            if name.startswith(prefix):
                setting = name.removeprefix(prefix)
                if prefix not in _OF_SETTINGS or setting not in self.configuration.values:
                    self._outside.add(name)
                return make(self, setting, name)
        return Fact(name, None, "default")

    def asked(self, destination: str, name: str) -> Fact:
        """`requested_x`: what the command line says, before any adjustment."""
        return self.find(destination, 0)._replace(name=name)

    def presence(self, destination: str, name: str) -> Fact:
        """`given_x`: whether the command line sets it at all."""
        bound = self.configuration.values.get(destination)
        if bound is None:
            return Fact(name, False, "default")
        fact = describe_bound(bound)
        return fact._replace(name=name, value=None if fact.blocked_by else bound.given)

    def existence(self, destination: str, name: str) -> Fact:
        """`exists_x`: whether the file that a setting names is on the machine of the job."""
        fact = self.find(destination, 0)
        if fact.blocked_by or not isinstance(fact.value, str):
            return fact._replace(name=name, value=None)
        if self.surroundings.exists is None:
            blocker = Blocker(
                name, Unknown("file", fact.value), fact.evidence[0].span if fact.evidence else None
            )
            return Fact(name, None, "node", fact.evidence, fact.assumptions, (blocker,))
        return fact._replace(name=name, value=self.surroundings.exists(fact.value), origin="node")


_PREFIXES: dict[str, Callable[[Facts, str, str], Fact]] = {
    "requested_": Facts.asked,
    "given_": Facts.presence,
    "exists_": Facts.existence,
}


_OF_SETTINGS = ("requested_", "given_")
"""Prefixes of what a setting says before any step."""


def list_changes(values: Mapping[str, Bound], earlier: Mapping[str, Bound]) -> Iterable[str] | None:
    """The settings that say something else than earlier; None where the two are of different kinds."""
    if isinstance(values, Settings):
        return values.list_changes(earlier) if isinstance(earlier, Settings) else None
    if isinstance(earlier, Settings):
        return None
    return [name for name in values.keys() | earlier.keys() if differs(values.get(name), earlier.get(name))]


def same_value(one: Fact, two: Fact) -> bool:
    """Whether two facts say the same, wherever they were said; what is not known is the same to every rule."""
    if one.blocked_by or two.blocked_by:
        return bool(one.blocked_by) and bool(two.blocked_by)
    return one is two or (one.value == two.value and type(one.value) is type(two.value))


def gather(inputs: Iterable[Fact]) -> tuple[Evidence, ...]:
    """The places of all inputs, each once."""
    return tuple(dict.fromkeys(place for fact in inputs for place in fact.evidence))[:LIMIT]


class View:
    """What one step sees, and a record of what it asked for."""

    __slots__ = ("asked", "before", "facts", "inputs", "release")

    def __init__(self, facts: Facts, before: int) -> None:
        self.facts = facts
        self.before = before
        self.inputs: dict[str, Fact] = {}
        self.asked: list[str] = []
        """What the formula asked for that is no input of its value."""
        self.release = facts.release

    def __call__(self, name: str) -> Value:
        fact = self.fact(name)
        if fact.blocked_by:
            raise MissingError(fact.blocked_by)
        return fact.value

    def fact(self, name: str) -> Fact:
        fact = self.facts.find(name, self.before)
        self.inputs[name] = fact
        return fact

    def number(self, name: str) -> int:
        value = self(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise AbsentError(name)
        return value

    def text(self, name: str) -> str | None:
        value = self(name)
        return value if isinstance(value, str) else None

    def given(self, name: str) -> bool:
        asked = f"given_{name}"
        self.asked.append(asked)
        fact = self.facts.first(asked)
        if fact.blocked_by:
            raise MissingError(fact.blocked_by)
        return fact.value is True
