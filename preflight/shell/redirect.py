"""Redirections: what standard input holds, and where standard output goes.

In: the redirections of a command.  Out: texts and paths.  Files that the script writes are kept in the state, so
that it can run or read them later; nothing is written.
"""

from __future__ import annotations

from preflight.shell.expand import Expansion
from preflight.shell.parts import Redirect
from preflight.shell.pieces import EMPTY
from preflight.shell.state import State
from preflight.source import Source, Span
from preflight.values import Piece, Text, Unknown, name_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from preflight.shell.evaluate import Evaluator


class NoInputError(Exception):
    """A redirection names no file: bash does not run the command."""


def read_input(evaluator: Evaluator, expansion: Expansion, redirects: tuple[Redirect, ...]) -> Text | None:
    """What standard input holds, where a redirection says so."""
    given = None
    for redirect in redirects:
        if redirect.descriptor not in (None, "0"):
            continue
        if redirect.body is not None:
            given = expansion.document(
                *redirect.body, stripped=redirect.operator == "<<-", literal=redirect.literal
            )
        elif redirect.operator == "<<<" and redirect.target is not None:
            text = expansion.single(redirect.target, flatten=True)
            newline = Span(expansion.source, redirect.end, redirect.end)
            given = text.joined(Text((Piece("\n", newline),)))
        elif redirect.operator == "<" and redirect.target is not None:
            path = expansion.single(redirect.target)
            if path.value == "":
                raise NoInputError
            given = read_file(evaluator, expansion, path)
    return given


def read_file(evaluator: Evaluator, expansion: Expansion, path: Text) -> Text:
    """The text of a file of the project, or of one that the script wrote itevaluator."""
    state = expansion.state
    span = path.pieces[0].span if path.pieces else Span(expansion.source, 0, 0)
    value = path.value
    if value is None:
        return Text.missing(Unknown("file", path.display()), span)
    if value == "/dev/null":
        return EMPTY
    if value in state.files:
        return state.files[value]
    directory = state.directory.value if state.directory is not None else None
    found = evaluator.context.files.read(value, directory) if directory is not None else None
    if isinstance(found, Source) and len(found.data) <= 1_000_000 and b"\0" not in found.data:
        return Text((Piece(found.data.decode("utf-8", "surrogateescape"), found.span(0, len(found.data))),))
    return Text.missing(Unknown("file", value), span)


def find_sink(
    evaluator: Evaluator, expansion: Expansion, redirects: tuple[Redirect, ...]
) -> str | bool | None:
    """Where standard output goes: None as before, a path, or True for somewhere else."""
    sink: str | bool | None = None
    for redirect in redirects:
        operator, target = redirect.operator, redirect.target
        if operator in (">", ">>", ">|", "&>", "&>>") and redirect.descriptor in (None, "1"):
            if target is not None:
                value = name_file(expansion.single(target))
                sink = value if value is not None and value != "/dev/stdout" else True
                if value == "/dev/stdout":
                    sink = None
        elif operator == ">&" and redirect.descriptor in (None, "1") and target is not None:
            sink = None if target.plain == "1" else True
    return sink


def store_output(
    evaluator: Evaluator, state: State, sink: str | bool, redirects: tuple[Redirect, ...]
) -> None:
    """Keep what was written to a file, for a script that reads or runs it later."""
    if not isinstance(sink, str) or sink.startswith("/dev/"):
        return
    written = Text(state.output or ())
    if any(r.operator in (">>", "&>>") for r in redirects):
        before = state.files.get(sink)
        if before is None:
            written = Text.missing(Unknown("file", sink), Span(Source(sink, b""), 0, 0)).joined(written)
        else:
            written = before.joined(written)
    state.files = {**state.files, sink: written}
