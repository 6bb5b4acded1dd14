"""One launch command on several paths through a script, seen as one.

In: for each launch command (by place) the paths on which it runs, each with its conditions, and the findings of each
path.  Out: findings without repetition: one that holds on all paths names none, one that holds on some names the
branches that it needs, and no others; one that holds in several releases names all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from preflight.diagnostics import Diagnostic, Undecided
from preflight.execution import Condition
from preflight.source import Span
from preflight.targets.releases import describe_releases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Path = tuple[Condition, ...]
Branch = tuple[str, int, int, bool]
"""A condition by place and outcome, without its words."""


def merge_findings(found: Sequence[tuple[Path, Sequence[Diagnostic]]]) -> list[Diagnostic]:
    """The findings of all paths of one launch command, each once."""
    everywhere = [path_of(path) for path, _ in found]
    first: dict[Any, Diagnostic] = {}
    holding: dict[Any, list[Path]] = {}
    releases: dict[Any, dict[str, None]] = {}
    for path, diagnostics in found:
        for diagnostic in diagnostics:
            key = identity(diagnostic)
            first.setdefault(key, diagnostic)
            if diagnostic.releases is not None:
                releases.setdefault(key, {})[diagnostic.releases] = None
            holding.setdefault(key, []).append(path)
    merged = []
    for key, diagnostic in first.items():
        conditions = explain(holding[key], everywhere)
        known = describe_releases(releases[key]) if key in releases else None
        merged.append(
            diagnostic._replace(conditions=unite(diagnostic.conditions, conditions), releases=known)
        )
    return merged


def merge_undecided(found: Iterable[Undecided], decided: Iterable[Diagnostic]) -> list[Undecided]:
    """Each undecided rule of one launch command once, with all that blocks it; those that fail are decided."""
    failing = {diagnostic.rule for diagnostic in decided}
    merged: dict[str, Undecided] = {}
    for each in found:
        if each.rule in failing:
            continue
        old = merged.get(each.rule)
        if old is None:
            merged[each.rule] = each
        elif each.blocked_by != old.blocked_by:
            blocked = tuple(dict.fromkeys(old.blocked_by + each.blocked_by))
            merged[each.rule] = old._replace(blocked_by=blocked)
    return list(merged.values())


def describe_validity(place: str, releases: Iterable[str], refusing: Iterable[str]) -> str:
    """In which of several releases a launch has no error, in words."""
    bad = set(refusing)
    good = [release for release in releases if release not in bad]
    if not good:
        return f"{place}: an error in every release"
    return f"{place}: no error in {describe_releases(good)}"


def identity(diagnostic: Diagnostic) -> tuple[object, ...]:
    """What makes findings of two paths the same for a reader."""
    place = None
    if diagnostic.labels:
        span = diagnostic.labels[0].span.resolve()
        place = (span.path, span.start, span.end)
    return (diagnostic.rule, diagnostic.configuration, diagnostic.message, diagnostic.severity, place)


def explain(holding: Sequence[Path], everywhere: Sequence[frozenset[Branch]]) -> Path:
    """The fewest branches of the first path that say where a finding holds: all paths with them have it."""
    have = [path_of(path) for path in holding]
    without = [branches for branches in everywhere if branches not in have]
    if not without:
        return ()
    needed = list(holding[0])
    shared = [c for c in needed if all(branch_of(c) in branches for branches in have)]
    if not any(path_of(shared) <= branches for branches in without):
        needed = shared
    for condition in list(needed):
        fewer = [each for each in needed if each is not condition]
        if fewer and not any(path_of(fewer) <= branches for branches in without):
            needed = fewer
    return tuple(needed)


def soften(
    findings: Iterable[Diagnostic], found: Sequence[tuple[Path, Sequence[Diagnostic]]]
) -> list[Diagnostic]:
    """Errors that only separate choices together bring about are warnings: nobody has to choose them together."""
    softened = []
    for each in findings:
        if each.severity == "error":
            key = identity(each)
            path = next((path for path, there in found if any(identity(d) == key for d in there)), ())
            if chosen_apart(each, path):
                each = each._replace(severity="warning")
        softened.append(each)
    return softened


def chosen_apart(diagnostic: Diagnostic, path: Path) -> bool:
    """Whether two of the places that make a finding stand in branches of their own, none of them inside the other."""
    spans = [label.span.resolve() for label in diagnostic.labels if not label.hidden]
    branches = [frozenset(branch_of(c) for c in path if governs(c.span.resolve(), span)) for span in spans]
    return any(not one <= other and not other <= one for one in branches for other in branches)


def governs(test: Span, span: Span) -> bool:
    """Whether a test of Python's decides over a place: it stands in a branch of the test, or in the same line."""
    data = test.source.data
    if test.source is not span.source:
        return False
    head, line = data.rfind(b"\n", 0, test.start) + 1, data.rfind(b"\n", 0, span.start) + 1
    if head >= line:
        return head == line
    if not data[head : test.start].strip().startswith((b"if", b"elif")):
        return False
    between = [each for each in data[test.end : line].splitlines()[1:] if each.strip()]
    return _depth(data[line : span.start] + b".") > _depth(data[head : test.start]) and all(
        _depth(each) > _depth(data[head : test.start]) or each.lstrip().startswith((b"else", b"elif"))
        for each in between
    )


def _depth(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def unite(own: Path, more: Path) -> Path:
    known = path_of(own)
    return (*own, *(condition for condition in more if branch_of(condition) not in known))


def path_of(path: Iterable[Condition]) -> frozenset[Branch]:
    return frozenset(branch_of(condition) for condition in path)


def branch_of(condition: Condition) -> Branch:
    span = condition.span
    return span.path, span.start, span.end, condition.taken
