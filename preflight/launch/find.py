"""Launches: the commands of a script that start a training program.

In: what a front-end executed, and the front-ends themselves for the scripts inside (the text of `bash -c`, of a
here-document, a sibling script that is called).  Out: one `Launch` for each, with wrappers peeled off.  It refuses to
follow what it cannot read, what lies outside the allowed folders, and scripts that call each other in a circle.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from preflight.execution import CodeConfiguration, Context, Script, Word
from preflight.launch.command import Command, begin_command, pass_environment, take_assignments
from preflight.launch.header import read_header
from preflight.launch.model import Header, Launch, Launcher, Layer, Number, Setting
from preflight.launch.notice import notice
from preflight.launch.options import Parsed, cover, known_prefix, parse_options
from preflight.launch.ports import Listener
from preflight.launch.programs import SHELLS, WRAPPERS, Wrapper
from preflight.launch.scheduler import scheduler_variables
from preflight.launch.slips import notice_options
from preflight.launch.start import is_python, is_starter, list_flags, read_start
from preflight.launch.subscript import Subscript, derive_script, join_words, read_sibling
from preflight.launch.synopses.launchers import BASH
from preflight.launch.together import compare_launches
from preflight.launch.topology import measure
from preflight.record import NamedTuple
from preflight.source import Source, Span
from preflight.values import Text, Unknown

MAXIMUM_DEPTH = 8
"""How deep scripts inside scripts are followed."""
MAXIMUM_SCRIPTS = 64
"""How many of them, in one script."""
MAXIMUM_TEXT = 80_000
"""How many bytes of them; a script that is called twice counts twice."""

MAXIMUM_EXHAUSTED = 2
"""How many of them may run out of fuel before no more are followed."""

ReadShell = Callable[..., Script]
ReadPython = Callable[..., Script]


def find_launches(
    script: Script,
    context: Context,
    *,
    read_shell: ReadShell,
    read_python: ReadPython,
    header: Header | None = None,
) -> tuple[Launch, ...]:
    """The launches of a script in the order of its commands; those of scripts inside it stand where they are called."""
    header = header or read_header(script.source)
    search = _Search(script.source, context, read_shell, read_python)
    found = tuple(notice(launch) for launch in search.search_script(script, None, header))
    return compare_launches(found)


class _Inner(NamedTuple):
    """A script inside the script, already evaluated."""

    script: Script
    header: Header | None


class _Search:
    def __init__(
        self, source: Source, context: Context, read_shell: ReadShell, read_python: ReadPython
    ) -> None:
        self.source = source
        self.context = context
        self.read_shell = read_shell
        self.read_python = read_python
        self.known: dict[Any, _Inner] = {}
        self.exhausted = 0
        self.read = 0
        self.stack: list[str] = [os.path.realpath(source.path)]

    def search_script(self, script: Script, outer: Command | None, header: Header | None) -> Iterator[Launch]:
        listener = Listener()
        for execution in script.executions:
            if not execution.words:
                continue
            for launch in self.peel(begin_command(execution, outer, header)):
                yield listener.start(launch, execution.background)
        for configuration in script.configurations:
            yield build_code_launch(self.source, configuration, outer)

    def peel(self, command: Command) -> Iterator[Launch]:
        """Peel wrappers until a launch, a script inside, or something else is left."""
        for _ in range(64):
            if not command.words:
                return
            name = base_name(command.words[0])
            if name is None:
                begin = next((i for i, w in enumerate(command.words) if i and is_command(w)), None)
                if begin is None:
                    yield from self.unknown_command(command)
                    return
                layer = Layer("unknown", {}, cover(command.words[:begin]))
                command = command._replace(words=command.words[begin:], layers=(*command.layers, layer))
                continue
            if is_starter(command.words) or is_python(name) or name.endswith(".py"):
                yield from self.start(command, name)
                return
            if name in SHELLS:
                yield from self.run_shell(command)
                return
            if name == "eval":
                yield from self.run_text(command, join_words(command.words[1:]))
                return
            wrapper = WRAPPERS.get(name)
            if wrapper is None:
                yield from self.run_file(command)
                return
            after = self.unwrap(command, wrapper)
            if isinstance(after, Command):
                command = after
                continue
            yield from after
            return

    def unwrap(self, command: Command, wrapper: Wrapper) -> Command | Iterable[Launch]:
        """Behind one wrapper: the inner command, or the launches of the text or script that it runs."""
        words = command.words[1:]
        if wrapper.subcommands:
            at = next(
                (i for i, w in enumerate(words) if not known_prefix(w.text).startswith("-")), len(words)
            )
            if at == len(words) or words[at].text.value not in wrapper.subcommands:
                return ()
            words = words[at + 1 :]
        if wrapper.kind == "ray":
            if not words or words[0].text.value != "submit":
                return ()
            words = words[1:]
        if wrapper.kind == "nice" and words and re.fullmatch(r"-\d+", known_prefix(words[0].text)):
            words = words[1:]
        parsed = parse_options(words, wrapper.grammar, is_command)
        rest, environment = parsed.rest, command.environment
        if wrapper.kind == "command" and "describe" in parsed.settings:
            return ()
        options = parsed.settings
        if wrapper.kind == "docker" and command.words[1].text.value == "exec":
            options["subcommand"] = Setting("subcommand", command.words[1].text, command.words[1].span)
        behind = len(command.words) - len(parsed.rest)
        layer = Layer(wrapper.kind, options, command.words[0].span, command.words[:behind])
        inner = command._replace(layers=(*command.layers, layer), environment=environment)
        inner = pass_environment(inner, wrapper, parsed, self.context)
        if wrapper.kind == "env" and (split := parsed.settings.get("split_string")) and split.text:
            return self.run_text(inner, join_words((Word(split.text, split.span), *rest)))
        if wrapper.assignments:
            rest, changed = take_assignments(rest, inner.environment)
            inner = inner._replace(environment=changed)
        rest = skip_operands(rest, wrapper.operands)
        if (
            wrapper.kind == "uv"
            and rest
            and (known_prefix(rest[0].text).endswith(".py") or "module" in parsed.settings)
        ):
            rest = python_words(rest, "module" in parsed.settings, command.words[0].span)
        if wrapper.kind == "docker" and (entry := parsed.settings.get("entrypoint")) and entry.text:
            rest = (Word(entry.text, entry.span), *rest)
        if wrapper.inner == "shell":
            return self.run_text(inner._replace(directory=None), join_words(rest))
        if wrapper.inner == "script":
            return self.submit(inner._replace(words=rest), parsed)
        if wrapper.kind == "ray" and len(rest) == 1:
            return self.run_text(inner, rest[0].text)
        if rest and known_prefix(rest[0].text) == "--":
            rest = rest[1:]
        return inner._replace(words=rest)

    def start(self, command: Command, name: str) -> Iterable[Launch]:
        """A launcher or python itself."""
        start = read_start(command.words)
        if start is None:
            return ()
        if start.code is not None or start.standard_input:
            text = start.code if start.code is not None else command.standard_input
            return self.run_python(command, text) if text is not None else ()
        if command.handed_to is None and not start.is_launch(command.layers, command.environment):
            return ()
        launcher = measure(start, command, self.context)
        return (
            Launch(
                source=self.source,
                span=place_command(command, start.command),
                launcher=launcher,
                command=start.command,
                program=start.program,
                argv=start.argv,
                environment=command.environment,
                conditions=command.conditions,
                wrappers=command.layers,
                header=command.header,
                open=tuple(dict.fromkeys(u for word in start.argv if word.many for u in word.text.unknowns)),
                remarks=(*command.remarks, *notice_options(start, not command.conditions)),
                closed_environment=command.handed_to is None
                and (self.context.closed_environment or command.closed),
                directory=command.directory,
                module=start.module,
                lost={name: pair for name, pair in command.lost.items() if name not in command.environment},
            ),
        )

    def unknown_command(self, command: Command) -> Iterable[Launch]:
        """An unknown word in the place of the launcher, in front of a program with flags that only a training has."""
        words = command.words
        at = next((i for i, w in enumerate(words) if i and known_prefix(w.text).endswith(".py")), None)
        if at is None or not list_flags(words[at + 1 :]):
            return ()
        unknown = words[0].text.unknowns[0]
        number = Number(None, "launcher", words[0].span, unknown, (), words[0].text.display())
        launcher = Launcher("unknown", number, number, number, {}, words[0].span)
        argv = words[at + 1 :]
        return (
            Launch(
                self.source,
                command.span,
                launcher,
                words,
                words[at],
                argv,
                command.environment,
                command.conditions,
                command.layers,
                command.header,
                tuple(dict.fromkeys(u for word in argv if word.many for u in word.text.unknowns)),
                command.remarks,
                closed_environment=self.context.closed_environment or command.closed,
                directory=command.directory,
            ),
        )

    # Scripts inside.

    def run_shell(self, command: Command) -> Iterable[Launch]:
        """`bash -c TEXT`, `bash FILE ARGUMENTS`, bash with a here-document."""
        parsed = parse_options(command.words[1:], shell_grammar())
        rest = parsed.rest
        if "command" in parsed.settings:
            if not rest:
                return ()
            return self.run_text(command, rest[0].text, rest[1:], rest[2:])
        if rest and "stdin" not in parsed.settings:
            return self.run_file(command._replace(words=rest))
        if command.standard_input is not None:
            return self.run_text(command, command.standard_input, (), rest)
        return ()

    def run_text(
        self,
        command: Command,
        text: Text,
        name: tuple[Word, ...] = (),
        arguments: tuple[Word, ...] = (),
    ) -> Iterator[Launch]:
        """The text of a script, with its arguments."""
        if not text.pieces or command.depth >= MAXIMUM_DEPTH:
            return
        zero = name[0].text.value if name else None
        subscript = derive_script(text, arguments, self.source.path, zero)
        yield from self.run(command, subscript, command.header)

    def run_file(self, command: Command) -> Iterator[Launch]:
        """A script of the project, called by its path."""
        sibling = read_sibling(command.words[0], command.directory, self.context.files)
        if sibling is None or command.depth >= MAXIMUM_DEPTH:
            return
        real, source = sibling
        if real in self.stack:
            return
        self.stack.append(real)
        try:
            subscript = derive_script(source, command.words[1:], source.path, command.words[0].text.value)
            yield from self.run(command, subscript, command.header)
        finally:
            self.stack.pop()

    def submit(self, command: Command, parsed: Parsed) -> Iterator[Launch]:
        """sbatch and qsub: a script, a wrapped command, or standard input, with a header of its own."""
        wrapped = parsed.settings.get("wrap")
        if wrapped is not None and wrapped.text is not None:
            header = Header("slurm", parsed.settings, wrapped.span)
            yield from self.run_text(command._replace(header=header), wrapped.text)
            return
        layer = command.layers[-1]
        kind = "slurm" if layer.kind == "sbatch" else "pbs"
        if command.words and known_prefix(command.words[0].text) != "-":
            sibling = read_sibling(command.words[0], command.directory, self.context.files)
            if sibling is None or sibling[0] in self.stack:
                return
            subscript = derive_script(
                sibling[1], command.words[1:], sibling[1].path, command.words[0].text.value
            )
            own = read_header(sibling[1])
            self.stack.append(sibling[0])
        elif command.standard_input is not None:
            subscript = derive_script(command.standard_input, command.words[1:], self.source.path, None)
            own = read_header(subscript.source, subscript.unknowns)
            self.stack.append("")
        else:
            return
        options = {**(own.options if own is not None else {}), **parsed.settings}
        base = own if own is not None else Header(kind, {}, layer.span)
        header = base._replace(options=options)
        try:
            given = scheduler_variables(header, self.context.environment)
            environment = {**command.environment, **given}
            submitted = command._replace(layers=command.layers[:-1], environment=environment)
            yield from self.run(submitted, subscript, header)
        finally:
            self.stack.pop()

    def run(self, command: Command, subscript: Subscript, header: Header | None) -> Iterator[Launch]:
        if command.depth >= MAXIMUM_DEPTH:
            return
        key = (subscript.source.data, subscript.name, tuple(command.environment.items()))
        inner = self.known.get(key)
        if inner is None:
            spent = len(self.known) >= MAXIMUM_SCRIPTS or self.exhausted >= MAXIMUM_EXHAUSTED
            if spent or self.read >= MAXIMUM_TEXT:
                return
            self.read += len(subscript.source.data)
            script = self.read_shell(
                subscript.source,
                subscript.context(self.context),
                unknowns=subscript.unknowns,
                exported=command.environment,
            )
            inner = self.known[key] = _Inner(subscript.restore(script), header)
            self.exhausted += bool(script.truncated)
        remarks = inner.script.remarks
        if header is not None and header is not command.header:
            remarks = (*remarks, *header.remarks)
        for launch in self.search_script(inner.script, command, header):
            yield launch._replace(remarks=(*launch.remarks, *remarks)) if remarks else launch

    def run_python(self, command: Command, text: Text) -> Iterator[Launch]:
        """Code given to python by `-c` or a here-document."""
        if command.depth >= MAXIMUM_DEPTH or len(self.known) >= MAXIMUM_SCRIPTS:
            return
        subscript = derive_script(text, (), self.source.path, None)
        key = ("python", subscript.source.data, tuple(command.environment.items()))
        inner = self.known.get(key)
        if inner is None:
            script = self.read_python(
                subscript.source,
                subscript.context(self.context),
                unknowns=subscript.unknowns,
                exported=command.environment,
            )
            inner = self.known[key] = _Inner(subscript.restore(script), None)
        yield from self.search_script(inner.script, command, command.header)


def base_name(word: Word) -> str | None:
    """The name of a command without its folder; a folder need not be known."""
    tail = word.text.display() if word.text.known else _known_tail(word.text)
    if tail is None or word.many:
        return None
    return tail.rsplit("/", 1)[-1] or None


def _known_tail(text: Text) -> str | None:
    """What follows the last slash, where that is known (`$ROOT/bin/torchrun`)."""
    tail = []
    for piece in reversed(text.pieces):
        if piece.unknown is not None:
            return None
        tail.append(piece.text)
        if "/" in piece.text:
            return "".join(reversed(tail))
    return None


def is_command(word: Word) -> bool:
    """Whether a word names a launcher, a wrapper, a shell or python."""
    name = base_name(word)
    if name is None:
        return False
    return name in WRAPPERS or name in SHELLS or is_python(name) or is_starter((word,), loose=True)


def skip_operands(words: tuple[Word, ...], count: int) -> tuple[Word, ...]:
    """Leave out operands that stand in front of the inner command; one of unknown length may hold several."""
    for _ in range(count):
        if words and not is_command(words[0]):
            words = words[1:]
    return words


def python_words(words: tuple[Word, ...], module: bool, span: Span) -> tuple[Word, ...]:
    """The words of the python command that `uv run FILE` or `uv run -m MODULE` stands for."""
    python = Word(Text.literal("python", Span(span.source, span.start, span.start)), span)
    if module:
        return (python, Word(Text.literal("-m", Span(span.source, span.start, span.start)), span), *words)
    return (python, *words)


def shell_grammar() -> Any:
    from preflight.launch.options import declare

    return declare(BASH, abbreviate=False)


def place_command(command: Command, words: tuple[Word, ...]) -> Span:
    """Where a launch stands: from the launcher to the last word, without the wrappers in front."""
    whole, inner = command.span, cover(words)
    if inner.source is whole.source and whole.start <= inner.start and inner.end <= whole.end:
        return Span(whole.source, inner.start, whole.end)
    return whole


def build_code_launch(source: Source, configuration: CodeConfiguration, outer: Command | None) -> Launch:
    """A configuration that code builds: nothing is known of how it is started."""
    unknown = Unknown("code", "the launcher")
    number = Number(None, "launcher", configuration.span, unknown)
    return Launch(
        source=source,
        span=configuration.span,
        launcher=Launcher("code", number, number, number, {}, configuration.span),
        command=(),
        program=None,
        argv=(),
        environment=outer.environment if outer is not None else {},
        conditions=(*(outer.conditions if outer is not None else ()), *configuration.conditions),
        open=configuration.open,
        configuration=configuration,
    )
