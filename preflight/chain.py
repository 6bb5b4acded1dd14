"""The chain from a source to facts: each stage's function, called in order.

In: a source and a `Request` (what the caller said, by option or config).  Out: `Resolved` launches with their settings
and facts.  Front-ends are handed each other here; a stage is imported when a file needs it, so that a bash script
never pays for LibCST.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from preflight.budget import Budget
from preflight.configuration.model import Configuration
from preflight.diagnostics import Severity
from preflight.engine.rule import RuleSet
from preflight.execution import Context, Script
from preflight.facts.model import Fact
from preflight.facts.surroundings import Surroundings
from preflight.launch.model import Launch
from preflight.record import NamedTuple
from preflight.source import Files, Source, Span
from preflight.values import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Request(NamedTuple):
    """All that the caller says about how scripts are checked.

    `target` is the release's name as typed (None: to be inferred).  `arguments` are the positional arguments from 1.
    `select` and `ignore` hold names of rules and families.  `overlay` are contents that stand in for files of the
    disk; `directory` stands in for the working directory.  `megatron` is a checkout whose own validators are asked.
    `undecided` says whether somebody wants to know which rules could not be decided.
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
    undecided: bool = True


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
        budget=Budget(),
    )


def language_of(source: Source) -> str | None:
    """`shell` or `python`; None for data files, which hold no launch that could be read."""
    first = source.data[:128].partition(b"\n")[0]
    ending = os.path.splitext(source.path)[1].lower()
    if first.startswith(b"#!"):
        names_shell = b"sh" in first.rpartition(b"/")[2]
        return "python" if b"python" in first or (ending == ".py" and not names_shell) else "shell"
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
    from preflight.launch.find import Trial
    from preflight.python import read_script as read

    trial = Trial(len(source.data), context, read_shell=read_shell, read_python=read_python)
    script = read(source, context, **{"read_shell": read_shell, "launches": trial.launches, **state})
    return trial.judge(script)


def resolve(source: Source, request: Request) -> Resolved | None:
    """Follow a script to its launches, their configurations and facts; None for what is no script."""
    context = make_context(source.path, request)
    script = read_script(source, context)
    if script is None:
        return None
    from preflight.launch.find import INSIDE, find_launches

    launches = find_launches(script, context, read_shell=read_shell, read_python=read_python)
    if context.budget is not None and context.budget.spent and not script.truncated:
        inside = Unknown("branches", INSIDE)
        script = script._replace(truncated=(inside,))
    settled = []
    notes: dict[str, None] = {}
    known: dict[object, tuple[tuple[Configuration, Mapping[str, Fact]], ...]] = {}
    left = 0
    for launch in launches:
        key = signature(launch) if len(launches) > 1 else None
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
        for configuration in bind_launch(
            launch, table, context.files, assumed=choice.assumed, beside=choice.beside
        ):
            configuration = configuration._replace(elder=choice.elder, assumed=choice.assumed)
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


def signature(launch: Launch) -> object:
    """What makes two launches of a command the same for every rule: their words, surroundings and remarks."""
    launcher = launch.launcher
    words, count = launch.command, len(launch.argv)
    if words[len(words) - count :] != launch.argv:
        words += launch.argv
    return (
        launch.span,
        count,
        tuple([(word.text.display(), word.text.known, word.many, word.span) for word in words]),
        tuple((name, text and (text.display(), text.known)) for name, text in launch.environment.items()),
        (launcher.kind, launcher.nodes, launcher.processes_per_node, launcher.world_size),
        tuple((remark.kind, remark.span) for remark in launch.remarks),
        launch.configuration and id(launch.configuration.settings),  # the same under other conditions
    )


def place_of(launch: Launch) -> Span:
    """Where a launch stands, in a file."""
    return launch.span.resolve()
