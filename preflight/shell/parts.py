"""What words and simple commands are made of, as written.

In: nothing; these are the records that the lexer makes.  Ranges and offsets are in bytes of the source.
"""

from __future__ import annotations

from preflight.record import NamedTuple
from preflight.values import Piece


class Literal(NamedTuple):
    """Characters that stand for themselves."""

    start: int
    end: int
    text: str
    quoted: bool


class Parameter(NamedTuple):
    """`$name` and `${...}`. `prefix` is `#` or `!`; `argument` the range of what follows the operator."""

    start: int
    end: int
    quoted: bool
    name: str
    subscript: tuple[int, int] | None = None
    prefix: str = ""
    operator: str = ""
    argument: tuple[int, int] | None = None


class Substitution(NamedTuple):
    """`$(...)`, backquotes, `<(...)` and `>(...)`; `kind` is `$`, a backquote, `<` or `>`."""

    start: int
    end: int
    quoted: bool
    kind: str
    inside: tuple[int, int]


class Arithmetic(NamedTuple):
    start: int
    end: int
    quoted: bool
    inside: tuple[int, int]


class Placeholder(NamedTuple):
    """An unknown piece of derived text."""

    start: int
    end: int
    quoted: bool
    piece: Piece


class Open(NamedTuple):
    """Marks a quoted stretch, so that `""` is a word and `"$@"` knows its quotes."""

    start: int
    end: int
    quoted: bool = True


Part = Literal | Parameter | Substitution | Arithmetic | Placeholder | Open


class Token(NamedTuple):
    """One word as written."""

    start: int
    end: int
    parts: tuple[Part, ...]

    @property
    def plain(self) -> str | None:
        """The text of a word without quotes or expansions."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Literal) and not self.parts[0].quoted:
            return self.parts[0].text
        return None


class Assignment(NamedTuple):
    """`name=value`, `name+=value`, `name[index]=value`, `name=(elements)`."""

    start: int
    end: int
    name: str
    subscript: tuple[int, int] | None
    append: bool
    value: Token | None
    elements: tuple[tuple[Token | None, bool, Token], ...] | None = None
    """For arrays: (subscript or None, append, value)."""


class Redirect(NamedTuple):
    start: int
    end: int
    descriptor: str | None
    operator: str
    target: Token | None
    body: tuple[int, int] | None = None
    """Of a here-document: the range of its lines."""
    literal: bool = False
    """A here-document whose delimiter is quoted."""


class Simple(NamedTuple):
    start: int
    end: int
    assignments: tuple[Assignment, ...]
    arguments: tuple[Token | Assignment, ...]
    redirects: tuple[Redirect, ...]
