"""The decisions of an entry: every way of each is taken by a path of its own, the last decision first.

In: where decisions are met, and what each path found.  Out: which way a path takes.  A decision whose ways found the
same, twice and never otherwise, is none any more: tests whether a process group is there, whether a folder exists and
the like would otherwise double the paths and use them up.
"""

from __future__ import annotations

from collections.abc import Hashable, Set

from preflight.record import NamedTuple

MAXIMUM_DECISIONS = 7
"""Undecidable branches that a path takes both ways; later ones are merged."""

SETTLING = 2
"""How often a decision made no difference before it is left out."""


class Choice(NamedTuple):
    """A decision: which way was taken, of how many, and where."""

    taken: int
    ways: int
    site: Hashable


class Plan:
    """The decisions of the path that is being walked, and what is known of all that were met."""

    def __init__(self) -> None:
        self.choices: list[Choice] = []
        self._found: list[list[set[Hashable]]] = []
        self._idle: dict[Hashable, int] = {}

    def is_settled(self, site: Hashable, cursor: int) -> bool:
        """Whether a decision makes no difference; those that the plan holds are still made."""
        held = cursor < len(self.choices) and self.choices[cursor].site == site
        return not held and self._idle.get(site, 0) >= SETTLING

    def choose(self, ways: int, site: Hashable, cursor: int) -> int | None:
        """The way to take; None where no more decisions are taken."""
        if cursor < len(self.choices):
            return self.choices[cursor].taken
        if len(self.choices) >= MAXIMUM_DECISIONS:
            return None
        self.choices.append(Choice(0, ways, site))
        self._found.append([set()])
        return 0

    def advance(self, outcome: Set[Hashable]) -> bool:
        """On to the next path, after one that found `outcome`; False where all were walked."""
        found = set(outcome)
        while self.choices:
            last, ways = self.choices[-1], self._found[-1]
            ways[-1] |= found
            if last.taken + 1 < last.ways:
                self.choices[-1] = last._replace(taken=last.taken + 1)
                ways.append(set())
                return True
            self._judge(last.site, ways)
            found = set().union(*ways)
            self.choices.pop()
            self._found.pop()
        return False

    def _judge(self, site: Hashable, ways: list[set[Hashable]]) -> None:
        if any(way != ways[0] for way in ways):
            self._idle[site] = -(10**6)
        elif ways[0]:
            self._idle[site] = self._idle.get(site, 0) + 1
