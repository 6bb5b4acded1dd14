"""The chain from a source to findings: each stage's function, called in order.

In: a source and a `Request` (what the caller said, by option or config).  Out: `Resolved` launches for `trace`, or a
`FileOutcome` for `check`.  Front-ends are handed each other here; a stage is imported when a file needs it, so that a
bash script never pays for LibCST.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from preflight.configuration.model import Configuration
from preflight.diagnostics import Diagnostic, Label, Severity, Undecided
from preflight.engine.rule import Rule, RuleSet
from preflight.engine.run import Outcome, Subject, run_rules
from preflight.execution import Context, Remark, Script
from preflight.facts.model import Fact
from preflight.facts.surroundings import Surroundings
from preflight.fingerprint import stamp
from preflight.launch.model import Launch
from preflight.outcome import FileOutcome
from preflight.record import NamedTuple
from preflight.source import Files, Source, Span
from preflight.variants import describe_validity, identity, merge_findings, merge_undecided

if TYPE_CHECKING:
    from preflight.suppress import Ignore

ARGUMENT_CODE = ("megatron/training/", "megatron/arguments.py", "megatron/initialize.py")
"""Where a command line is read and validated; what is built by code is not seen there."""


class Request(NamedTuple):
    """All that the caller says about how scripts are checked.

    `target` is the release's name as typed (None: to be inferred).  `arguments` are the positional arguments from 1.
    `select` and `ignore` hold names of rules and families.  `overlay` are contents that stand in for files of the
    disk; `directory` stands in for the working directory.  `megatron` is a checkout whose own validators are asked.
    """

    rules: RuleSet
    target: str | None = None
    surroundings: Surroundings = Surroundings()
    environment: Mapping[str, str] = {}
    closed_environment: bool = False
    strict_environment: bool = False
    arguments: Mapping[int, str] = {}
    closed_arguments: bool = False
    source_paths: tuple[str, ...] = ()
    root: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = {}
    use_ignores: bool = True
    require_reason: bool = False
    fail_on: Severity = "error"
    strict: bool = False
    overlay: Mapping[str, bytes] = {}
    directory: str | None = None
    megatron: str | None = None


MAXIMUM_VARIANTS = 64
"""Launches of a script that differ in any word; a loop can make thousands of them."""


class Settled(NamedTuple):
    """One launch with its configurations and their facts."""

    launch: Launch
    configurations: tuple[tuple[Configuration, Mapping[str, Fact]], ...]


class Resolved(NamedTuple):
    """A script, followed to the end: what it launches, and with which settings."""

    script: Script
    launches: tuple[Settled, ...]
    notes: tuple[str, ...] = ()


def find_root(folder: str) -> str:
    """The nearest folder at or above with `.git` or a preflight config, else the working directory."""
    from preflight.settings import find_config

    at = os.path.abspath(folder)
    config = find_config(at)
    while True:
        if os.path.exists(os.path.join(at, ".git")) or (config and os.path.dirname(config) == at):
            return at
        above = os.path.dirname(at)
        if above == at:
            return os.getcwd()
        at = above


def make_context(path: str, request: Request) -> Context:
    """The surroundings of one script."""
    directory = request.directory or os.getcwd()
    folder = os.path.dirname(os.path.join(directory, path))
    root = request.root or (request.directory or find_root(folder))
    files = Files(directory, (root, folder))
    for name, data in request.overlay.items():
        files.preload(name, data)
    return Context(
        files=files,
        environment=request.environment,
        closed_environment=request.closed_environment,
        strict_environment=request.strict_environment,
        arguments={0: path, **request.arguments},
        closed_arguments=request.closed_arguments,
        source_paths=request.source_paths,
    )


def language_of(source: Source) -> str | None:
    """`shell` or `python`; None for data files, which hold no launch that could be read."""
    first = source.data[:128].partition(b"\n")[0]
    if first.startswith(b"#!"):
        return "python" if b"python" in first else "shell"
    ending = os.path.splitext(source.path)[1].lower()
    if ending == ".py":
        return "python"
    return None if ending in (".yaml", ".yml", ".json", ".toml", ".md", ".rst", ".cfg", ".ini") else "shell"


def read_script(source: Source, context: Context) -> Script | None:
    """The commands of a source, by its language."""
    language = language_of(source)
    if language == "python":
        from preflight.python.signs import may_hold_launch

        return read_python(source, context) if may_hold_launch(source.data) else None
    if language is None:
        return None
    from preflight.launch.header import read_header
    from preflight.launch.pipes import notice_fallbacks
    from preflight.launch.scheduler import scheduler_variables

    header = read_header(source)
    exported = scheduler_variables(header, context.environment)
    script = read_shell(source, context, exported=exported)
    found = (*(header.remarks if header is not None else ()), *notice_fallbacks(source))
    return script._replace(remarks=(*script.remarks, *found)) if found else script


def read_shell(source: Source, context: Context, **state: Any) -> Script:
    from preflight.shell import read_script as read

    script: Script = read(source, context, **state)
    return script


def read_python(source: Source, context: Context, **state: Any) -> Script:
    from preflight.python import read_script as read

    return read(source, context, **{"read_shell": read_shell, **state})


def resolve(source: Source, request: Request) -> Resolved | None:
    """Follow a script to its launches, their configurations and facts; None for what is no script."""
    context = make_context(source.path, request)
    script = read_script(source, context)
    if script is None:
        return None
    from preflight.launch.find import find_launches

    launches = find_launches(script, context, read_shell=read_shell, read_python=read_python)
    settled = []
    notes: dict[str, None] = {}
    known: dict[object, tuple[tuple[Configuration, Mapping[str, Fact]], ...]] = {}
    left = 0
    for launch in launches:
        key = signature(launch)
        if key not in known:
            if len(known) == MAXIMUM_VARIANTS:
                left += 1
                continue
            known[key] = tuple(bind(launch, context, request, notes))
        settled.append(Settled(launch, known[key]))
    if left:
        notes[
            f"{len(launches)} launches on all paths; the first {MAXIMUM_VARIANTS} that differ were checked"
        ] = None
    return Resolved(script, tuple(settled), tuple(notes))


def bind(
    launch: Launch, context: Context, request: Request, notes: dict[str, None]
) -> Iterable[tuple[Configuration, Mapping[str, Fact]]]:
    """The configurations of a launch with their facts, at each release that is asked for."""
    from preflight.configuration.bind import bind_launch
    from preflight.facts.derive import derive_facts
    from preflight.targets.choose import choose_checkout, choose_tables

    if request.megatron is not None and not request.target:
        choice = choose_checkout(request.megatron)
    else:
        choice = choose_tables(request.target, launch, context.files)
    if choice.note:
        notes[choice.note] = None
    for table in choice.tables:
        for configuration in bind_launch(launch, table, context.files, assumed=choice.assumed):
            facts = derive_facts(configuration, request.surroundings)
            if request.megatron is not None and configuration.recognised:
                configuration = consult(configuration, facts, request, notes)
            yield configuration, facts


def consult(
    configuration: Configuration, facts: Mapping[str, Fact], request: Request, notes: dict[str, None]
) -> Configuration:
    """The configuration with what the checkout's own validators say of it, as a problem or a note."""
    from preflight.configuration.validator import ask_megatron, describe_machine

    assert request.megatron is not None
    names = ("world_size", "gpu_capability_major", "gpu_capability_minor", "te_version")
    known = {name: facts[name].value for name in names if facts[name].known}
    answer = ask_megatron(
        configuration, request.megatron, describe_machine(known, given=request.surroundings.te is not None)
    )
    place = f"line {place_of(configuration.launch).position.line}"
    if answer.verdict == "accepted":
        notes[f"{place}: Megatron in {request.megatron} accepts this command line"] = None
    elif answer.verdict == "unable":
        notes[f"{place}: Megatron in {request.megatron} could not be asked: {answer.message}"] = None
    if answer.remark is None:
        return configuration
    return configuration._replace(problems=(*configuration.problems, answer.remark))


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
        target=", ".join(releases) or None,
        rules=answer.checked,
        remarks=(*notes, *answer.notes),
    )


def describe_truncation(script: Script) -> Iterable[str]:
    """What a reader should know where a script was not followed to its end."""
    for unknown in script.truncated[:3]:
        yield f"not followed to the end: {unknown.text}"


def choose_rules(rules: RuleSet, select: Sequence[str], ignore: Sequence[str]) -> tuple[Rule, ...]:
    """The rules that names and families choose; without `select`, all of them."""
    return tuple(
        rule
        for rule in rules.rules
        if (not select or named(rule, select)) and not (ignore and named(rule, ignore))
    )


def named(rule: Rule, names: Sequence[str]) -> bool:
    return rule.name in names or rule.family in names or "all" in names


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
    for place, variants in groups.items():
        found = []
        waiting: list[Undecided] = []
        releases: dict[str, bool] = {}
        known: dict[object, list[Outcome]] = {}
        for number, settled in variants:
            key = signature(settled.launch)
            if key not in known:
                known[key] = [
                    run_one(number, settled.launch, c, facts, rules, request)
                    for c, facts in settled.configurations
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


def signature(launch: Launch) -> object:
    """What makes two launches of a command the same for every rule: their words, surroundings and remarks."""
    launcher = launch.launcher
    words = (*launch.command, *launch.argv)
    return (
        launch.span,
        tuple((word.text.display(), word.text.known, word.many, word.span) for word in words),
        tuple((name, text and (text.display(), text.known)) for name, text in launch.environment.items()),
        (launcher.kind, launcher.nodes, launcher.processes_per_node, launcher.world_size),
        tuple((remark.kind, remark.span) for remark in launch.remarks),
        launch.configuration and id(launch.configuration),
    )


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
        fork=configuration.fork if configuration.assumed_release else "",
    )
    if not configuration.recognised:
        return run_rules(request.rules, subject, general_rules(rules))
    if launch.configuration is not None:
        rules = rules_beyond_arguments(request.rules, rules)
    return run_rules(request.rules, subject, rules)


def rules_beyond_arguments(known: RuleSet, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules that hold for settings which code builds: those never pass through the validation of arguments."""

    def holds(rule: Rule) -> bool:
        references = known.prose(rule.name).references
        return not references or any(not name.startswith(ARGUMENT_CODE) for name in references)

    return tuple(rule for rule in rules if rule.remark is not None or holds(rule))


def general_rules(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules that ask for nothing of Megatron's: those that hold for any program."""
    from preflight.engine.run import facts_of_rule
    from preflight.facts.world import SOURCES

    general = ("env_", "node_", "slurm_", "scheduler_", "launcher_")
    return tuple(
        rule
        for rule in rules
        if rule.remark is not None
        or all(name in SOURCES or name.startswith(general) for name in facts_of_rule(rule))
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
        about_remarks = tuple(rule for rule in rules if rule.remark is not None)
        return list(run_rules(request.rules, subject, about_remarks).findings)
    return []


def place_of(launch: Launch) -> Span:
    """Where a launch stands, in a file."""
    return launch.span.resolve()


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
    chosen = tuple(rule for rule in rules if rule.remark is not None)
    return [settle(d, request.severity) for d in run_rules(request.rules, subject, chosen).findings]


def _place(diagnostic: Diagnostic) -> tuple[str, int, int, str, str]:
    labels: tuple[Label, ...] = diagnostic.labels
    if not labels:
        return diagnostic.path, 0, 0, diagnostic.rule, diagnostic.message
    span = labels[0].span
    return span.path, span.start, span.end, diagnostic.rule, diagnostic.message
