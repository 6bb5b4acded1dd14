"""What `eval` reads again, where that changes nothing: a plain command, as nearly always.

In: the words that `eval` was given.  Out: the source that their text makes, and the words in it, as lexing and
expanding it would give them.  Refuses (None) whatever means more than its characters: quotes, expansions,
operators, patterns, assignments in front, words that begin a compound command.
"""

from __future__ import annotations

from collections.abc import Sequence

from preflight.execution import Word
from preflight.patterns import pattern
from preflight.shell.lexer import DECLARATIONS
from preflight.shell.pieces import cut
from preflight.source import Source, Span
from preflight.values import PLACEHOLDER, Piece, Text

_COMMAND = pattern(r"[A-Za-z_./][\w./+-]*", 256)
_TELLING = pattern(r"[^A-Za-z0-9_\-./=:,+@% \t]")
"""A character that is more than itself to the shell, or that may be."""
_WORDS = pattern(r"[^ \t]+")
_RESERVED = DECLARATIONS | frozenset(
    (
        "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "select",
        "function", "in", "time", "coproc",
    )
)  # fmt: skip

Stretches = list[list[Piece]]


def read_again(words: Sequence[Word], path: str) -> tuple[Source, list[Word]] | None:
    """The words of `eval` as a command of their own, in a source with this path."""
    stretches = split_again(words)
    if not stretches:
        return None
    name = Text(stretches[0]).value
    if name is None or not _COMMAND.fullmatch(name) or name in _RESERVED:
        return None
    data = bytearray()
    origins: list[tuple[int, int, Span]] = []
    ranges: list[tuple[int, int]] = []
    for pieces in stretches:
        if data:
            data += b" "
        begin = len(data)
        for piece in pieces:
            at = len(data)
            data += (piece.text if piece.unknown is None else PLACEHOLDER).encode()
            origins.append((at, len(data), piece.span))
        ranges.append((begin, len(data)))
    source = Source(path, bytes(data), tuple(origins))
    return source, [
        Word(Text(pieces), Span(source, start, end), all(piece.unknown is not None for piece in pieces))
        for pieces, (start, end) in zip(stretches, ranges, strict=True)
    ]


def split_again(words: Sequence[Word]) -> Stretches | None:
    """The pieces of each word, split at the blanks that are still inside."""
    out: Stretches = []
    for word in words:
        current: list[Piece] = []
        for piece in word.text.pieces:
            text = piece.text
            if piece.unknown is not None:
                current.append(piece)
                continue
            if _TELLING.search(text):
                return None
            if " " not in text and "\t" not in text:
                if text:
                    current.append(piece)
                continue
            at = 0
            for found in _WORDS.finditer(text):
                start, stop = found.span()
                if start > at or start > 0:
                    if current:
                        out.append(current)
                    current = []
                current.append(cut(piece, start, stop))
                at = stop
            if at < len(text) and current:
                out.append(current)
                current = []
        if current:
            out.append(current)
    return out
