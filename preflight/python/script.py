"""A whole file: every path from its entries, and what they found put together.

In: a `Source` with its context.  Out: a `Script`.  The file is followed as a program first; functions that may
start something and that nothing called are followed after that, with what their parameters are not known.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import TypeVar

from preflight.execution import CodeConfiguration, Condition, Context, Execution, Remark, Script, Word
from preflight.python import configurations, statements
from preflight.python.entries import call_entry
from preflight.python.modules import PARSING, STEP, Library
from preflight.python.outline import Definition, Outline, outline
from preflight.python.places import deep_recursion
from preflight.python.plan import Plan
from preflight.python.promise import (
    completes_imports,
    depends_on_imports,
    drop_strangers,
    leads_to_training,
)
from preflight.python.scope import EndedError, ExhaustedError, Frame, Fuel, Path, RaisedError
from preflight.python.signs import is_likely, may_launch, starts_programs, writes_launch
from preflight.python.syntax import Tree, parse
from preflight.source import Source, Span
from preflight.values import Piece, Text, Unknown

MAXIMUM_PATHS = 48
"""Paths that are followed from one entry."""

FRUITLESS_FUEL = 30_000
"""Steps after which an entry that gave nothing is left."""

FRUITLESS_FILE = 90_000
"""Steps after which a file is left whose entries gave nothing."""

LEAST_LOOK = 400
"""Steps that an entry has in a first look at least."""

LEAST_FUEL = 2_000
"""Steps that an entry has however many before it gave nothing."""

LOOKED_PATHS = 2
"""Paths of an entry that are followed in a first look."""

FRUITLESS_PATHS = 4
"""Paths after which an entry that gave nothing is left."""

MAXIMUM_ENTRIES = 150
"""Functions that are followed on their own."""

FUEL = 220_000
"""Steps for a file, all paths together."""

SMALLEST_LOOK = 600
"""Steps for a first look at a file, at least, unless it is short."""

SMALL_LOOK = 3
"""Bytes of a short file for a step of the first look at it."""

LEAST_STEPS = 250
"""Steps for a first look at the shortest file."""

FIRST_LOOK = 8
"""Bytes of a file for a step of the first look at it."""

SECOND_LOOK = 1_500
"""Bytes parsed for a look at what a file imports, at least."""

LEADING_LOOK = 220_000
"""Bytes parsed for it where what is used of it may start training."""

SHARE = 2.0
"""How many times what it costs to parse a file may be spent on it while it is not known to launch anything."""

ENTRY_FUEL = 110_000
"""Steps for one entry."""

Found = TypeVar("Found", Execution, CodeConfiguration)


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
        return {*(_words_key(run.execution) for run in path.runs), *map(_settings_key, built)}

    def _launch(self, path: Path) -> bool:
        """Whether a run of a path is a launch; one that was looked at before is not looked at again."""
        new = []
        for run in path.runs:
            key = _words_key(run.execution)
            if key not in self.judged:
                self.judged.add(key)
                new.append(run.execution)
        return bool(new) and self.launches(Script(self.tree.source, tuple(new)))


def may_launch_any(script: Script) -> bool:
    """Whether a command could start training, as far as its words tell."""
    return any(
        execution.handed_to is not None or may_launch([word.text for word in execution.words])
        for execution in script.executions
    )


def read(
    source: Source,
    context: Context,
    *,
    read_shell: Callable[..., Script],
    unknowns: Mapping[int, Piece] = {},
    exported: Mapping[str, Text | None] = {},
    launches: Callable[[Script], bool] | None = None,
) -> Script:
    """Work out a file's commands and configurations."""
    tree = parse(source, unknowns)
    if isinstance(tree, Unknown):
        return Script(source, (), truncated=(tree,))
    try:
        overview = outline(tree)
        if not overview.relevant:
            return Script(source, ())
        with deep_recursion():
            begin = partial(Reading, tree, context, read_shell, dict(exported), launches or may_launch_any)
            reading = _look(tree, overview, begin)
    except RecursionError:
        return Script(source, (), truncated=(Unknown("syntax", f"{source.path}: nested too deeply"),))
    if tree.refused:
        reading.truncated[Unknown("syntax", f"{source.path}: not all of it was understood as Python")] = None
    return Script(
        source,
        tuple(_without_copies(reading)),
        tuple(_distinct_remarks(reading.remarks)),
        tuple(merge(reading.configurations, _settings_key)),
        tuple(reading.truncated),
    )


def _look(tree: Tree, overview: Outline, begin: Callable[[Library, int], Reading]) -> Reading:
    """Follow the file: by itself first, and with what it imports as far as that can lead to a launch."""
    size = tree.weight
    each = size / max(len(tree.source.data), 1)
    steps = max(min(SMALLEST_LOOK, max(size // SMALL_LOOK, LEAST_STEPS)), size // FIRST_LOOK)
    reading = begin(Library(closed=True), steps)

    def rest() -> int:
        return int(SHARE * size) - int(PARSING * each * tree.parsed) - (steps - max(reading.left, 0)) * STEP

    _follow_all(reading, overview)
    if not reading.looked and reading.unseen and is_likely(tree.source.data) and rest() > 0:
        more = rest() // STEP
        steps += more - max(reading.left, 0)
        reading.look_again(more)
        _follow_all(reading, overview)
    unfinished = reading.left <= 0 and reading.count > 0 and writes_launch(tree.source.data)
    if not reading.promising and not unfinished:
        leads = leads_to_training(reading.library, tree.source, reading.context)
        if not (reading.depends or leads):
            return reading
        left = max(rest(), LEADING_LOOK if leads else SECOND_LOOK)
        reading = begin(Library(allowance=left // 2), left // STEP)
        _follow_all(reading, overview)
        if not (reading.promising and reading.unseen):
            return reading
    whole = begin(Library(), FUEL)
    _follow_all(whole, overview)
    lost = reading.promising and not whole.promising and (whole.exhausted or whole.unseen)
    return reading if lost else whole


def _follow_all(reading: Reading, overview: Outline) -> None:
    """Follow a file and its entries, as far as that was not done yet."""
    if reading.pending is None:
        reading.follow(None)
        if not reading.promising and reading.withheld and starts_programs(reading.tree.source.data):
            reading.follow(None, demanding=True)
        if reading.looked:
            return
        entries = overview.entries(reading.has_entered)
        if len(entries) > MAXIMUM_ENTRIES:
            reading.truncated[Unknown("branches", "too many functions")] = None
        reading.pending = entries[MAXIMUM_ENTRIES - 1 :: -1] if entries else []
    while reading.pending:
        if reading.left <= 0 or reading.wasted >= FRUITLESS_FILE:
            reading.truncated[Unknown("branches", "too many functions")] = None
            return
        entry = reading.pending.pop()
        if reading.has_entered(entry) and entry not in reading.cut:
            continue
        reading.follow(entry)
        if reading.looked:
            return


def _without_copies(reading: Reading) -> list[Execution]:
    """The executions, without handed-over flags that reach a followed command."""
    real = merge(reading.executions, _words_key)
    used = {_place(word) for execution in real for word in execution.words}
    kept = [
        execution
        for execution in merge(reading.synthetic, _words_key)
        if not any(_place(word) in used for word in execution.words[2:-1])
    ]
    return [*real, *kept]


def _place(word: Word) -> tuple[str, int, int]:
    span = word.span.resolve()
    return (span.path, span.start, span.end)


def _text_key(text: Text | None) -> Hashable:
    if text is None:
        return None
    shown = "".join(piece.text for piece in text.pieces)
    return (shown, tuple(piece.unknown for piece in text.pieces if piece.unknown is not None))


def _words_key(execution: Execution) -> Hashable:
    span = execution.span.resolve()
    words = tuple((_text_key(word.text), word.many) for word in execution.words)
    variables = tuple((name, _text_key(text)) for name, text in execution.environment.items())
    return (
        span.path,
        span.start,
        span.end,
        words,
        variables,
        _text_key(execution.directory),
        execution.handed_to,
    )


def _settings_key(configuration: CodeConfiguration) -> Hashable:
    span = configuration.span.resolve()
    settings = tuple((name, _text_key(word.text)) for name, word in configuration.settings.items())
    return (span.path, span.start, configuration.name, settings, configuration.open)


def merge(found: list[Found], key_of: Callable[[Found], Hashable]) -> list[Found]:
    """One record for what is the same on several paths, under the conditions that they have in common."""
    groups: dict[Hashable, list[Found]] = {}
    for record in found:
        groups.setdefault(key_of(record), []).append(record)
    result: list[Found] = []
    for records in groups.values():
        kept = _simplify([record.conditions for record in records])
        result.extend(records[0]._replace(conditions=conditions) for conditions in kept)
    return result


_Key = tuple[str, int, str]


def _simplify(listed: list[tuple[Condition, ...]]) -> list[tuple[Condition, ...]]:
    tables: dict[frozenset[tuple[_Key, bool]], tuple[Condition, ...]] = {}
    for conditions in listed:
        tables.setdefault(frozenset((_condition_key(c), c.taken) for c in conditions), conditions)
    changed = len(tables) > 1
    while changed:
        changed = False
        for key in list(tables):
            for item, taken in key:
                other = (key - {(item, taken)}) | {(item, not taken)}
                if key in tables and other in tables and other != key:
                    kept = tables.pop(key)
                    tables.pop(other)
                    shorter = key - {(item, taken)}
                    tables.setdefault(shorter, tuple(c for c in kept if _condition_key(c) != item))
                    changed = True
                    break
    keys = list(tables)
    return [tables[key] for key in keys if not any(other < key for other in keys)]


def _condition_key(condition: Condition) -> _Key:
    span = condition.span.resolve()
    return (span.path, span.start, condition.text)


def _distinct_remarks(remarks: list[Remark]) -> list[Remark]:
    seen: dict[tuple[str, str, int], Remark] = {}
    for remark in remarks:
        span: Span = remark.span.resolve()
        seen.setdefault((remark.kind, span.path, span.start), remark)
    return list(seen.values())
