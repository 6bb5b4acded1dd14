"""Loops: as many turns as are known, or none and some.

In: a loop, and the state before it.  Out: the states after it.  Where the number of turns is not known, the
variables that the loop assigns are not known after it either; a loop that never ends is left with a note.
"""

from __future__ import annotations

import re

from preflight.execution import Condition, Word
from preflight.shell import lookup
from preflight.shell.assigned import assigned_names
from preflight.shell.call import brief
from preflight.shell.expand import Expansion
from preflight.shell.joining import reduce_paths
from preflight.shell.state import Arguments, Element, State, Variable
from preflight.shell.statements import Block, Count, For, While
from preflight.shell.syntax import Syntax
from preflight.source import Span
from preflight.values import Reason, Text, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from preflight.shell.evaluate import Evaluator

MAXIMUM_ITERATIONS = 1_500
OPEN_TURNS = 8
"""Turns that may each be the last, past which one stands for all that follow."""


def run_for(evaluator: Evaluator, statement: For, syntax: Syntax, state: State) -> list[State]:
    expansion = Expansion(evaluator, syntax, state)
    span = Span(syntax.source, statement.start, statement.end)
    if statement.words is None:
        items = lookup.elements(expansion, "@")
        if items is None:
            unknown = Text.missing(Unknown("positional", '"$@"'), span)
            words = [Word(unknown, span, True)]
        else:
            words = [Word(item.text, item.span, item.many) for item in items]
    else:
        words = expansion.words(statement.words)
    if statement.select:
        text = Text.missing(Unknown("command", f"select {statement.name}"), span)
        words = [Word(text, span)] if words else []
    state.status = 0
    states = [state]
    out: list[State] = []
    for word in words[:MAXIMUM_ITERATIONS]:
        if word.many:
            states, left = maybe_once(evaluator, statement, syntax, states, word)
            out.extend(left)
            continue
        for each in states:
            lookup.assign(Expansion(evaluator, syntax, each), statement.name, None, word.text, word.span)
        states, left = take_turn(evaluator, evaluator.block(statement.body, syntax, states))
        out.extend(left)
        if not states:
            break
    return evaluator.join(out + states)


def maybe_once(
    evaluator: Evaluator, statement: For, syntax: Syntax, states: list[State], word: Word
) -> tuple[list[State], list[State]]:
    """A word that may be any number of words: not at all, or some turns of which little is known."""
    going, left = [], []
    for state in states:
        none, some = state, state.fork()
        before = dict(state.variables)
        text = f"for {statement.name} in {word.text.display()}"
        none.branch(Condition(word.span, text, False))
        some.branch(Condition(word.span, text, True))
        reason = word.text.unknowns[0].reason if word.text.unknowns else "branches"
        forget(evaluator, some, statement.body, syntax, reason, word.span)
        some.put(statement.name, Variable(Text.missing(Unknown(reason, f"${statement.name}"), word.span)))
        after, gone = take_turn(evaluator, evaluator.block(statement.body, syntax, [some]))
        for each in after:
            forget(evaluator, each, statement.body, syntax, reason, word.span)
        names = {statement.name} | assigned_names(statement.body, syntax, state.functions)
        drop_inner(after, names, before, statement, syntax)
        # What a file that was not read sets is hardly empty, and what some turns leave unknown covers none.
        going.extend(after if reason == "file" and after else [none, *after])
        left.extend(gone)
    return evaluator.join(going), left


def drop_inner(
    states: list[State],
    names: set[str],
    before: dict[str, Variable],
    statement: For | While,
    syntax: Syntax,
) -> None:
    """Variables that only the loop itself names are of no account behind it."""
    data = syntax.source.data
    if syntax.source.origins or len(data) > 200_000:
        return
    outside = data[: statement.start] + data[statement.end :]
    for name in names:
        if re.search(rb"(?<!\w)" + re.escape(name.encode()) + rb"(?!\w)", outside):
            continue
        old = before.get(name)
        for state in states:
            if name in state.variables and not state.variables[name].exported:
                if old is None:
                    del state.variables[name]
                else:
                    state.variables[name] = old
                state.snapshot = None


def take_turn(evaluator: Evaluator, states: list[State]) -> tuple[list[State], list[State]]:
    """After one turn: the states that go on with the loop, and those that leave it."""
    going, left = [], []
    for state in states:
        flow = state.flow
        if flow is None:
            going.append(state)
        elif flow.kind == "continue" and flow.levels <= 1:
            state.flow = None
            going.append(state)
        elif flow.kind in ("break", "continue"):
            state.flow = (
                None if flow.kind == "break" and flow.levels <= 1 else flow._replace(levels=flow.levels - 1)
            )
            left.append(state)
        else:
            left.append(state)
    return evaluator.join(going), left


def forget(
    evaluator: Evaluator, state: State, body: Block, syntax: Syntax, reason: Reason, span: Span
) -> None:
    """Variables that a loop of unknown length assigns are not known."""
    names = assigned_names(body, syntax, state.functions)
    for name in names:
        old = state.variables.get(name)
        if old is not None and old.reference:
            name, old = old.reference, state.variables.get(old.reference)
        unknown = Text.missing(Unknown(reason, f"${name}"), span)
        if old is not None and isinstance(old.value, dict):
            if old.associative:
                state.put(name, old._replace(value=unknown))
            else:
                items = {0: Element(Text.missing(Unknown(reason, f"${{{name}[@]}}"), span), span, True)}
                state.put(name, old._replace(value=items))
        else:
            state.put(name, (old or Variable(None))._replace(value=unknown))
    if "@" in names:
        state.arguments = Arguments((), True, state.arguments.base)
        state.facts = {key: value for key, value in state.facts.items() if "positional" not in repr(key)}


def run_while(evaluator: Evaluator, statement: While, syntax: Syntax, state: State) -> list[State]:
    span = Span(syntax.source, statement.start, statement.end)
    states, out = [state], []
    seen: list[State] = []
    before, open_turns = dict(state.variables), 0
    for turn in range(MAXIMUM_ITERATIONS):
        known = {id(each): each.forks for each in states}
        yes, no, left = one_test(evaluator, statement, syntax, states)
        out.extend(left + no)
        unsure = [each for each in yes if each.forks > known.get(id(each), -1) and no]
        certain = [each for each in yes if each not in unsure]
        for each in unsure:
            out.extend(some_turns(evaluator, statement, syntax, each, span))
        states, left = take_turn(evaluator, evaluator.block(statement.body, syntax, certain))
        out.extend(left)
        open_turns += bool(left and states)
        if open_turns and (open_turns > OPEN_TURNS or not all(each.arguments.certain for each in states)):
            return evaluator.join(out + last_turn(evaluator, statement, syntax, states, before))
        if turn > 2:
            states = [each for each in states if not any(each.same(old) for old in seen)]
        seen = [each.fork() for each in states] if turn < 2 or turn % 16 == 0 else seen
        if not states:
            return evaluator.join(out)
    evaluator.truncate("branches", f"a loop that does not end: {brief(span.text)}")
    for each in states:
        forget(evaluator, each, (*statement.condition, *statement.body), syntax, "branches", span)
    return evaluator.join(out + states)


def one_test(
    evaluator: Evaluator, statement: While, syntax: Syntax, states: list[State]
) -> tuple[list[State], list[State], list[State]]:
    """The states that take another turn, those that are through, and those that left in the condition."""
    yes, no, left = evaluator.decide(statement.condition, syntax, states)
    if statement.until:
        yes, no = no, yes
    for each in no:
        each.status = 0
    return yes, no, left


def last_turn(
    evaluator: Evaluator, statement: While, syntax: Syntax, states: list[State], before: dict[str, Variable]
) -> list[State]:
    """Some turns leave the loop and some go on, who knows when: one that stands for all that may follow."""
    span = Span(syntax.source, statement.start, statement.end)
    parts = (*statement.condition, *statement.body)
    names: set[str] = set()
    for each in states:
        names |= assigned_names(parts, syntax, each.functions)
        forget(evaluator, each, parts, syntax, _reason(each), span)
        inside = {c for path in each.paths for c in path if span.start <= c.span.start < span.end}
        inside = {c for c in inside if c.span.source is span.source}
        each.paths = reduce_paths([tuple(c for c in path if c not in inside) for path in each.paths])
    yes, no, left = one_test(evaluator, statement, syntax, evaluator.join(states))
    _, gone = take_turn(evaluator, evaluator.block(statement.body, syntax, yes))
    drop_inner(no + left + gone, names - {"@"}, before, statement, syntax)
    return no + left + gone


def _reason(state: State) -> Reason:
    asked = bool(state.conditions) and "$#" in state.conditions[-1].text
    return "positional" if asked or not state.arguments.certain else "branches"


def some_turns(
    evaluator: Evaluator, statement: While, syntax: Syntax, state: State, span: Span
) -> list[State]:
    """The loop runs, but how often is not known."""
    reason = _reason(state)
    parts = (*statement.condition, *statement.body)
    before = dict(state.variables)
    names = assigned_names(parts, syntax, state.functions)
    forget(evaluator, state, parts, syntax, reason, span)
    states, left = take_turn(evaluator, evaluator.block(statement.body, syntax, [state]))
    for each in states:
        forget(evaluator, each, parts, syntax, reason, span)
        each.status = 0
    drop_inner(states, names - {"@"}, before, statement, syntax)
    return states + left


def run_count(evaluator: Evaluator, statement: Count, syntax: Syntax, state: State) -> list[State]:
    (first, test, step) = statement.header
    span = Span(syntax.source, statement.start, statement.end)
    Expansion(evaluator, syntax, state).compute(*first)
    states, out = [state], []
    for _ in range(MAXIMUM_ITERATIONS):
        going = []
        for each in states:
            expansion = Expansion(evaluator, syntax, each)
            empty = not syntax.source.data[slice(*test)].strip()
            value, used = (1, []) if empty else expansion.compute(*test)
            if value is None:
                reasons: list[Reason] = [u.reason for text in used for u in text.unknowns]
                reason: Reason = reasons[0] if reasons else "branches"
                out.extend(unknown_count(evaluator, statement, syntax, each, reason, span))
            elif value:
                going.append(each)
            else:
                each.status = 0
                out.append(each)
        states, left = take_turn(evaluator, evaluator.block(statement.body, syntax, going))
        out.extend(left)
        if not states:
            return evaluator.join(out)
        for each in states:
            Expansion(evaluator, syntax, each).compute(*step)
    evaluator.truncate("branches", f"a loop that does not end: {brief(span.text)}")
    for each in states:
        forget(evaluator, each, statement.body, syntax, "branches", span)
    return evaluator.join(out + states)


def unknown_count(
    evaluator: Evaluator, statement: Count, syntax: Syntax, state: State, reason: Reason, span: Span
) -> list[State]:
    name = syntax.source.data[slice(*statement.header[0])].split(b"=")[0].strip().decode("utf-8", "replace")
    none, some = state, state.fork()
    text = brief(span.text)
    none.branch(Condition(span, text, False))
    some.branch(Condition(span, text, True))
    forget(evaluator, some, statement.body, syntax, reason, span)
    if name.isidentifier():
        some.put(name, Variable(Text.missing(Unknown(reason, f"${name}"), span)))
    states, left = take_turn(evaluator, evaluator.block(statement.body, syntax, [some]))
    for each in states:
        forget(evaluator, each, statement.body, syntax, reason, span)
    return [none, *states, *left]
