"""Fixes: edits of findings, put into the files and tried.

In: findings with their edits, and a function that checks a script with other contents.  Out: the new contents.  A fix
is kept only if the finding is gone when the script is checked again and no error came in its place; nothing outside
its edits changes a byte.  Of fixes that overlap the first is taken, the others wait for the next round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from preflight.diagnostics import Diagnostic, Edit
from preflight.outcome import FileOutcome
from preflight.record import NamedTuple
from preflight.source import Source

ROUNDS = 12

Contents = Mapping[str, bytes]
"""New contents by path as shown."""
Checker = Callable[[Contents], FileOutcome]


class Mended(NamedTuple):
    """What fixing one script came to: the outcome now, contents before and after by path, titles of what was done."""

    outcome: FileOutcome
    before: Mapping[str, bytes]
    after: Mapping[str, bytes]
    titles: tuple[str, ...]


def mend(check: Checker, unsafe: bool = False) -> Mended:
    """Apply fixes until none is left that helps."""
    before: dict[str, bytes] = {}
    after: dict[str, bytes] = {}
    titles: list[str] = []
    refused: set[tuple[object, ...]] = set()
    outcome = check(after)
    for _ in range(ROUNDS):
        chosen = choose(fixable(outcome.diagnostics, unsafe, refused))
        if not chosen:
            break
        for attempt in [chosen] if len(chosen) == 1 else [chosen, *([each] for each in chosen)]:
            changed = apply(attempt, after)
            tried = check(changed)
            if helps(attempt, outcome, tried):
                for diagnostic in attempt:
                    assert diagnostic.fix is not None
                    titles.append(diagnostic.fix.title)
                    for edit in diagnostic.fix.edits:
                        before.setdefault(edit.span.path, edit.span.source.data)
                after, outcome = changed, tried
                break
            refused |= {key(each) for each in attempt} if len(attempt) == 1 else set()
    return Mended(outcome, before, after, tuple(titles))


def fixable(
    diagnostics: Iterable[Diagnostic], unsafe: bool, refused: set[tuple[object, ...]]
) -> list[Diagnostic]:
    """The findings with a fix that may be tried."""
    return [
        d
        for d in diagnostics
        if d.ignored is None
        and d.fix is not None
        and d.fix.edits
        and (unsafe or d.fix.safety == "safe")
        and key(d) not in refused
        and all(not edit.span.source.origins for edit in d.fix.edits)
    ]


def choose(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Those whose edits touch none of an earlier one's."""
    taken: list[Edit] = []
    chosen: list[Diagnostic] = []
    for diagnostic in diagnostics:
        assert diagnostic.fix is not None
        edits = diagnostic.fix.edits
        if not any(collide(edit, other) for edit in edits for other in taken):
            taken += edits
            chosen.append(diagnostic)
    return chosen


def collide(one: Edit, other: Edit) -> bool:
    """Whether two edits touch the same bytes; two insertions at one place do."""
    a, b = one.span, other.span
    return a.path == b.path and a.start <= b.end and b.start <= a.end


def apply(diagnostics: Iterable[Diagnostic], contents: Contents) -> dict[str, bytes]:
    """The contents with the edits of all these findings."""
    edits: dict[str, list[Edit]] = {}
    sources: dict[str, Source] = {}
    for diagnostic in diagnostics:
        for edit in diagnostic.fix.edits if diagnostic.fix else ():
            edits.setdefault(edit.span.path, []).append(edit)
            sources[edit.span.path] = edit.span.source
    changed = dict(contents)
    for path, group in edits.items():
        changed[path] = edit_bytes(sources[path].data, group)
    return changed


def edit_bytes(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Replace byte ranges; the rest stays as it is."""
    for edit in sorted(set(edits), key=lambda edit: (edit.span.start, edit.span.end), reverse=True):
        data = data[: edit.span.start] + edit.text.encode() + data[edit.span.end :]
    return data


def helps(attempt: Sequence[Diagnostic], old: FileOutcome, new: FileOutcome) -> bool:
    """Whether the findings are gone, and nothing worse came."""
    if new.error is not None or new.launches < old.launches:
        return False
    left = {key(diagnostic) for diagnostic in new.diagnostics if diagnostic.ignored is None}
    if any(key(diagnostic) in left for diagnostic in attempt):
        return False
    known = {(d.rule, d.message) for d in old.diagnostics}
    return not any(d.severity == "error" and (d.rule, d.message) not in known for d in new.diagnostics)


def key(diagnostic: Diagnostic) -> tuple[object, ...]:
    """What a finding is, whatever its line."""
    return (diagnostic.rule, diagnostic.message, diagnostic.configuration, diagnostic.launch)


def difference(path: str, before: bytes, after: bytes) -> str:
    """A unified diff that `patch -p1` and `git apply` take."""
    from difflib import unified_diff

    old, new = (data.decode("utf-8", "surrogateescape").splitlines(keepends=True) for data in (before, after))
    lines = [
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
        for line in unified_diff(old, new, f"a/{path}", f"b/{path}")
    ]
    return "".join(lines)
