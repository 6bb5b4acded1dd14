"""What the rules say of a script: from resolved launches to its outcome.

In: a source and a `Request`.  Out: a `FileOutcome`: findings without repetition, each said with the branches that it
needs, in the severity that the config wants, marked where an ignore comment covers it, and with a fingerprint.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from preflight.chain import Request, Resolved, Settled, find_root, language_of, place_of, resolve
from preflight.configuration.model import Configuration
from preflight.diagnostics import Diagnostic, Label, Severity, Undecided
from preflight.engine.rule import Rule, RuleSet, choose_rules
from preflight.engine.run import Outcome, Subject, run_rules
from preflight.execution import Remark, Script
from preflight.facts.model import Fact
from preflight.fingerprint import stamp
from preflight.launch.model import Launch
from preflight.outcome import FileOutcome
from preflight.patterns import pattern
from preflight.record import NamedTuple
from preflight.source import Source, Span
from preflight.variants import describe_validity, identity, merge_findings, merge_undecided, soften

TYPE_CHECKING = False
if TYPE_CHECKING:
    from preflight.suppress import Ignore

ARGUMENT_CODE = ("megatron/training/", "megatron/arguments.py", "megatron/initialize.py")
"""Where a command line is read and validated; what is built by code is not seen there."""


TEST_FILE = pattern(r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$")
"""Files that pytest collects."""


def check_source(source: Source, request: Request) -> FileOutcome:
    """Everything that the rules say of one script."""
    resolved = resolve(source, request)
    plain = FileOutcome(source.path, sources=(source,), fail_on=request.fail_on, strict=request.strict)
    if resolved is None:
        return plain
    notes = dict.fromkeys(resolved.notes)
    notes.update(dict.fromkeys(describe_truncation(resolved.script)))
    if not resolved.launches:
        return plain._replace(remarks=tuple(notes))
    rules = choose_rules(request.rules, request.select, request.ignore)
    answer = run_launches(resolved, rules, request)
    findings = [settle(diagnostic, request.severity) for diagnostic in answer.findings]
    if request.use_ignores:
        findings = apply_ignores(source, findings, rules, request)
    root = request.root or find_root(os.path.dirname(os.path.abspath(source.path)))
    releases = dict.fromkeys(c.release for s in resolved.launches for c, _ in s.configurations)
    return plain._replace(
        launches=len({place_of(settled.launch) for settled in resolved.launches}),
        error="; ".join(answer.failures) or None,
        diagnostics=stamp(sorted(findings, key=_place), root),
        undecided=answer.undecided,
        target="all" if len(releases) > 2 else ", ".join(releases) or None,
        rules=answer.checked,
        remarks=(*notes, *answer.notes),
    )


def describe_truncation(script: Script) -> Iterable[str]:
    """What a reader should know where a script was not followed to its end."""
    for unknown in script.truncated[:3]:
        yield f"not followed to the end: {unknown.text}"


class Answer(NamedTuple):
    """What the rules say of all launches of a script."""

    findings: list[Diagnostic]
    undecided: tuple[Undecided, ...]
    failures: tuple[str, ...]
    checked: int
    notes: tuple[str, ...]


def run_launches(resolved: Resolved, rules: tuple[Rule, ...], request: Request) -> Answer:
    """Run the rules over every launch, and make one of what holds on several paths."""
    groups: dict[Span, list[tuple[int, Settled]]] = {}
    for number, settled in enumerate(resolved.launches):
        groups.setdefault(place_of(settled.launch), []).append((number, settled))
    findings: list[Diagnostic] = []
    undecided: list[Undecided] = []
    failures: dict[str, None] = {}
    notes: dict[str, None] = {}
    checked = 0
    known: dict[int, list[Outcome]] = {}  # launches that are alike share their configurations
    for place, variants in groups.items():
        found = []
        waiting: list[Undecided] = []
        releases: dict[str, bool] = {}
        for number, settled in variants:
            key = id(settled.configurations)
            if key not in known:
                known[key] = [
                    run_one(number, settled.launch, configuration, facts, rules, request)
                    for configuration, facts in settled.configurations
                ]
            for (configuration, _), outcome in zip(settled.configurations, known[key], strict=True):
                refused = any(finding.severity == "error" for finding in outcome.findings)
                releases[configuration.release] = releases.get(configuration.release, False) or refused
                waiting += outcome.undecided
                checked = max(checked, outcome.checked)
                failures.update(
                    {f"rule {f.rule} could not be run: {f.message}": None for f in outcome.failures}
                )
            anchored = [with_anchor(d, place) for outcome in known[key] for d in outcome.findings]
            found.append((settled.launch.conditions, anchored))
        merged = merge_findings(found)
        if language_of(resolved.script.source) == "python":
            merged = soften(merged, found)
        findings += merged
        undecided += merge_undecided(waiting, merged)
        if len(releases) > 1:
            refusing = [name for name, refused in releases.items() if refused]
            notes[describe_validity(f"line {place.position.line}", releases, refusing)] = None
    findings = keep_one_of_each([*findings, *run_layout(resolved, rules, request)])
    return Answer(findings, tuple(undecided), tuple(failures), checked, tuple(notes))


def keep_one_of_each(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Launches that share an array share its faults: each is said once, with the fewest branches that it needs."""
    kept: dict[object, Diagnostic] = {}
    for diagnostic in findings:
        key = identity(diagnostic)
        old = kept.get(key)
        if old is None or len(diagnostic.conditions) < len(old.conditions):
            kept[key] = diagnostic
    return list(kept.values())


def with_anchor(diagnostic: Diagnostic, place: Span) -> Diagnostic:
    """The finding with a hidden label on its launch, so that an ignore comment there covers it."""
    if not diagnostic.labels or any(label.span == place for label in diagnostic.labels):
        return diagnostic
    return diagnostic._replace(labels=(*diagnostic.labels, Label(place, "", hidden=True)))


def run_one(
    number: int,
    launch: Launch,
    configuration: Configuration,
    facts: Mapping[str, Fact],
    rules: tuple[Rule, ...],
    request: Request,
) -> Outcome:
    """The rules over one configuration of one launch."""
    subject = Subject(
        facts=facts,
        remarks=(*launch.remarks, *configuration.problems),
        release=configuration.release,
        path=launch.source.path,
        anchor=place_of(launch),
        launch=number,
        configuration=configuration.name,
        fork=configuration.fork,
        elder=configuration.elder,
        assumed=configuration.assumed,
    )
    if not configuration.recognised:
        rules = general_rules(rules)
    elif launch.configuration is not None:
        rules = rules_beyond_arguments(request.rules, rules)
    outcome = run_rules(request.rules, subject, rules, undecided=request.undecided)
    if not configuration.recognised or launch.configuration is None:
        return outcome
    findings = outcome.findings
    if TEST_FILE.search(launch.source.path):
        plain = launch.configuration.plain
        findings = tuple(each for each in findings if _shows_in_a_test(each, plain))
    if launch.configuration.changed:
        findings = tuple(each for each in findings if each.severity != "error" or each.fails_at != "start")
    return outcome._replace(findings=findings)


def _shows_in_a_test(finding: Diagnostic, plain: bool) -> bool:
    """Whether what a test builds fails: it is made, but nothing says that a model of it is built or trained."""
    if plain:
        return finding.severity != "error"
    return finding.severity != "error" or finding.fails_at in (None, "start")


Selection = tuple[Rule, ...]
_KEPT: dict[str, tuple[Selection, Selection]] = {}


def keep(name: str, rules: Selection, choose: Callable[[], Selection]) -> Selection:
    """A selection out of these rules; the last one of each name is kept, since every launch asks for it again."""
    kept = _KEPT.get(name)
    if kept is None or kept[0] is not rules:
        kept = _KEPT[name] = (rules, choose())
    return kept[1]


def rules_beyond_arguments(known: RuleSet, rules: Selection) -> Selection:
    """The rules that hold for settings which code builds: those never pass through the validation of arguments."""

    def holds(rule: Rule) -> bool:
        references = known.prose(rule.name).references
        return not references or any(not name.startswith(ARGUMENT_CODE) for name in references)

    return keep(
        "beyond", rules, lambda: tuple(rule for rule in rules if rule.remark is not None or holds(rule))
    )


def rules_about_remarks(rules: Selection) -> Selection:
    """The rules about what the earlier stages remarked, which need no facts to be asked."""
    return keep("remarks", rules, lambda: tuple(rule for rule in rules if rule.remark is not None))


def general_rules(rules: Selection) -> Selection:
    """The rules that ask for nothing of Megatron's: those that hold for any program."""
    from preflight.engine.run import facts_of_rule
    from preflight.facts.world import SOURCES

    prefixes = ("env_", "node_", "slurm_", "scheduler_", "launcher_")

    def holds(rule: Rule) -> bool:
        return all(name in SOURCES or name.startswith(prefixes) for name in facts_of_rule(rule))

    return keep(
        "general", rules, lambda: tuple(rule for rule in rules if rule.remark is not None or holds(rule))
    )


def run_layout(resolved: Resolved, rules: tuple[Rule, ...], request: Request) -> list[Diagnostic]:
    """The rules about what the script's layout shows, once for the script."""
    settled = resolved.launches[0]
    for configuration, facts in settled.configurations[:1]:
        subject = Subject(
            facts=facts,
            remarks=resolved.script.remarks,
            release=configuration.release,
            path=resolved.script.source.path,
            anchor=place_of(settled.launch),
        )
        return list(run_rules(request.rules, subject, rules_about_remarks(rules)).findings)
    return []


def settle(diagnostic: Diagnostic, severity: Mapping[str, Severity]) -> Diagnostic:
    """Labels in files, the primary one first, and the severity that the config wants."""
    labels = tuple(label._replace(span=label.span.resolve()) for label in diagnostic.labels)
    ordered = sorted(labels, key=lambda label: (not label.primary, label.hidden))
    if ordered and not ordered[0].primary:
        ordered[0] = ordered[0]._replace(primary=True, hidden=False)
    wanted = severity.get(diagnostic.rule, severity.get(diagnostic.family, diagnostic.severity))
    return diagnostic._replace(labels=tuple(ordered), severity=wanted)


def apply_ignores(
    source: Source, findings: list[Diagnostic], rules: tuple[Rule, ...], request: Request
) -> list[Diagnostic]:
    """Mark what ignore comments cover, in the script and in the files that findings point into."""
    sources = {source.path: source}
    for diagnostic in findings:
        sources.update({label.span.path: label.span.source for label in diagnostic.labels})
    speaking = [each for each in sources.values() if b"preflight:" in each.data and b"ignore" in each.data]
    if not speaking:
        return findings
    from preflight.suppress import suppress

    ignores: dict[str, Sequence[Ignore]] = {}
    remarks: list[Remark] = []
    for each in speaking:
        ignores[each.path], faults = read_comments(each, request.rules)
        remarks += faults
    findings, unused = suppress(findings, ignores, request.require_reason)
    remarks += [remark for remark in unused if judged(remark, rules)]
    return findings + report_remarks(remarks, source, rules, request)


def read_comments(source: Source, rules: RuleSet) -> tuple[list[Ignore], list[Remark]]:
    """The ignore comments of one file."""
    from preflight import comments
    from preflight.suppress import read_ignores

    names = {rule.name for rule in rules.rules} | set(rules.families) | {"all"}

    def fault(name: str) -> str | None:
        if name in names:
            return None
        from difflib import get_close_matches

        near = get_close_matches(name, sorted(names), 1)
        return f"there is no rule {name!r}" + (f"; did you mean {near[0]}?" if near else "")

    if language_of(source) == "python":
        return read_ignores(comments.find_in_python(source), fault)
    from preflight.shell.syntax import load_parser

    tree = load_parser().parse(source.data)
    return read_ignores(comments.find_in_shell(source, tree.root_node), fault)


def judged(remark: Remark, rules: tuple[Rule, ...]) -> bool:
    """Whether an unused comment names a rule that was looked at; one that was not says nothing."""
    if remark.kind != "unused-ignore":
        return True
    looked_at = {word for rule in rules for word in (rule.name, rule.family)} | {"all"}
    return any(name in looked_at for name in str(remark.values["names"]).split(", "))


def report_remarks(
    remarks: Sequence[Remark], source: Source, rules: tuple[Rule, ...], request: Request
) -> list[Diagnostic]:
    """Findings about the comments themselves."""
    subject = Subject({}, tuple(remarks), "main", source.path, None)
    found = run_rules(request.rules, subject, rules_about_remarks(rules)).findings
    return [settle(diagnostic, request.severity) for diagnostic in found]


def _place(diagnostic: Diagnostic) -> tuple[str, int, int, str, str]:
    labels: tuple[Label, ...] = diagnostic.labels
    if not labels:
        return diagnostic.path, 0, 0, diagnostic.rule, diagnostic.message
    span = labels[0].span
    return span.path, span.start, span.end, diagnostic.rule, diagnostic.message
