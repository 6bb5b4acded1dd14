"""Steps: how Megatron works out its settings, one small named formula after the other.

In: a formula over the facts as they stand before it.  Out: `Step`.  A step belongs to a range of releases, so that no
formula asks for one.  A formula that asks for an unknown fact ends there: its fact is then unknown for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable

from preflight.configuration.model import Value
from preflight.facts.model import Blocker, Fact
from preflight.record import NamedTuple
from preflight.targets.releases import MAIN, parse_release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

Version = tuple[int, ...]


class Keep:
    """What a formula returns that leaves its fact as it was."""

    __slots__ = ()


KEEP: Final = Keep()


class MissingError(Exception):
    """A formula asked for a fact that is not known."""

    def __init__(self, blockers: tuple[Blocker, ...]) -> None:
        super().__init__(blockers)
        self.blockers = blockers


class AbsentError(Exception):
    """A formula needs a number that is not there."""


if TYPE_CHECKING:
    from typing import Protocol

    class Reader(Protocol):
        """The facts as they stand before a step."""

        release: Version

        def __call__(self, name: str) -> Value:
            """The value; a formula ends where it is unknown."""

        def number(self, name: str) -> int:
            """A count that must be there: None counts as unknown input, and the fact stays as it was."""

        def text(self, name: str) -> str | None: ...

        def given(self, name: str) -> bool:
            """Whether the user wrote the setting."""

        def fact(self, name: str) -> Fact:
            """The fact itself, without ending the formula."""

    Formula = Callable[[Reader], Value | Keep]
else:
    Reader, Formula = object, Callable


class Step(NamedTuple):
    """One adjustment: its name in words, the fact that it writes, the releases that take it."""

    name: str
    writes: str
    formula: Formula
    since: Version
    before: Version

    def holds_for(self, release: Version) -> bool:
        return self.since <= release < self.before


class Steps:
    """A list of steps in the order of their definition."""

    def __init__(self) -> None:
        self.entries: list[Step] = []

    def step(
        self, writes: str, name: str, *, since: str = "0.0", before: str | None = None
    ) -> Callable[[Formula], Formula]:
        """Declare the function below as a step."""

        def declare(formula: Formula) -> Formula:
            end = (*MAIN, 1) if before is None else parse_release(before)
            self.entries.append(Step(name, writes, formula, parse_release(since), end))
            return formula

        return declare
