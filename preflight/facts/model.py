"""The record of a fact.

In: nothing.  A fact is known (its value may be None: absent), or unknown with what would decide it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from preflight.configuration.model import Value
from preflight.record import NamedTuple
from preflight.source import Span
from preflight.values import Assumption, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Blocker(NamedTuple):
    """A fact that is not known, why, and where."""

    fact: str
    unknown: Unknown
    span: Span | None = None


class Evidence(NamedTuple):
    """A place that a fact's value comes from, with a few words for the label under it."""

    span: Span
    text: str


class Places(Sequence[Evidence]):
    """Evidence that is worked out when somebody looks at it: of most facts nobody ever does."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], tuple[Evidence, ...]]) -> None:
        self._make = make
        self._made: tuple[Evidence, ...] | None = None

    def all(self) -> tuple[Evidence, ...]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def __getitem__(self, index: Any) -> Any:
        return self.all()[index]

    def __len__(self) -> int:
        return len(self.all())

    def __iter__(self) -> Iterator[Evidence]:
        return iter(self.all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.all() == tuple(other)

    def __hash__(self) -> int:
        return hash(self.all())

    def __repr__(self) -> str:
        return repr(self.all())


class Fact(NamedTuple):
    """A named value.

    `origin`: flag, default, environment, launcher, scheduler, derived, node, option, code.  `evidence` is
    where it stands, the use first, then the way back to the literal; derived ones carry that of their inputs.
    `blocked_by` is not empty exactly where the value is unknown.
    """

    name: str
    value: Value
    origin: str
    evidence: Sequence[Evidence] = ()
    assumptions: tuple[Assumption, ...] = ()
    blocked_by: tuple[Blocker, ...] = ()

    @property
    def known(self) -> bool:
        return not self.blocked_by
