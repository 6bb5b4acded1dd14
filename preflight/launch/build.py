"""A launch put together from what was found of it.

In: a command without its wrappers, and what starts the processes.  Out: `Launch`.  Nothing is decided here.
"""

from __future__ import annotations

from preflight.execution import CodeConfiguration, Context, Word
from preflight.launch.command import Command
from preflight.launch.model import Launch, Launcher, Number
from preflight.launch.options import cover, known_prefix
from preflight.launch.slips import notice_options
from preflight.launch.start import Start, list_flags
from preflight.launch.topology import measure
from preflight.source import Source, Span
from preflight.values import Unknown


def build_launch(source: Source, command: Command, start: Start, context: Context) -> Launch:
    """A launch whose launcher is known."""
    return Launch(
        source=source,
        span=place_command(command, start.command),
        launcher=measure(start, command, context),
        command=start.command,
        program=start.program,
        argv=start.argv,
        environment=command.environment,
        conditions=command.conditions,
        wrappers=command.layers,
        header=command.header,
        open=list_open(start.argv),
        remarks=(*command.remarks, *notice_options(start, not command.conditions)),
        closed_environment=command.handed_to is None and (context.closed_environment or command.closed),
        directory=command.directory,
        module=start.module,
        written=command.written,
        lost={name: pair for name, pair in command.lost.items() if name not in command.environment},
    )


def build_unknown_launch(source: Source, command: Command, context: Context) -> Launch | None:
    """An unknown word in the place of the launcher, in front of a program with flags that only a training has."""
    words = command.words
    at = next((i for i, w in enumerate(words) if i and known_prefix(w.text).endswith(".py")), None)
    if at is None or not list_flags(words[at + 1 :]):
        return None
    unknown = words[0].text.unknowns[0]
    number = Number(None, "launcher", words[0].span, unknown, (), words[0].text.display())
    return Launch(
        source=source,
        span=command.span,
        launcher=Launcher("unknown", number, number, number, {}, words[0].span),
        command=words,
        program=words[at],
        argv=words[at + 1 :],
        environment=command.environment,
        conditions=command.conditions,
        wrappers=command.layers,
        header=command.header,
        open=list_open(words[at + 1 :]),
        remarks=command.remarks,
        closed_environment=context.closed_environment or command.closed,
        directory=command.directory,
    )


def list_open(argv: tuple[Word, ...]) -> tuple[Unknown, ...]:
    """Why the command line has a part of unknown length."""
    return tuple(dict.fromkeys([u for word in argv if word.many for u in word.text.unknowns]))


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
