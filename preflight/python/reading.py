"""A walk through one file: every path from its entries, as far as a budget goes.

In: a file's tree, and the modules that it may read.  Out: a `Reading` with what the paths found.  The file is followed
as a program first; functions that may start something and that nothing called are followed after that, with what their
parameters are not known.  An entry that gives nothing is left after a while.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable

from preflight.execution import CodeConfiguration, Context, Execution, Remark, Script
from preflight.python import configurations, statements
from preflight.python.entries import call_entry
from preflight.python.merging import settings_key, words_key
from preflight.python.modules import Library
from preflight.python.outline import Definition, Outline
from preflight.python.plan import Plan
from preflight.python.promise import completes_imports, depends_on_imports, drop_strangers
from preflight.python.scope import EndedError, ExhaustedError, Frame, Fuel, Path, RaisedError
from preflight.python.signs import starts_programs
from preflight.python.syntax import Tree
from preflight.values import Text, Unknown

MAXIMUM_PATHS = 48
"""Paths that are followed from one entry."""

MAXIMUM_ENTRIES = 150
"""Functions that are followed on their own."""

ENTRY_FUEL = 110_000
"""Steps for one entry."""

LEAST_FUEL = 2_000
"""Steps that an entry has however many before it gave nothing."""

FRUITLESS_FUEL = 30_000
"""Steps after which an entry that gave nothing is left."""

FRUITLESS_FILE = 90_000
"""Steps after which a file is left whose entries gave nothing."""

FRUITLESS_PATHS = 4
"""Paths after which an entry that gave nothing is left."""

LOOKED_PATHS = 2
"""Paths of an entry that are followed in a first look."""

LEAST_LOOK = 400
"""Steps that an entry has in a first look at least."""


class Reading:
    """The state of reading one file."""

    def __init__(
        self,
        tree: Tree,
        context: Context,
        read_shell: Callable[..., Script],
        exported: dict[str, Text | None],
        launches: Callable[[Script], bool],
        library: Library,
        fuel: int,
    ) -> None:
        self.tree = tree
        self.context = context
        self.read_shell = read_shell
        self.exported = exported
        self.launches = launches
        self.library = library
        self.left = fuel
        self.wasted = 0
        self.fruits = 0
        self.launching = False
        self.judged: set[Hashable] = set()
        self.depends = False
        self.patience = LOOKED_PATHS if library.closed else FRUITLESS_PATHS
        self.exhausted = False
        self.cut_main = False
        self.cut: list[Definition] = []
        self.pending: list[Definition] | None = None
        self.executions: list[Execution] = []
        self.synthetic: list[Execution] = []
        self.configurations: list[CodeConfiguration] = []
        self.remarks: list[Remark] = []
        self.truncated: dict[Unknown, None] = {}
        self.entered: set[object] = set()
        self.withheld = False

    def follow_all(self, overview: Outline) -> None:
        """Follow a file and its entries, as far as that was not done yet."""
        if self.pending is None:
            self.follow(None)
            if not self.promising and self.withheld and starts_programs(self.tree.source.data):
                self.follow(None, demanding=True)
            if self.looked:
                return
            entries = overview.entries(self.has_entered)
            if len(entries) > MAXIMUM_ENTRIES:
                self.truncated[Unknown("branches", "too many functions")] = None
            self.pending = entries[MAXIMUM_ENTRIES - 1 :: -1] if entries else []
        while self.pending:
            if self.left <= 0 or self.wasted >= FRUITLESS_FILE:
                self.truncated[Unknown("branches", "too many functions")] = None
                return
            entry = self.pending.pop()
            if self.has_entered(entry) and entry not in self.cut:
                continue
            self.follow(entry)
            if self.looked:
                return

    def follow(self, entry: Definition | None, demanding: bool = False) -> None:
        """Every path from an entry, as far as the budget goes. `demanding`: the caller gives what has no default."""
        found, left = self.count, self.left
        if not self._follow_paths(entry, demanding):
            self.truncated[Unknown("branches", "too many paths")] = None
        if self.count == found:
            self.wasted += left - self.left

    def _follow_paths(self, entry: Definition | None, demanding: bool) -> bool:
        """Whether they were all walked."""
        plan = Plan()
        spent = 0
        before_all = self.count
        limit = self._limit()
        patience = max(FRUITLESS_FUEL - self.wasted, LEAST_FUEL)
        fruitless = self.patience if entry is not None else FRUITLESS_PATHS
        for number in range(MAXIMUM_PATHS):
            if number >= fruitless and self.count == before_all:
                self.note_cut(entry)
                return False
            before = min(self.left, limit - spent)
            allowed = before if self.count > before_all else min(before, max(patience - spent, 0))
            fuel = Fuel(allowed, before - allowed)
            path = Path(
                self.context, self.read_shell, plan, fuel, self.exported, self.library, self.tree.source.path
            )
            path.demanding = demanding
            try:
                self._walk(path, entry)
            except (ExhaustedError, RecursionError):
                self.truncated[Unknown("branches", "too many steps")] = None
                spent = limit
                self.exhausted = True
                self.note_cut(entry)
            used = before - max(fuel.left, 0) - fuel.reserve
            spent += used
            self.left -= used
            found = self._keep(path, entry)
            if self.looked or not plan.advance(found):
                return True
            if spent >= limit or self.left <= 0:
                return False
        return False

    def note_cut(self, entry: Definition | None) -> None:
        """An entry was left before its end."""
        self.cut_main = self.cut_main or entry is None
        if entry is not None and entry not in self.cut:
            self.cut.append(entry)

    def look_again(self, steps: int) -> None:
        """Begin with the entries that were left before their end, then go on with those that were not reached."""
        self.left = steps
        self.pending = None if self.cut_main else [*(self.pending or []), *reversed(self.cut)]
        self.patience = FRUITLESS_PATHS

    def has_entered(self, entry: Definition) -> bool:
        """Whether a function was followed."""
        return entry.is_among(self.entered, self.tree)

    @property
    def count(self) -> int:
        """How much was found so far that may be a launch."""
        return self.fruits + len(self.configurations)

    @property
    def promising(self) -> bool:
        """Whether a launch was found, or a configuration that is completed here."""
        return self.launching or bool(self.configurations)

    @property
    def unseen(self) -> bool:
        """Whether something of the file was not followed to its end, or only without an import."""
        left_out = self.library.refused or self.cut_main or bool(self.cut)
        return left_out or self.left <= 0 or bool(self.pending)

    @property
    def looked(self) -> bool:
        """Whether a first look, which reads no imports, has seen enough."""
        return self.library.closed and self.promising

    def _limit(self) -> int:
        """Steps for the next entry; those of a look are shared out among all that are left."""
        if self.library.closed:
            waiting = len(self.pending) if self.pending is not None else 0
            return max(2 * self.left // (waiting + 2), LEAST_LOOK)
        return min(ENTRY_FUEL, max(self.left // 2, LEAST_FUEL))

    def _walk(self, path: Path, entry: Definition | None) -> None:
        frame = Frame("module", self.tree, path, None)
        path.as_main = entry is None
        with contextlib.suppress(RaisedError, EndedError):
            statements.run_module(self.tree, frame)
        if entry is None:
            return
        path.runs.clear()
        path.fruits = 0
        path.built.clear()
        path.truncated.clear()
        with contextlib.suppress(
            RaisedError, EndedError, statements.ReturnError, statements.BreakError, statements.ContinueError
        ):
            call_entry(entry, frame)

    def _keep(self, path: Path, entry: Definition | None) -> set[Hashable]:
        """Note what a path found; what tells it from what other paths found is given back."""
        for run in path.runs:
            (self.synthetic if run.synthetic else self.executions).append(run.execution)
        if self.library.closed:
            drop_strangers(path)
        node = entry.node(self.tree) if entry is not None else None
        fallback = self.tree.span(node.name) if node is not None else None
        built = configurations.collect(path, self.tree.source, fallback)
        self.configurations.extend(built)
        self.remarks.extend(path.remarks)
        self.truncated.update(dict.fromkeys(path.truncated))
        self.entered |= path.entered
        self.withheld = self.withheld or path.withheld
        completes = completes_imports(path)
        self.fruits += path.fruits + completes
        self.launching = self.launching or completes or self._launch(path)
        self.depends = self.depends or depends_on_imports(path)
        return {*(words_key(run.execution) for run in path.runs), *map(settings_key, built)}

    def _launch(self, path: Path) -> bool:
        """Whether a run of a path is a launch; one that was looked at before is not looked at again."""
        new = []
        for run in path.runs:
            key = words_key(run.execution)
            if key not in self.judged:
                self.judged.add(key)
                new.append(run.execution)
        return bool(new) and self.launches(Script(self.tree.source, tuple(new)))
