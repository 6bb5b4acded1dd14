"""Rules held against the facts of one configuration.

In: rules, facts, remarks, the release, and a place for what no flag gave.  Out: diagnostics and undecided rules.  A
rule whose expression fails on these values is reported as a `Failure`; the other rules still run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from preflight.diagnostics import Diagnostic, Fix, Label, Undecided
from preflight.engine.conditions import (
    Blocking,
    Part,
    Truths,
    list_blockers,
    make_gate,
    make_part,
    split_condition,
)
from preflight.engine.evaluate import ABSENT, UNKNOWN, Evaluation, Mark, RuleError
from preflight.engine.releases import Version, holds, parse_release
from preflight.engine.rule import Form, Prose, Rule, RuleSet
from preflight.engine.template import Template, render
from preflight.engine.tree import list_names
from preflight.execution import Remark
from preflight.facts.model import Blocker, Fact
from preflight.record import NamedTuple
from preflight.source import Span
from preflight.targets.releases import RELEASES
from preflight.values import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHOWN_LABELS = 6


class Failure(NamedTuple):
    """A rule that could not be run."""

    rule: str
    message: str


class Subject(NamedTuple):
    """What the rules look at. `anchor` is where a finding goes that no flag can be blamed for."""

    facts: Mapping[str, Fact]
    remarks: tuple[Remark, ...]
    release: str
    path: str
    anchor: Span | None
    launch: int | None = None
    configuration: str | None = None
    node: str | None = None
    fork: str = ""
    elder: str = ""


class Outcome(NamedTuple):
    findings: tuple[Diagnostic, ...]
    undecided: tuple[Undecided, ...]
    failures: tuple[Failure, ...]
    checked: int
    truths: Truths


def run_rules(
    rules: RuleSet, subject: Subject, selected: Iterable[Rule] | None = None, earlier: Truths | None = None
) -> Outcome:
    """Run the rules (all of them, or those selected) whose range holds the release.

    `earlier` is what conditions came to on a configuration that may be much alike.
    """
    release = parse_release(subject.release)
    findings: list[Diagnostic] = []
    undecided: list[Undecided] = []
    failures: list[Failure] = []
    truths = Truths(subject.facts, earlier)
    kinds = {remark.kind for remark in subject.remarks}
    chosen = list_forms(rules.rules if selected is None else tuple(selected), release)
    for each in chosen:
        rule, form = each.rule, each.form
        if rule.remark is not None and rule.remark not in kinds:
            continue
        try:
            if form.require is None:
                findings += run_remark_rule(rules, rule, form, subject)
                continue
            if each.gate is not None and truths.of(each.gate)[0] is False:
                continue
            verdict = screen(truths, *each.parts())
            if verdict is None:
                continue
            if isinstance(verdict, Mark):
                found = run_fact_rule(rules, rule, form, subject)
            else:
                found = Undecided(rule.name, subject.path, subject.anchor, verdict, subject.launch)
        except RuleError as error:
            failures.append(Failure(rule.name, str(error)))
            continue
        if isinstance(found, Diagnostic):
            findings.append(found)
        elif found is not None:
            undecided.append(found)
    return Outcome(tuple(findings), tuple(undecided), tuple(failures), len(chosen), truths)


FAILS: Final = Mark("FAILS")
"""What `screen` says of a rule that nothing unknown keeps from failing."""


def screen(truths: Truths, when: tuple[Part, ...], require: Part) -> Blocking | Mark | None:
    """What a rule comes to: None where it does not apply or passes, `FAILS`, or else what would decide it."""
    applies, blocked = truths.of_all(when)
    if applies is False or applies is ABSENT:
        return None
    verdict, more = truths.of(require)
    if verdict is True or verdict is ABSENT:
        return None
    if applies is UNKNOWN or verdict is UNKNOWN:
        return truths.list_blocking({**blocked, **more} if more else blocked)
    return FAILS


class Chosen:
    """A rule with its form for a release; `gate` is the part of its condition that decides most often.

    The other parts are made when they are first asked for: most rules stop at their gates.
    """

    __slots__ = ("_parts", "form", "gate", "rule")

    def __init__(self, rule: Rule, form: Form) -> None:
        self.rule = rule
        self.form = form
        self.gate = make_gate(form.when) if form.require is not None else None
        self._parts: tuple[tuple[Part, ...], Part] | None = None

    def parts(self) -> tuple[tuple[Part, ...], Part]:
        """All parts of the condition, and the requirement."""
        if self._parts is None:
            require = self.form.require or ("constant", True)
            self._parts = (split_condition(self.form.when), make_part(require))
        return self._parts


_FORMS: dict[tuple[int, Version], tuple[tuple[Rule, ...], tuple[Chosen, ...]]] = {}


def list_forms(rules: tuple[Rule, ...], release: Version) -> tuple[Chosen, ...]:
    """The rules that hold for a release, each with its form; kept, since every launch of a folder asks for the same."""
    kept = _FORMS.get((id(rules), release))
    if kept is None or kept[0] is not rules:
        found = ((rule, find_form(rule, release)) for rule in rules)
        kept = (rules, tuple(Chosen(rule, form) for rule, form in found if form is not None))
        if len(_FORMS) >= 64:
            _FORMS.clear()
        _FORMS[id(rules), release] = kept
    return kept[1]


def find_form(rule: Rule, release: Version) -> Form | None:
    """The first form of a rule whose range holds a release."""
    for form in rule.forms:
        if not form.targets or holds(form.targets, release):
            return form
    return None


def run_fact_rule(rules: RuleSet, rule: Rule, form: Form, subject: Subject) -> Diagnostic | Undecided | None:
    """A rule about facts: a finding, undecided, or None (it passes or does not apply)."""
    evaluation = Evaluation(subject.facts)
    applies = True if form.when is None else evaluation.truth(form.when)
    if applies is False or applies is ABSENT:
        return None
    verdict = evaluation.truth(form.require) if form.require is not None else True
    if verdict is True or verdict is ABSENT:
        return None
    blocked = evaluation.blocked
    if applies is not UNKNOWN and verdict is not UNKNOWN:
        blocked = list_assumed_absent(form, subject) if form.severity == "error" else {}
    if applies is UNKNOWN or verdict is UNKNOWN or blocked:
        return Undecided(
            rule.name, subject.path, subject.anchor, tuple(list_blockers(blocked)), subject.launch
        )
    finding = build_finding(rules.prose(rule.name), rule, form, subject, evaluation, None)
    return excuse(finding, rules, rule, subject)


def list_assumed_absent(form: Form, subject: Subject) -> dict[str, Fact]:
    """Settings that a requirement misses, and that the unknown rest of an open command line may give.

    That the rest gives nothing is only assumed: good enough for a default, not for the error that something is missing.
    """
    evaluation = Evaluation(subject.facts)
    evaluation.truth(form.require or ("constant", True))
    assumed = {
        name: f for name, f in evaluation.used.items() if f.value is None and f.known and f.assumptions
    }
    return {name: fact._replace(blocked_by=tuple(find_rest(name, fact))) for name, fact in assumed.items()}


def find_rest(name: str, fact: Fact) -> Iterable[Blocker]:
    for assumption in fact.assumptions:
        yield Blocker(name, Unknown("rest", assumption.span.resolve().text), assumption.span)


def excuse(finding: Diagnostic, rules: RuleSet, rule: Rule, subject: Subject) -> Diagnostic | None:
    """What every release of Megatron refuses, a fork refuses too; what only some do may be otherwise in a fork.

    What Megatron gave up, forks of older releases still have: nothing is said of it there.  So it is on the way to a
    release, with what the release before does not refuse.
    """
    if not subject.fork and not subject.elder:
        return finding
    given_up = not rules.families[finding.family].forks
    if subject.fork and given_up:
        return None
    if not given_up and finding.severity != "error":
        return finding
    if fails_in(RELEASES if subject.fork else (subject.elder,), rule, subject):
        return finding
    if given_up:
        return None
    note = (
        f"Megatron refuses this; a fork may not ({subject.fork})"
        if subject.fork
        else f"{subject.release} refuses this and {subject.elder} does not; what runs is between them"
    )
    return finding._replace(severity="warning", notes=(*finding.notes, note))


def fails_in(releases: Iterable[str], rule: Rule, subject: Subject) -> bool:
    """Whether a rule fails in each of some releases."""
    forms = (find_form(rule, parse_release(release)) for release in releases)
    return all(form is not None and fails(form, subject) for form in forms)


def fails(form: Form, subject: Subject) -> bool:
    evaluation = Evaluation(subject.facts)
    applies = form.when is None or evaluation.truth(form.when) is True
    return applies and (form.require is None or evaluation.truth(form.require) is False)


def run_remark_rule(rules: RuleSet, rule: Rule, form: Form, subject: Subject) -> Iterable[Diagnostic]:
    """A rule about remarks: a finding for each remark of its kind that its condition does not exclude."""
    for remark in subject.remarks:
        if remark.kind != rule.remark:
            continue
        evaluation = Evaluation(subject.facts, remark.values)
        if form.when is None or evaluation.truth(form.when) is True:
            yield build_finding(rules.prose(rule.name), rule, form, subject, evaluation, remark)


def build_finding(
    prose: Prose, rule: Rule, form: Form, subject: Subject, evaluation: Evaluation, remark: Remark | None
) -> Diagnostic:
    message = render(prose.messages[form.prose], evaluation)
    decisive = dict(evaluation.used)
    help_template: Template | None = prose.helps[form.prose]
    advice = render(help_template, evaluation) if help_template is not None else None
    labels = remark_labels(remark) if remark else fact_labels(rule, subject, decisive)
    assumptions = dict.fromkeys(a for fact in decisive.values() for a in fact.assumptions)
    return Diagnostic(
        rule=rule.name,
        family=rule.family,
        severity=form.severity,
        fails_at=form.fails_at,
        message=message,
        path=labels[0].span.resolve().path if labels else subject.path,
        labels=labels,
        help=advice,
        fix=mend(prose, labels, remark, subject, evaluation),
        conditions=remark.conditions if remark else (),
        assumptions=tuple(assumptions),
        facts=remark.values if remark else {name: fact.value for name, fact in decisive.items()},
        releases=subject.release,
        launch=subject.launch,
        configuration=subject.configuration,
        node=subject.node,
    )


def mend(
    prose: Prose, labels: tuple[Label, ...], remark: Remark | None, subject: Subject, evaluation: Evaluation
) -> Fix | None:
    """The fix that the rule's file describes, if it does."""
    if prose.fix is None:
        return None
    from preflight.engine.mend import build_fix

    return build_fix(prose.fix, labels, remark, subject.anchor, evaluation)


def remark_labels(remark: Remark) -> tuple[Label, ...]:
    return (
        Label(remark.span, str(remark.values.get("label", "")), primary=True),
        *(Label(related.span, related.text) for related in remark.related),
    )


def fact_labels(rule: Rule, subject: Subject, used: Mapping[str, Fact]) -> tuple[Label, ...]:
    """Labels at the facts that the rule points at, then hidden ones at the others that it used."""
    labels: dict[tuple[str, int, int], Label] = {}
    pointed = [fact for name in rule.point_at if (fact := subject.facts.get(name)) is not None]
    others = [fact for name, fact in used.items() if name not in rule.point_at]
    for fact in [*pointed, *others]:
        for number, evidence in enumerate(fact.evidence):
            span = evidence.span.resolve()
            hidden = fact in others or (number > 0 and len(labels) >= SHOWN_LABELS)
            key = (span.path, span.start, span.end)
            if key not in labels:
                labels[key] = Label(span, evidence.text, primary=not labels and not hidden, hidden=hidden)
    ordered = sorted(labels.values(), key=lambda label: not label.primary)
    if ordered and ordered[0].primary:
        return tuple(ordered)
    if subject.anchor is None:
        return tuple(ordered)
    return (Label(subject.anchor.resolve(), "", primary=True), *ordered)


def facts_of_rule(rule: Rule) -> tuple[str, ...]:
    """The names that a rule's conditions look up, over all its forms."""
    names: dict[str, Any] = {}
    for form in rule.forms:
        for tree in (form.when, form.require):
            names.update(dict.fromkeys(list_names(tree) if tree is not None else ()))
    return tuple(names)
