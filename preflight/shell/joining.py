"""Joining paths: which states may go on as one, and what they then know.

In: the states after a branch.  Out: fewer states.  Conditions that turn out not to matter are dropped; past the
budget all states become one, whose differing variables are unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

from preflight.execution import Condition
from preflight.shell.state import Arguments, Element, State, Variable, same_value
from preflight.source import Source, Span
from preflight.values import Text, Unknown

BUDGET = 10
"""Paths that one statement may make, and that are followed side by side at most."""

NEAREST = 24
"""A path is compared with so many others, those made last."""

MOST_ENDED = 24
"""Paths that have ended, past which those that ended alike are joined."""

SIDE_BY_SIDE = 3
"""Once there are more, a further branch is joined again on each of them."""

MAXIMUM_PATHS = 6
"""Ways to one state that are told apart."""

FEW = 8
"""So many paths are compared pair by pair."""

PRIME = (1 << 89) - 1
"""Powers below it stand for conditions: sums of different conditions do not meet."""

Conditions = tuple[Condition, ...]
Paths = tuple[Conditions, ...]


def opposite(condition: Condition) -> Condition:
    return Condition(condition.span, condition.text, not condition.taken)


def reduce_pair(left: Conditions, right: Conditions) -> Conditions | None:
    """One set of conditions for two paths that together cover it exactly, or None."""
    if len(left) == len(right):
        at = -1
        for number, condition in enumerate(left):
            if condition != right[number]:
                if at >= 0:
                    return None
                at = number
        if at < 0:
            return left
        return left[:at] + left[at + 1 :] if left[at] == opposite(right[at]) else None
    short, long = (left, right) if len(left) < len(right) else (right, left)
    return short if all(condition in long for condition in short) else None


def reduce_paths(paths: Sequence[Conditions]) -> Paths:
    """Fewer sets of conditions for the same paths, the shortest first; pairs that cover each other cancel out."""
    found = list(dict.fromkeys(paths))
    if len(found) > FEW:
        return tuple(reduce_many(found))
    changed = True
    while changed and len(found) > 1:
        changed = False
        for first in range(len(found)):
            for second in range(first + 1, len(found)):
                one = reduce_pair(found[first], found[second])
                if one is not None:
                    del found[second]
                    found[first] = one
                    changed = True
                    break
            if changed:
                break
    found.sort(key=len)
    return tuple(found[:MAXIMUM_PATHS])


def reduce_many(paths: list[Conditions]) -> list[Conditions]:
    """The same for many paths: conditions become numbers, even ones and their odd opposites; paths, sums to look up."""
    numbers: dict[Condition, int] = {}
    known: list[Condition] = []
    weights: list[int] = []
    for each in paths:
        for condition in each:
            if condition not in numbers:
                for one in (condition, opposite(condition)):
                    numbers[one] = len(known)
                    weights.append(weigh(len(known)))
                    known.append(one)
    alive: dict[int, tuple[int, ...]] = {}
    for each in paths:
        path = tuple(numbers[condition] for condition in each)
        alive[sum(weights[number] for number in path)] = path
    waiting = list(alive)
    while waiting:
        total = waiting.pop()
        path = alive.get(total, ())
        for at, number in enumerate(path):
            twin = total - weights[number] + weights[number ^ 1]
            if twin in alive:
                del alive[total], alive[twin]
                alive[total - weights[number]] = (*path[:at], *path[at + 1 :])
                waiting.append(total - weights[number])
                break
    kept: list[frozenset[int]] = []
    out: list[Conditions] = []
    for path in sorted(alive.values(), key=len):
        held = frozenset(path)
        if len(out) < MAXIMUM_PATHS and not any(short <= held for short in kept):
            kept.append(held)
            out.append(tuple(known[number] for number in path))
    return out


_WEIGHTS = [pow(5, 64, PRIME)]


def weigh(number: int) -> int:
    """The weight of the condition with this number; paths are weighed again and again."""
    while len(_WEIGHTS) <= number:
        _WEIGHTS.append(_WEIGHTS[-1] * 5 % PRIME)
    return _WEIGHTS[number]


def merge(left: State, right: State) -> State:
    """One state for two that are alike."""
    left.paths = reduce_paths((*left.paths, *right.paths))
    if left.learned or left.learned_arguments:
        left.forget_learned(right)
    if left.status != right.status:
        left.status, left.question = None, None
    if left.facts != right.facts:
        left.facts = {k: v for k, v in left.facts.items() if right.facts.get(k, _ABSENT) == v}
    if left.question != right.question:
        left.question = None
    return left


_ABSENT = object()


def join(states: list[State], budget: int = BUDGET, *, status: bool = True) -> list[State]:
    """Make states that are alike one; past the budget, make all one."""
    if len(states) < 2:
        return states
    out: list[State] = []
    for state in states:
        for number in range(len(out) - 1, max(-1, len(out) - 1 - NEAREST), -1):
            if state.same(out[number], status=status):
                out[number] = merge(out[number], state)
                break
        else:
            out.append(state)
    active = [state for state in out if state.flow is None]
    ended = [state for state in out if state.flow is not None]
    if len(ended) > MOST_ENDED:
        ended = _collapse_ended(ended)
    elif len(active) <= budget:
        return out
    return ended + (_collapse(active) if len(active) > budget else active)


def _collapse_ended(states: list[State]) -> list[State]:
    """Of the paths that have left a loop, a function or the script, one for each way out."""
    ways: dict[object, list[State]] = {}
    for state in states:
        ways.setdefault(state.flow, []).append(state)
    return [one for way in ways.values() for one in (_collapse(way) if len(way) > 1 else way)]


def join_groups(groups: list[list[State]], budget: int) -> list[State]:
    """Too many paths: those that split last become one again, each by itself, so that earlier branches stay."""
    joined = [join(group) for group in groups]
    total = sum(len(group) for group in joined)
    if total <= budget or len(groups) == 1:
        return [state for group in joined for state in group]
    return [state for group in joined for state in (join(group, 1) if len(group) > 1 else group)]


def settle(states: list[State], before: int) -> list[State]:
    """After a branch: where one side gave up with an error, the other side is simply what happens."""
    dead = [s for s in states if s.flow is not None and s.flow.kind == "exit" and s.status != 0]
    if not dead or len(dead) == len(states):
        return states
    live = [s for s in states if s not in dead]
    ended = {path[-1] for s in dead for path in s.paths if s.forks > before and path}
    ended -= {c for s in live for path in s.paths for c in path}
    gone = {opposite(condition) for condition in ended}
    for state in live:
        state.paths = reduce_paths([tuple(c for c in path if c not in gone) for path in state.paths])
    return live


def _collapse(states: list[State]) -> list[State]:
    """All states as one; joined in two steps so that output and locals stay apart."""
    groups: list[list[State]] = []
    for state in states:
        for group in groups:
            first = group[0]
            if len(first.locals) == len(state.locals) and (first.output is None) == (state.output is None):
                group.append(state)
                break
        else:
            groups.append([state])
    return [_fuse(group) for group in groups]


def _fuse(states: list[State]) -> State:
    first = states[0]
    span = Span(Source("<branches>", b""), 0, 0)
    for other in states[1:]:
        names = [name for name, one in first.variables.items() if other.variables.get(name) is not one]
        names += [name for name in other.variables if name not in first.variables]
        for name in names:
            one, two = first.variables.get(name), other.variables.get(name)
            before = first.original(name)
            if before is not None and before is other.original(name):
                first.put(name, before)
            elif one is None or two is None or one[1:] != two[1:] or not same_value(one.value, two.value):
                first.put(name, _either(name, one, two, span))
        if not _equal_arguments(first.arguments, other.arguments):
            first.arguments = Arguments((), True, first.arguments.base)
        if first.status != other.status:
            first.status, first.question = None, None
        if first.directory is not other.directory:
            same = first.directory is not None and other.directory is not None
            if not same or first.directory.display() != other.directory.display():  # type: ignore[union-attr]
                first.directory = None
        if first.output is not None and first.output != other.output:
            first.output = Text.missing(Unknown("branches", "output"), span).pieces
        first.options = first.options & other.options
        first.functions = {**other.functions, **first.functions}
        first.files = {k: v for k, v in first.files.items() if k in other.files}
        first.facts = {k: v for k, v in first.facts.items() if other.facts.get(k, _ABSENT) == v}
        first.paths = reduce_paths((*first.paths, *other.paths))
        first.missing = first.missing or other.missing
    return first


def _either(name: str, one: Variable | None, two: Variable | None, span: Span) -> Variable:
    some = one or two
    assert some is not None
    exported = bool(one and one.exported) or bool(two and two.exported)
    if isinstance(some.value, dict) and not some.associative:
        text = Text.missing(Unknown("branches", f"${{{name}[@]}}"), span)
        return some._replace(value={0: Element(text, span, True)}, exported=exported)
    where = some.value.pieces[0].span if isinstance(some.value, Text) and some.value.pieces else span
    return some._replace(value=Text.missing(Unknown("branches", f"${name}"), where), exported=exported)


def _equal_arguments(left: Arguments, right: Arguments) -> bool:
    return left is right or left == right
