"""What reading a file may cost: statements and processor time, for the file and all that it runs together.

In: what each evaluation took.  Out: what is left for the next one.  A `Context` hands the same budget down to every
script inside, so that ten calls of a large script cost no more than one script may; `known` keeps those that were read.
"""

from __future__ import annotations

FUEL = 16_000
"""Statements that a script and the scripts inside it may run, over all paths."""
SECONDS = 3.0
"""Of processor time: only a script that is made to be slow gets there before its fuel runs out."""


class Budget:
    """What is left of both."""

    def __init__(self, fuel: int = FUEL, seconds: float = SECONDS) -> None:
        self.fuel = fuel
        self.seconds = seconds
        self.known: dict[object, object] = {}

    def spend(self, fuel: int, seconds: float) -> None:
        self.fuel -= fuel
        self.seconds -= seconds

    @property
    def spent(self) -> bool:
        return self.fuel < 0 or self.seconds < 0
