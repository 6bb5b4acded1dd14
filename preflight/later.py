"""What waits until it is asked for: functions whose module nobody has imported, sequences that nobody has looked at.

In: the names of a module and of a function in it; a function that makes a sequence.  Out: what does the same.  Tables
name many functions of which one script needs a few; of most facts nobody ever asks where they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T", covariant=True)


class Eventual(Sequence["T"]):
    """A sequence that is made when somebody looks at it."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], tuple[T, ...]]) -> None:
        self._make: Callable[[], tuple[T, ...]] | None = make
        self._made: tuple[T, ...] = ()

    def all(self) -> tuple[T, ...]:
        if self._make is not None:
            self._made = self._make()
            self._make = None
        return self._made

    def __getitem__(self, index: Any) -> Any:
        return self.all()[index]

    def __len__(self) -> int:
        return len(self.all())

    def __iter__(self) -> Iterator[T]:
        return iter(self.all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.all() == tuple(other)

    def __hash__(self) -> int:
        return hash(self.all())

    def __repr__(self) -> str:
        return repr(self.all())


def later(module: str, name: str) -> Any:
    """A function of a module that nobody has imported yet."""
    found: Any = None

    def call(*given: Any, **named: Any) -> Any:
        nonlocal found
        if found is None:
            from importlib import import_module

            found = getattr(import_module(module), name)
        return found(*given, **named)

    return call
