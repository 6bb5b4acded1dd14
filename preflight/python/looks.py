"""How far a file is followed before it is known to launch anything.

In: a file's tree and outline.  Out: the `Reading` that found most.  Most files with a word of training start nothing,
and what they import costs many times what they do: so a file is looked at by itself first, then with what it imports
as far as that may lead to a launch, and only what does launch something is followed as a whole.
"""

from __future__ import annotations

from collections.abc import Callable

from preflight.python.modules import PARSING, STEP, Library
from preflight.python.outline import Outline
from preflight.python.promise import leads_to_training
from preflight.python.reading import Reading
from preflight.python.signs import is_likely, writes_launch
from preflight.python.syntax import Tree

FUEL = 220_000
"""Steps for a file that launches something, all paths together."""

SHARE = 1.8
"""How many times what it costs to parse a file may be spent on it while it is not known to launch anything."""

FIRST_LOOK = 8
"""Bytes of a file for a step of the first look at it."""

SMALLEST_LOOK = 600
"""Steps for a first look at a file, at least, unless it is short."""

SMALL_LOOK = 3
"""Bytes of a short file for a step of the first look at it."""

LEAST_STEPS = 230
"""Steps for a first look at the shortest file."""

SECOND_LOOK = 1_500
"""Bytes parsed for a look at what a file imports, at least."""

LEADING_LOOK = 220_000
"""Bytes parsed for it where what is used of it may start training."""

Begin = Callable[[Library, int], Reading]
"""Begins a walk that may read certain modules and take so many steps."""


class Cost:
    """What the looks at a file have cost so far, in bytes of usual code that LibCST parses in that time."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.steps = 0

    @property
    def rest(self) -> int:
        """What is left of the file's share."""
        each = self.tree.weight / max(len(self.tree.source.data), 1)
        return int(SHARE * self.tree.weight - PARSING * each * self.tree.parsed) - self.steps * STEP


def look(tree: Tree, overview: Outline, begin: Begin) -> Reading:
    """Follow a file as far as it is worth."""
    cost = Cost(tree)
    alone = _look_alone(tree, overview, begin, cost)
    if alone.promising:
        return _follow_whole(alone, overview, begin)
    if alone.left <= 0 and alone.count > 0 and writes_launch(tree.source.data):
        return _follow_whole(alone, overview, begin)
    leads = leads_to_training(alone.library, tree.source, alone.context)
    if not (alone.depends or leads):
        return alone
    left = max(cost.rest, LEADING_LOOK if leads else SECOND_LOOK)
    further = begin(Library(allowance=left // 2), left // STEP)
    further.follow_all(overview)
    if further.promising and further.unseen:
        return _follow_whole(further, overview, begin)
    return further


def _look_alone(tree: Tree, overview: Outline, begin: Begin, cost: Cost) -> Reading:
    """Follow a file without its imports; for longer where it is likely to launch something."""
    steps = max(min(SMALLEST_LOOK, max(tree.weight // SMALL_LOOK, LEAST_STEPS)), tree.weight // FIRST_LOOK)
    reading = begin(Library(closed=True), steps)
    reading.follow_all(overview)
    cost.steps = steps - max(reading.left, 0)
    if not reading.looked and reading.unseen and is_likely(tree.source.data) and cost.rest > 0:
        steps = cost.rest // STEP
        reading.look_again(steps)
        reading.follow_all(overview)
        cost.steps += steps - max(reading.left, 0)
    return reading


def _follow_whole(before: Reading, overview: Outline, begin: Begin) -> Reading:
    """Follow a file with all that it imports; what was found before counts where that gets lost on the way."""
    whole = begin(Library(), FUEL)
    whole.follow_all(overview)
    lost = before.promising and not whole.promising and (whole.exhausted or whole.unseen)
    return before if lost else whole
