"""What the layout of a script shows: neutral remarks that rules turn into findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight.execution import Remark, Word
from preflight.shell.lexer import Parameter, Token
from preflight.shell.state import State
from preflight.source import Source

if TYPE_CHECKING:
    from preflight.shell.syntax import Syntax


class Remarks:
    """Collects remarks while a script is evaluated."""

    def __init__(self) -> None:
        self.found: list[Remark] = []

    def note_split(self, state: State, token: Token, source: Source, words: list[Word]) -> None:
        """A value fell apart into words."""

    def note_unset(self, state: State, part: Parameter, source: Source) -> None:
        """A variable that is never assigned was read."""

    def note_source(self, source: Source, syntax: Syntax) -> None:
        """A file was sourced."""
