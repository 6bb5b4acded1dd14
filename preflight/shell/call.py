"""A command about to run: what builtins and modelled commands get to see."""

from __future__ import annotations

from preflight.execution import Word
from preflight.record import NamedTuple
from preflight.shell.expand import Expansion
from preflight.shell.parts import Simple
from preflight.shell.state import State
from preflight.source import Span
from preflight.values import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from preflight.shell.evaluate import Evaluator


class Call(NamedTuple):
    """A command about to run. `given`: what its redirections put on standard input."""

    evaluator: Evaluator
    expansion: Expansion
    words: list[Word]
    command: Simple
    span: Span
    given: Text | None

    @property
    def state(self) -> State:
        return self.expansion.state

    @property
    def values(self) -> list[str | None]:
        """The arguments as strings; None for unknown ones."""
        return [word.text.value for word in self.words[1:]]


def brief(text: str) -> str:
    """A statement in one short line."""
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:77] + "..."
