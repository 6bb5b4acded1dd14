"""Reads Python for the tests, with a shell front-end that hands the text back unread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from preflight.execution import Context, Execution, Script, Word
from preflight.python import read_script
from preflight.source import Files, Source, Span
from preflight.values import Piece, Text


def keep_text(
    source: Source,
    context: Context,
    *,
    unknowns: Mapping[int, Piece] = {},
    variables: Mapping[str, Text | None] = {},
    exported: Mapping[str, Text | None] = {},
) -> Script:
    """One execution, `sh -c TEXT`."""
    pieces: list[Piece] = []
    at = 0
    for offset in sorted(unknowns):
        if offset > at:
            pieces.append(Piece(source.data[at:offset].decode(), Span(source, at, offset)))
        pieces.append(unknowns[offset])
        at = offset + 3
    if at < len(source.data):
        pieces.append(Piece(source.data[at:].decode(), Span(source, at, len(source.data))))
    whole = Span(source, 0, len(source.data))
    words = (
        Word(Text.literal("sh", whole), whole),
        Word(Text.literal("-c", whole), whole),
        Word(Text(pieces), whole),
    )
    return Script(source, (Execution(words, whole, exported, {}, None, ()),))


def read_text(
    text: str | bytes,
    *,
    folder: Path = Path("/nonexistent"),
    closed: bool = True,
    environment: Mapping[str, str] = {},
    arguments: Mapping[int, str] = {},
    unknowns: Mapping[int, Piece] = {},
    strict: bool = False,
    name: str = "launch.py",
    launches: Callable[[Script], bool] | None = None,
) -> Script:
    """Read a text as the file `launch.py` of a folder."""
    data = text.encode() if isinstance(text, str) else text
    context = Context(
        Files(str(folder), (str(folder),)),
        environment=environment,
        closed_environment=closed,
        strict_environment=strict,
        arguments=arguments,
        closed_arguments=closed,
    )
    return read_script(
        Source(name, data), context, read_shell=keep_text, unknowns=unknowns, launches=launches
    )


def lines(script: Script) -> list[str]:
    """The commands as text, unknown words in angle brackets."""
    return [
        " ".join(w.text.display() if w.text.known else f"<{w.text.display()}>" for w in e.words)
        for e in script.executions
    ]
