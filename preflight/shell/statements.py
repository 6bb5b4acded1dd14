"""The statements of a script.

In: nothing; these are the records that the reader makes of tree-sitter's tree.  Offsets are in bytes.
"""

from __future__ import annotations

from preflight.record import NamedTuple
from preflight.shell.parts import Redirect, Simple, Token


class Pipeline(NamedTuple):
    start: int
    end: int
    stages: tuple[Statement, ...]


class Negation(NamedTuple):
    start: int
    end: int
    body: Statement


class Both(NamedTuple):
    """`left && right` or `left || right`."""

    start: int
    end: int
    left: Statement
    operator: str
    right: Statement


class Background(NamedTuple):
    start: int
    end: int
    body: Statement


class If(NamedTuple):
    start: int
    end: int
    branches: tuple[tuple[Block, Block], ...]
    otherwise: Block


class While(NamedTuple):
    start: int
    end: int
    until: bool
    condition: Block
    body: Block


class For(NamedTuple):
    """`words` is None for the positional arguments."""

    start: int
    end: int
    name: str
    words: tuple[Token, ...] | None
    body: Block
    select: bool


class Count(NamedTuple):
    """`for ((a; b; c))`, with the ranges of the three expressions."""

    start: int
    end: int
    header: tuple[tuple[int, int], ...]
    body: Block


class Choice(NamedTuple):
    """One item of `case`."""

    start: int
    end: int
    patterns: tuple[Token, ...]
    body: Block
    terminator: str


class Case(NamedTuple):
    start: int
    end: int
    subject: Token
    choices: tuple[Choice, ...]


class Function(NamedTuple):
    start: int
    end: int
    name: str
    body: Statement


class Group(NamedTuple):
    start: int
    end: int
    body: Block


class Subshell(NamedTuple):
    start: int
    end: int
    body: Block


class Redirected(NamedTuple):
    start: int
    end: int
    body: Statement
    redirects: tuple[Redirect, ...]


class Conditional(NamedTuple):
    """`[[ ... ]]`."""

    start: int
    end: int
    inside: tuple[int, int]


class Compute(NamedTuple):
    """`(( ... ))`."""

    start: int
    end: int
    inside: tuple[int, int]


class Broken(NamedTuple):
    start: int
    end: int
    message: str


Statement = (
    Simple
    | Pipeline
    | Negation
    | Both
    | Background
    | If
    | While
    | For
    | Count
    | Case
    | Function
    | Group
    | Subshell
    | Redirected
    | Conditional
    | Compute
    | Broken
)
Block = tuple[Statement, ...]
