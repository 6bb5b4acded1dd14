"""What the rules about facts come to on one configuration, and then on the next.

In: the rules that hold for a release, and facts.  Out: the rules that fail or wait.  Facts decide parts of conditions,
and parts decide rules.  Where another configuration follows, only the parts that ask for a fact which says something
else there are worked out again, and of the rules only those whose parts then come to something else: two launches of a
folder are much alike.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Iterable, Mapping

from preflight.engine.conditions import (
    Names,
    Part,
    Truths,
    make_gate,
    make_part,
    names_of,
    split_condition,
    unite,
)
from preflight.engine.evaluate import ABSENT, UNKNOWN, Mark, RuleError
from preflight.engine.releases import Version, holds
from preflight.engine.rule import Form, Rule
from preflight.facts.model import Fact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from preflight.facts.derive import Facts

FAILS: Final = Mark("FAILS")
"""The verdict on a rule that nothing unknown keeps from failing, or that cannot be worked out."""

Verdict = Mark | Names
"""`FAILS`, or else the unknown facts that a rule waits for."""

MAXIMUM_KEPT = 16
"""Configurations whose verdicts a selection keeps: as many kinds of launches as a folder mixes."""
MAXIMUM_SELECTIONS = 64


class Chosen:
    """A rule with its form for a release; `gate` is the part of its condition that decides most often.

    The other parts are made when they are first asked for: most rules stop at their gates.
    """

    __slots__ = ("form", "gate", "parts", "rule")

    def __init__(self, rule: Rule, form: Form) -> None:
        self.rule = rule
        self.form = form
        self.gate = make_gate(form.when) if form.require is not None else None
        self.parts: tuple[tuple[Part, ...], Part] | None = None


class Selection:
    """The rules that hold for a release, by number, and what they came to on the last configurations."""

    def __init__(self, rules: tuple[Rule, ...], release: Version) -> None:
        self.rules = rules
        self.chosen: list[Chosen] = []
        self.about_facts: list[int] = []
        self.about_remarks: dict[str, list[int]] = {}
        for rule in rules:
            form = find_form(rule, release)
            if form is not None:
                kind = rule.remark
                numbers = self.about_facts if kind is None else self.about_remarks.setdefault(kind, [])
                numbers.append(len(self.chosen))
                self.chosen.append(Chosen(rule, form))
        self._lock = allocate_lock()
        self._kept: list[Verdicts] = []
        self._opened: list[int] = []
        self._asking: dict[str, dict[object, Part]] = {}
        self._resting: dict[object, list[int]] = {}

    def judge(self, facts: Mapping[str, Fact]) -> list[tuple[int, Verdict]]:
        """The rules about facts that fail or wait, in their order."""
        from preflight.facts.derive import Facts

        with self._lock:
            if not isinstance(facts, Facts):
                return sorted(Verdicts(self, facts).found.items())
            verdicts = self._resume(facts) or Verdicts(self, facts)
            self._kept.insert(0, verdicts)
            del self._kept[MAXIMUM_KEPT:]
            return sorted(verdicts.found.items())

    def _resume(self, facts: Facts) -> Verdicts | None:
        """The verdicts on the last configuration of this kind, gone over to these facts."""
        for kept in self._kept:
            changed = facts.list_changes(kept.facts)
            if changed is not None:
                self._kept.remove(kept)
                kept.follow(facts, changed)
                return kept
        return None

    def open(self, number: int) -> tuple[tuple[Part, ...], Part]:
        """All parts of a rule's condition, and its requirement."""
        each = self.chosen[number]
        each.parts = (split_condition(each.form.when), make_part(each.form.require or ("constant", True)))
        self._opened.append(number)
        return each.parts

    def list_askers(self) -> tuple[Mapping[str, Mapping[object, Part]], Mapping[object, Iterable[int]]]:
        """The parts that ask for each fact, and the rules that rest on each part, as far as they were opened."""
        if not self._resting:
            for number in self.about_facts:
                gate = self.chosen[number].gate
                if gate is not None:
                    self._list_part(gate, number)
        while self._opened:
            number = self._opened[-1]
            when, require = self.chosen[number].parts or ((), None)
            for part in when if require is None else (*when, require):
                self._list_part(part, number)
            self._opened.pop()
        return self._asking, self._resting

    def _list_part(self, part: Part, number: int) -> None:
        if part.key not in self._resting:
            for name in names_of(part):
                self._asking.setdefault(name, {})[part.key] = part
        self._resting.setdefault(part.key, []).append(number)


class Verdicts:
    """What the rules of a selection come to on one configuration, and then on the next: None has no entry."""

    def __init__(self, selection: Selection, facts: Mapping[str, Fact]) -> None:
        self.selection = selection
        self.found: dict[int, Verdict] = {}
        self._truths = Truths(facts)
        self._faulty: set[int] = set()
        self._judge(selection.about_facts)

    @property
    def facts(self) -> Any:
        return self._truths.facts

    def follow(self, facts: Facts, changed: Iterable[str]) -> None:
        """Go over to another configuration, where these facts may say something else."""
        asking, resting = self.selection.list_askers()
        concerned = {key: part for name in changed if name in asking for key, part in asking[name].items()}
        different = self._truths.follow(facts, concerned)
        again = self._faulty.union(*(resting[key] for key in different))
        self._faulty.clear()
        self._judge(again)

    def _judge(self, numbers: Iterable[int]) -> None:
        chosen, truths = self.selection.chosen, self._truths
        for number in numbers:
            each = chosen[number]
            verdict: Verdict | None = None
            try:
                if each.gate is None or truths.of(each.gate)[0] is not False:
                    verdict = screen(truths, *(each.parts or self.selection.open(number)))
            except RuleError:
                verdict = FAILS
                self._faulty.add(number)
            if verdict is not None:
                self.found[number] = verdict
            else:
                self.found.pop(number, None)


def screen(truths: Truths, when: tuple[Part, ...], require: Part) -> Verdict | None:
    """What a rule comes to: None where it does not apply or passes, `FAILS`, or else what would decide it."""
    applies, blocked = truths.of_all(when)
    if applies is False or applies is ABSENT:
        return None
    verdict, more = truths.of(require)
    if verdict is True or verdict is ABSENT:
        return None
    if applies is UNKNOWN or verdict is UNKNOWN:
        return unite(blocked, more)
    return FAILS


_selections: dict[tuple[int, Version], Selection] = {}


def select_rules(rules: tuple[Rule, ...], release: Version) -> Selection:
    """The rules that hold for a release; kept, since every launch of a folder asks for the same."""
    kept = _selections.get((id(rules), release))
    if kept is None or kept.rules is not rules:
        kept = Selection(rules, release)
        if len(_selections) >= MAXIMUM_SELECTIONS:
            _selections.clear()
        _selections[id(rules), release] = kept
    return kept


def find_form(rule: Rule, release: Version) -> Form | None:
    """The first form of a rule whose range holds a release."""
    for form in rule.forms:
        if not form.targets or holds(form.targets, release):
            return form
    return None
