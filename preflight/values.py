"""Text made of known and unknown pieces, each with where it came from.

In: what front-ends read and compute.  Out: `Text`, the value type of every later stage.  An unknown piece
carries its reason and its place; it never turns into a guess.
"""

from __future__ import annotations

from collections.abc import Iterable

from preflight.record import NamedTuple
from preflight.source import Source, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Reason = Literal[
        "environment",  # a variable that the caller's environment may set
        "positional",  # an argument of the script
        "command",  # the output or status of a command that is not modelled
        "syntax",  # something that the front-end does not understand
        "file",  # a file that could not be read
        "branches",  # too many paths, or a loop without a known bound
        "code",  # a value that the program's own code computes
        "scheduler",  # a value that the scheduler decides when the job starts
        "node",  # a property of the machine
        "rest",  # an open command line: unresolved "$@" or $EXTRA_ARGS may hold it
        "program",  # the program's own flags or defaults are not known
    ]
else:
    Reason = str


class Unknown(NamedTuple):
    """Why a value is not known, as the user wrote it (`$NNODES`), and the variable that would decide it."""

    reason: Reason
    text: str
    name: str | None = None

    @property
    def remedy(self) -> str | None:
        """The option that decides it, if there is one."""
        if self.name is None:
            return None
        if self.reason == "environment":
            return f"--env {self.name}=..."
        if self.reason == "positional":
            return f"--arg {self.name}=..."
        return None


class Assumption(NamedTuple):
    """`name` has `value` as long as the caller does not set it; `span` is where the script says so."""

    name: str
    value: str
    span: Span


class Step(NamedTuple):
    """A station of a value on its way to the command line, for people: `TP is assigned here`."""

    span: Span
    text: str


class Piece(NamedTuple):
    """A stretch of text with one origin.

    `span` is where the characters stand in a source; `steps` leads from there towards the use, nearest to the
    literal first.  For an unknown piece `text` is how it is shown.
    """

    text: str
    span: Span
    unknown: Unknown | None = None
    steps: tuple[Step, ...] = ()
    assumptions: tuple[Assumption, ...] = ()


class Text:
    """An immutable sequence of pieces. `value`: the text if all of it is known, else None."""

    __slots__ = ("known", "pieces", "value")

    def __init__(self, pieces: Iterable[Piece] = ()) -> None:
        pieces = tuple(pieces)
        value: str | None = ""
        if len(pieces) == 1:
            piece = pieces[0]
            value = piece.text if piece.unknown is None else None
        elif pieces:
            texts = []
            for piece in pieces:
                if piece.unknown is not None:
                    value = None
                    break
                texts.append(piece.text)
            else:
                value = "".join(texts)
        self.pieces: tuple[Piece, ...] = pieces
        self.value = value
        self.known = value is not None

    @classmethod
    def literal(cls, text: str, span: Span) -> Text:
        return cls((Piece(text, span),))

    @classmethod
    def missing(cls, unknown: Unknown, span: Span) -> Text:
        return cls((Piece(unknown.text, span, unknown),))

    def __repr__(self) -> str:
        return f"Text({self.display()!r}{'' if self.known else ', unknown'})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and self.pieces == other.pieces

    def __hash__(self) -> int:
        return hash(self.display())

    @property
    def unknowns(self) -> tuple[Unknown, ...]:
        if self.value is not None:
            return ()
        return tuple([piece.unknown for piece in self.pieces if piece.unknown is not None])

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        found = [assumption for piece in self.pieces for assumption in piece.assumptions]
        return tuple(dict.fromkeys(found)) if found else ()

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(dict.fromkeys(step for piece in self.pieces for step in piece.steps))

    def display(self) -> str:
        """The text for people; unknown pieces as the user wrote them."""
        return self.value or "".join([piece.text for piece in self.pieces])

    def joined(self, *others: Text) -> Text:
        pieces = self.pieces
        for other in others:
            pieces += other.pieces
        return Text(pieces)


def name_file(path: Text) -> str | None:
    """A name by which a path is known again, also where only the caller or a command that ran once knows it."""
    parts = []
    for piece in path.pieces:
        if piece.unknown is None:
            parts.append(piece.text)
        elif piece.unknown.reason in ("environment", "positional"):
            parts.append(f"\0{piece.unknown.text}\0")
        elif piece.unknown.reason == "command":
            parts.append(f"\0{piece.span.path}:{piece.span.start}\0")
        else:
            return None
    return "".join(parts)


PLACEHOLDER = "\ue000"
"""Stands for one unknown piece in derived text; a word character to every parser."""


def derive_source(text: Text, path: str) -> tuple[Source, dict[int, Piece]]:
    """Turn a value into a source that can be parsed, with the way back to where each byte came from.

    Returns the source and, by byte offset, the unknown piece that each placeholder stands for.
    """
    data, unknowns = bytearray(), {}
    origins: list[tuple[int, int, Span]] = []
    carried: list[tuple[int, int, Piece]] = []
    for piece in text.pieces:
        start = len(data)
        if piece.unknown is None:
            data += piece.text.encode("utf-8", "surrogateescape")
        else:
            unknowns[start] = piece
            data += PLACEHOLDER.encode()
        if len(data) > start:
            origins.append((start, len(data), piece.span))
            if piece.unknown is None and (piece.steps or piece.assumptions):
                carried.append((start, len(data), piece))
    return Source(path, bytes(data), tuple(origins), tuple(carried)), unknowns


def read_piece(text: str, source: Source, start: int, end: int) -> Piece:
    """A stretch of a source as a piece; of derived text with what the pieces that it was made of rest on."""
    span = Span(source, start, end)
    if not source.carried:
        return Piece(text, span)
    made_of: list[Piece] = source.carried_at(start, end)
    steps = made_of[0].steps if len(made_of) == 1 else ()
    assumptions = tuple(dict.fromkeys(a for piece in made_of for a in piece.assumptions))
    return Piece(text, span, None, steps, assumptions)
