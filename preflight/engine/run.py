"""Rules held against the facts of one configuration.

In: rules, facts, remarks, the release, and a place for what no flag gave.  Out: diagnostics and undecided rules.  A
rule whose expression fails on these values is reported as a `Failure`; the other rules still run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from preflight.diagnostics import Diagnostic, Fix, Label, Undecided
from preflight.engine.conditions import Names
from preflight.engine.evaluate import ABSENT, UNKNOWN, Evaluation, Mark, RuleError
from preflight.engine.rule import Form, Prose, Rule, RuleSet
from preflight.engine.template import Template, render
from preflight.engine.tree import list_names
from preflight.engine.verdicts import Verdict, find_form, select_rules
from preflight.execution import Remark
from preflight.facts.model import Blocker, Fact
from preflight.record import NamedTuple
from preflight.source import Span
from preflight.targets.releases import RELEASES, parse_release
from preflight.values import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

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
    assumed: bool = False  # nobody named the release


class Outcome(NamedTuple):
    findings: tuple[Diagnostic, ...]
    undecided: tuple[Undecided, ...]
    failures: tuple[Failure, ...]
    checked: int


def run_rules(
    rules: RuleSet, subject: Subject, selected: Iterable[Rule] | None = None, *, undecided: bool = True
) -> Outcome:
    """Run the rules (all of them, or those selected) whose range holds the release.

    What would decide those that wait is asked only where `undecided` says that somebody wants to know.
    """
    chosen = rules.rules if selected is None else tuple(selected)
    selection = select_rules(chosen, parse_release(subject.release))
    verdicts: list[tuple[int, Verdict]] = selection.judge(subject.facts) if selection.about_facts else []
    for kind in {remark.kind for remark in subject.remarks}:
        verdicts += [(number, REMARKED) for number in selection.about_remarks.get(kind, ())]
    findings: list[Diagnostic] = []
    waiting: list[Undecided] = []
    failures: list[Failure] = []
    known: dict[Names, Blocking] = {}
    for number, verdict in sorted(verdicts):
        rule, form = selection.chosen[number].rule, selection.chosen[number].form
        if not isinstance(verdict, Mark):
            if undecided:
                if verdict not in known:
                    known[verdict] = list_blockers(subject.facts[name] for name in verdict)
                waiting.append(wait(rule, subject, known[verdict]))
            continue
        try:
            if verdict is REMARKED:
                findings += run_remark_rule(rules, rule, form, subject)
                continue
            found = run_fact_rule(rules, rule, form, subject)
        except RuleError as error:
            failures.append(Failure(rule.name, str(error)))
            continue
        if isinstance(found, Diagnostic):
            findings.append(found)
        elif found is not None and undecided:
            waiting.append(found)
    return Outcome(tuple(findings), tuple(waiting), tuple(failures), len(selection.chosen))


REMARKED: Final = Mark("REMARKED")
"""In place of a verdict: an earlier stage saw what the rule is about."""

Blocking = tuple[tuple[str, str, str, str | None], ...]
"""What would decide: (fact, reason, text, remedy), each once."""


def wait(rule: Rule, subject: Subject, blocking: Blocking) -> Undecided:
    """A rule that cannot be decided here."""
    return Undecided(rule.name, subject.path, subject.anchor, blocking, subject.launch)


def list_blockers(blocked: Iterable[Fact]) -> Blocking:
    """The unknown inputs behind unknown facts."""
    seen: dict[tuple[str, str, str, str | None], None] = {}
    for fact in blocked:
        for blocker in fact.blocked_by:
            unknown = blocker.unknown
            seen[blocker.fact, unknown.reason, unknown.text, unknown.remedy] = None
    return tuple(seen)


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
        return wait(rule, subject, list_blockers(blocked.values()))
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


OLDER = "older-scripts-do"
"""Tag of what scripts for older releases rightly do, so that it is an error only where the release is named."""


def excuse(finding: Diagnostic, rules: RuleSet, rule: Rule, subject: Subject) -> Diagnostic | None:
    """What every release of Megatron refuses, a fork refuses too; what only some do may be otherwise in a fork.

    What Megatron gave up, forks of older releases still have: nothing is said of it there.  So it is on the way to a
    release, with what the release before does not refuse.
    """
    if subject.assumed and finding.severity == "error" and OLDER in rules.prose(rule.name).tags:
        note = "older releases do not refuse this, and nobody named the release"
        return finding._replace(severity="warning", notes=(*finding.notes, note))
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
