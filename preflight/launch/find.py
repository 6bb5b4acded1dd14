"""Launches: the commands of a script that start a training program.

In: what a front-end executed, and the front-ends themselves for the scripts inside (the text of `bash -c`, of a
here-document, a sibling script that is called).  Out: one `Launch` for each, with wrappers peeled off.  It refuses to
follow what it cannot read, what lies outside the allowed folders, and scripts that call each other in a circle.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from preflight.budget import Budget
from preflight.execution import Context, Script, Word
from preflight.later import later
from preflight.launch.build import build_code_launch, build_launch, build_unknown_launch
from preflight.launch.command import Command, begin_command
from preflight.launch.header import read_header
from preflight.launch.model import Header, Launch, Layer
from preflight.launch.notice import notice
from preflight.launch.options import Grammar, Parsed, cover, declare, known_prefix, parse_options
from preflight.launch.peeling import Peeled, base_name, is_command, peel_wrapper
from preflight.launch.ports import Listener
from preflight.launch.programs import SHELLS, WRAPPERS
from preflight.launch.scheduler import scheduler_variables
from preflight.launch.start import Start, is_python, is_runner, is_starter, read_start
from preflight.launch.subscript import Subscript, derive_script, find_written, join_words, read_sibling
from preflight.launch.synopses.launchers import BASH
from preflight.launch.together import compare_launches
from preflight.record import NamedTuple
from preflight.source import Source
from preflight.values import Text, Unknown

set_apart = later("preflight.shell.pieces", "set_apart")

MAXIMUM_DEPTH = 8
"""How deep scripts inside scripts are followed."""
MAXIMUM_WRAPPERS = 64
"""How many wrappers are peeled off one command."""
MAXIMUM_SCRIPTS = 64
"""How many of them, in one script."""
MAXIMUM_TEXT = 80_000
"""How many bytes of them; a script that is called twice counts twice."""

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


LEAST_TRIAL, MOST_TRIAL = 40, 150
"""Statements of scripts inside that are followed to see whether there is a launch at all."""

TRIAL = 50
"""Bytes of a file for one of them."""


class Trial:
    """Whether what a front-end has found so far launches anything, asked before it looks any closer.

    `found`: it does.  Scripts inside are followed as far as a budget goes that is in proportion to the file's `size`,
    in bytes; what was read in it is not read again.
    """

    def __init__(
        self, size: int, context: Context, *, read_shell: ReadShell, read_python: ReadPython
    ) -> None:
        statements = min(max(size // TRIAL, LEAST_TRIAL), MOST_TRIAL)
        self.context = context._replace(budget=Budget(statements))
        self.whole = context.budget
        self.read_shell = read_shell
        self.read_python = read_python
        self.found = False

    def launches(self, script: Script) -> bool:
        """Whether a script launches anything."""
        search = _Search(script.source, self.context, self.read_shell, self.read_python)
        found = any(True for _ in search.search_script(script, None, None))
        if self.whole is not None and not search.budget.spent:
            self.whole.known.update(search.budget.known)
        self.found = self.found or found
        return found

    def judge(self, script: Script) -> Script:
        """The script as the last look has left it: without commands, where none of them launches anything."""
        if self.found or script.configurations:
            return script
        budget = self.context.budget
        assert budget is not None
        inside = (Unknown("branches", INSIDE),) if budget.spent else ()
        return script._replace(executions=(), truncated=(*script.truncated, *inside))


INSIDE = "too many paths or loops in the scripts that it runs"


class _Inner(NamedTuple):
    """A script inside the script, already evaluated."""

    script: Script
    header: Header | None


class _Search:
    def __init__(
        self, source: Source, context: Context, read_shell: ReadShell, read_python: ReadPython
    ) -> None:
        self.source = source
        self.budget = context.budget or Budget()
        self.context = context._replace(budget=self.budget)
        self.read_shell = read_shell
        self.read_python = read_python
        self.known = self.budget.known
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
        for _ in range(MAXIMUM_WRAPPERS):
            if not command.words:
                return
            name = base_name(command.words[0])
            if name is None:
                begin = next((i for i, w in enumerate(command.words) if i and is_command(w)), None)
                if begin is None:
                    unknown = build_unknown_launch(self.source, command, self.context)
                    if unknown is not None:
                        yield unknown
                    return
                layer = Layer("unknown", {}, cover(command.words[:begin]))
                command = command._replace(words=command.words[begin:], layers=(*command.layers, layer))
                continue
            if (
                is_starter(command.words)
                or is_runner(command.words)
                or is_python(name)
                or name.endswith(".py")
            ):
                yield from self.start(command)
                return
            if name in SHELLS:
                yield from self.run_shell(command)
                return
            if name == "eval":
                yield from self.run_text(command, join_words(command.words[1:]))
                return
            wrapper = WRAPPERS.get(name)
            if wrapper is None and self.hides_command(command, name):
                layer = Layer("unknown", {}, command.words[0].span, command.words[:1])
                command = command._replace(words=command.words[1:], layers=(*command.layers, layer))
                continue
            if wrapper is None:
                yield from self.run_file(command)
                return
            peeled = peel_wrapper(command, wrapper, self.context)
            if peeled is None or peeled.kind != "command":
                yield from self.run_peeled(peeled)
                return
            command = peeled.command

    def hides_command(self, command: Command, name: str) -> bool:
        """Whether a script that cannot be read is given python or a launcher to run (`bind.sh python train.py`)."""
        words = command.words
        if not name.endswith(".sh") or len(words) < 2:
            return False
        inner = base_name(words[1])
        if inner is None or not (is_python(inner) or is_starter(words[1:])):
            return False
        return read_sibling(words[0], command.directory, self.context.files) is None

    def run_peeled(self, peeled: Peeled | None) -> Iterable[Launch]:
        """The text or the batch script that a wrapper runs."""
        if peeled is None:
            return ()
        if peeled.kind == "text":
            return self.run_text(peeled.command, peeled.text)
        return self.submit(peeled.command, peeled.options)

    def start(self, command: Command) -> Iterable[Launch]:
        """A launcher or python itself."""
        start = read_start(command.words)
        if start is None:
            return ()
        if start.code is not None or start.standard_input:
            text = start.code if start.code is not None else command.standard_input
            return self.run_python(command, text) if text is not None else ()
        inner = self.start_tasks(command, start)
        if inner:
            return inner
        if command.handed_to is None and not start.is_launch(command.layers, command.environment):
            return ()
        return (build_launch(self.source, command, start, self.context),)

    def start_tasks(self, command: Command, start: Start) -> tuple[Launch, ...]:
        """What a shell or a script starts that a launcher runs as each of its tasks (`--no-python bash -c TEXT`)."""
        if start.program is None or "no_python" not in start.options.settings:
            return ()
        name = base_name(start.program)
        if name is None or not (name in SHELLS or name.endswith(".sh")):
            return ()
        task = command._replace(words=(start.program, *start.argv), depth=command.depth + 1)
        launcher = build_launch(self.source, command, start, self.context).launcher
        return tuple(
            each._replace(launcher=launcher) for each in self.peel(task) if each.launcher.kind == "python"
        )

    # Scripts inside.

    def run_shell(self, command: Command) -> Iterable[Launch]:
        """`bash -c TEXT`, `bash FILE ARGUMENTS`, bash with a here-document."""
        parsed = parse_options(command.words[1:], shell_grammar())
        rest = parsed.rest
        if "command" in parsed.settings:
            if not rest:
                return ()
            return self.run_text(command, set_apart(rest[0].text), rest[1:], rest[2:])
        if rest and "stdin" not in parsed.settings:
            return self.run_file(command._replace(words=rest), called=False)
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

    def run_file(self, command: Command, *, called: bool = True) -> Iterator[Launch]:
        """A script of the project, or one that the script itself wrote, called by its path."""
        text = find_written(command.words[0], command.written, called=called)
        if text is not None:
            yield from self.run_text(command, text, command.words[:1], command.words[1:])
            return
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
            yield from self.wrap(command, Header("slurm", parsed.settings, wrapped.span), wrapped.text)
            return
        layer = command.layers[-1]
        kind = "slurm" if layer.kind == "sbatch" else "pbs"
        words = command.words
        piped = not words or known_prefix(words[0].text) == "-"
        text = command.standard_input if piped else find_written(words[0], command.written)
        if text is not None:
            subscript = derive_script(text, words[1:], self.source.path, None)
            plain = derive_script(text, (), self.source.path, None)
            own = read_header(plain.source, plain.unknowns)
            self.stack.append("")
        elif piped:
            return
        else:
            sibling = read_sibling(words[0], command.directory, self.context.files)
            if sibling is None or sibling[0] in self.stack:
                return
            subscript = derive_script(sibling[1], words[1:], sibling[1].path, words[0].text.value)
            own = read_header(sibling[1])
            self.stack.append(sibling[0])
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

    def wrap(self, command: Command, header: Header, text: Text) -> Iterator[Launch]:
        """A command line that sbatch makes a job of."""
        given = scheduler_variables(header, self.context.environment)
        environment = {**command.environment, **given}
        submitted = command._replace(layers=command.layers[:-1], environment=environment, header=header)
        yield from self.run_text(submitted, text)

    def run(self, command: Command, subscript: Subscript, header: Header | None) -> Iterator[Launch]:
        if command.depth >= MAXIMUM_DEPTH:
            return
        environment = tuple(command.environment.items())
        key = (subscript.source.data, subscript.name, subscript.premises, environment)
        inner = self.known.get(key)
        if not isinstance(inner, _Inner):
            many = len(self.known) >= MAXIMUM_SCRIPTS or self.read >= MAXIMUM_TEXT
            if many or self.budget.spent:
                return
            self.read += len(subscript.source.data)
            script = self.read_shell(
                subscript.source,
                subscript.context(self.context),
                unknowns=subscript.unknowns,
                exported=command.environment,
            )
            inner = self.known[key] = _Inner(subscript.restore(script), header)
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
        key = ("python", subscript.source.data, subscript.premises, tuple(command.environment.items()))
        inner = self.known.get(key)
        if not isinstance(inner, _Inner):
            script = self.read_python(
                subscript.source,
                subscript.context(self.context),
                unknowns=subscript.unknowns,
                exported=command.environment,
            )
            inner = self.known[key] = _Inner(subscript.restore(script), None)
        yield from self.search_script(inner.script, command, command.header)


def shell_grammar() -> Grammar:
    return declare(BASH, abbreviate=False)
