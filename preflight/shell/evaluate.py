"""Statements of bash, run on what is known: each path through the script, without executing anything.

In: the statements of a script and the state it starts in.  Out: the commands that would be executed, on every
path, and the states at the end.  What cannot be decided is taken both ways; paths that end alike are joined,
and past a budget they are joined with the differing variables unknown.  Loops and calls have fuel.
"""

from __future__ import annotations

import time
from itertools import islice

from preflight.budget import FUEL, Budget
from preflight.execution import Condition, Context, Execution
from preflight.later import later
from preflight.shell import commands
from preflight.shell.call import brief
from preflight.shell.calls import call_function, capture_output, run_source, run_text
from preflight.shell.ends import UnreadableError
from preflight.shell.expand import Expansion
from preflight.shell.joining import BUDGET, SIDE_BY_SIDE, Paths, join, join_groups, settle
from preflight.shell.knowledge import Atom, learn, recall
from preflight.shell.memory import Memory
from preflight.shell.parts import Simple, Token
from preflight.shell.pattern import compile_pattern, is_cheap
from preflight.shell.redirect import NoInputError, find_sink, read_file, read_input, store_output
from preflight.shell.remarks import Remarks
from preflight.shell.simple import dispatch, run_external, run_plain, run_simple, stopped
from preflight.shell.state import ExhaustedError, Flow, Question, State, Variable
from preflight.shell.statements import (
    Background,
    Block,
    Both,
    Broken,
    Case,
    Compute,
    Conditional,
    Count,
    For,
    Function,
    Group,
    If,
    Negation,
    Pipeline,
    Redirected,
    Statement,
    Subshell,
    While,
)
from preflight.shell.stop import StopError
from preflight.shell.syntax import Syntax
from preflight.source import Source, Span
from preflight.values import Piece, Reason, Text, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_NAMES = 5_000
"""Variables that text which cannot be read is taken to assign, at most."""
MANY_ARMS = 64
"""Arms of a `case` past which those done are joined before the next ones run."""


class Evaluator:
    """Runs one script, with everything that it sources and evals."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.executions: list[tuple[Execution, Paths]] = []
        self.truncated: list[Unknown] = []
        self.remarks = Remarks()
        self.memory = Memory()
        self.budget = context.budget or Budget()
        # Paths are joined by what this script took: one that ends within the budget ends alike wherever it stands.
        self.fuel = FUEL
        self.reserve = FUEL - self.budget.fuel
        self.ticks = 0
        self.begin = time.process_time()
        self.deadline = self.begin + self.budget.seconds
        self.calls = 0
        self.captured: int | None = None
        self.substituted = False
        self.syntaxes: dict[int, Syntax] = {}

    # What the other modules do, within reach of words and builtins.
    capture = capture_output
    call = call_function
    text = run_text
    plain = run_plain
    source = run_source
    read_file = read_file
    dispatch = dispatch
    external = run_external

    # ---------------------------------------------------------------- bookkeeping

    def burn(self, amount: int = 1) -> None:
        self.fuel -= amount
        self.ticks += 1
        if self.fuel < self.reserve or (self.ticks % 128 == 0 and time.process_time() > self.deadline):
            raise ExhaustedError

    def settle(self) -> None:
        """Take from the budget what this script cost."""
        self.budget.spend(FUEL - self.fuel, time.process_time() - self.begin)

    def syntax_of(self, source: Source, unknowns: dict[int, Piece] | None = None) -> Syntax:
        key = id(source)
        if key not in self.syntaxes:
            self.syntaxes[key] = Syntax(source, unknowns)
        return self.syntaxes[key]

    def join(self, states: list[State]) -> list[State]:
        """Make alike states one. The less fuel is left, the fewer paths are followed side by side."""
        budget = BUDGET if self.fuel > FUEL // 2 else 3 if self.fuel > FUEL // 3 else 1
        return join(states, budget)

    def truncate(self, reason: Reason, text: str) -> None:
        unknown = Unknown(reason, text)
        if unknown not in self.truncated:
            self.truncated.append(unknown)

    # ---------------------------------------------------------------- blocks

    def block(self, block: Block, syntax: Syntax, states: list[State]) -> list[State]:
        """Run statements one after another on every state that is still going."""
        for number, statement in enumerate(block):
            if len(states) == 1 and states[0].flow is None:
                after = self.statement(statement, syntax, states[0])
                states = self.limit([after]) if len(after) > 1 else after
                continue
            active = [state for state in states if state.flow is None]
            if not active:
                break
            done = [state for state in states if state.flow is not None]
            if number and len(active) > 1 and _is_worth_joining(statement, syntax):
                active = join(active, len(active), status=False)
            groups = [self.statement(statement, syntax, state) for state in active]
            after = [state for group in groups for state in group]
            states = done + (self.limit(groups) if len(after) > len(active) else after)
        return states

    def limit(self, groups: list[list[State]]) -> list[State]:
        """Join the states that a statement left, group by group where they are many."""
        states = [state for group in groups for state in group]
        return self.join(states if len(states) <= SIDE_BY_SIDE else join_groups(groups, SIDE_BY_SIDE))

    def program(self, syntax: Syntax, states: list[State]) -> list[State]:
        """Run a whole source; an expression error only costs the statement it is in."""
        for statement in syntax.block(0, len(syntax.source.data)):
            if len(states) > 1 and _is_worth_joining(statement, syntax):
                active = [state for state in states if state.flow is None]
                done = [state for state in states if state.flow is not None]
                states = done + join(active, len(active), status=False)
            states = self.block((statement,), syntax, states)
            for state in states:
                if state.flow is not None and state.flow.kind == "discard":
                    state.flow = None
        return states

    def statement(self, statement: Statement, syntax: Syntax, state: State) -> list[State]:
        if isinstance(statement, Simple):
            return run_simple(self, statement, syntax, state)
        self.burn()
        try:
            states: list[State] = _RUNNERS[type(statement)](self, statement, syntax, state)
        except StopError as stop:
            return [stopped(state, stop)]
        except (UnreadableError, RecursionError) as error:
            message = error.message if isinstance(error, UnreadableError) else "too deeply nested"
            return self.broken(Broken(statement.start, statement.end, message), syntax, state)
        for each in states:
            if isinstance(statement, (Subshell, Compute, Conditional, Pipeline)):
                self.check_errexit(each)
        return states

    def broken(self, statement: Broken, syntax: Syntax, state: State) -> list[State]:
        """What cannot be read may assign anything it names."""
        span = Span(syntax.source, statement.start, statement.end)
        line = span.text.strip().splitlines()[:1]
        if not line:
            return [state]
        shown = f"{statement.message}: {line[0][:80]}"
        self.truncate("syntax", shown)
        behind = syntax.source.data[statement.start :].decode("utf-8", "replace")
        exported = commands.exports_in(behind)
        swallowed = [name for name in exported if name not in state.variables]
        names = dict.fromkeys((*commands.names_in(span.text), *swallowed))
        for name in islice(names, MOST_NAMES):
            unknown = Unknown("syntax", f"${name}")
            state.put(name, Variable(Text.missing(unknown, span), exported=name in exported))
        state.status = None
        state.question = None
        return [state]

    def decide(
        self, block: Block, syntax: Syntax, states: list[State]
    ) -> tuple[list[State], list[State], list[State]]:
        """Run a condition: the states where it holds, where it does not, and those that left."""
        for state in states:
            state.guarded += 1
        yes: list[State] = []
        no: list[State] = []
        left: list[State] = []
        for state in self.block(block, syntax, states):
            state.guarded -= 1
            if state.flow is not None:
                left.append(state)
            elif state.status is not None:
                (no if state.status else yes).append(state)
            else:
                one, two = self.fork(state, syntax, block)
                yes.append(one)
                no.append(two)
        return yes, no, left

    def fork(self, state: State, syntax: Syntax, block: Block) -> tuple[State, State]:
        """Both answers to the question that a state is left with."""
        question = state.question
        if question is None:
            start = block[0].start if block else 0
            end = block[-1].end if block else 0
            span = Span(syntax.source, start, end)
            question = Question(span, brief(span.text))
        yes, no = state, state.fork()
        for each, outcome in ((yes, True), (no, False)):
            inner = outcome != question.negated
            each.question = None
            each.status = 0 if outcome else 1
            each.branch(Condition(question.span, question.text, inner))
            if question.knowledge is not None:
                learn(each, question.knowledge, inner)
        return yes, no

    def check_errexit(self, state: State) -> None:
        if state.status and "e" in state.options and not state.guarded and state.flow is None:
            state.flow = Flow("exit")

    # ---------------------------------------------------------------- compound commands

    def pipeline(self, statement: Pipeline, syntax: Syntax, state: State) -> list[State]:
        """Stages in subshells, each reading what the one before wrote."""
        given = state.input
        for stage in statement.stages[:-1]:
            inner = state.fork()
            inner.input, inner.output = given, ()
            inner.guarded += 1
            states = self.statement(stage, syntax, inner)
            if not states:
                return []
            texts = {Text(each.output or ()).display(): Text(each.output or ()) for each in states}
            span = Span(syntax.source, stage.start, stage.end)
            if len(texts) == 1:
                given = next(iter(texts.values()))
            else:
                given = Text.missing(Unknown("branches", brief(span.text)), span)
            state.files.update(states[0].files)
        last = state.fork()
        last.input = given
        return self._outside(self.statement(statement.stages[-1], syntax, last), state)

    def _outside(self, states: list[State], outer: State) -> list[State]:
        """Back from a subshell: only output, status and files remain."""
        out = []
        for inner in states:
            state = outer.fork()
            state.status, state.question = inner.status, inner.question
            state.output, state.files = inner.output, inner.files
            state.paths, state.forks, state.facts = inner.paths, inner.forks, inner.facts
            if inner.flow is not None and inner.flow.kind == "never":
                state.flow = inner.flow
            out.append(state)
        return self.join(out)

    def subshell(self, statement: Subshell, syntax: Syntax, state: State) -> list[State]:
        return self._outside(self.block(statement.body, syntax, [state.fork()]), state)

    def group(self, statement: Group, syntax: Syntax, state: State) -> list[State]:
        return self.block(statement.body, syntax, [state])

    def background(self, statement: Background, syntax: Syntax, state: State) -> list[State]:
        inner = state.fork()
        inner.background = True
        states = self._outside(self.statement(statement.body, syntax, inner), state)
        for each in states:
            each.status, each.question = 0, None
        return self.join(states)

    def negation(self, statement: Negation, syntax: Syntax, state: State) -> list[State]:
        state.guarded += 1
        states = self.statement(statement.body, syntax, state)
        for each in states:
            each.guarded -= 1
            if each.status is not None:
                each.status = 0 if each.status else 1
            elif each.question is not None:
                each.question = each.question._replace(negated=not each.question.negated)
        return states

    def both(self, statement: Both, syntax: Syntax, state: State) -> list[State]:
        before = state.forks
        yes, no, left = self.decide((statement.left,), syntax, [state])
        going, staying = (yes, no) if statement.operator == "&&" else (no, yes)
        for each in staying:
            if each.guarded == 0 and statement.operator == "&&" and each.status:
                each.status = each.status or 1
        states = left + staying
        for each in going:
            states.extend(self.statement(statement.right, syntax, each))
        return settle(self.join(states), before)

    def if_(self, statement: If, syntax: Syntax, state: State) -> list[State]:
        before = state.forks
        pending, out = [state], []
        for condition, body in statement.branches:
            yes, no, left = self.decide(condition, syntax, pending)
            out.extend(left)
            if yes:
                out.extend(self.block(body, syntax, yes))
            pending = no
            if not pending:
                break
        if pending:
            if statement.otherwise:
                out.extend(self.block(statement.otherwise, syntax, pending))
            else:
                for each in pending:
                    each.status = 0
                out.extend(pending)
        return settle(self.join(out), before)

    def case(self, statement: Case, syntax: Syntax, state: State) -> list[State]:
        before = state.forks
        expansion = Expansion(self, syntax, state)
        subject = expansion.single(statement.subject, flatten=True)
        out: list[State] = []
        pending: list[State] = [state]
        falling: list[State] = []
        for choice in statement.choices:
            taken, rest = list(falling), []
            falling = []
            for each in pending:
                yes, no = self._match(each, syntax, subject, choice.patterns)
                taken.extend(yes)
                rest.extend(no)
            pending = rest
            if taken:
                for each in taken:
                    each.status = 0
                after = self.block(choice.body, syntax, taken)
                if choice.terminator == ";&":
                    falling = [each for each in after if each.flow is None]
                    out.extend(each for each in after if each.flow is not None)
                elif choice.terminator == ";;&":
                    pending = pending + [each for each in after if each.flow is None]
                    out.extend(each for each in after if each.flow is not None)
                else:
                    out.extend(after)
            if len(out) > MANY_ARMS:
                out = self.join(out)
            if not pending and not falling:
                break
        for each in pending:
            each.status = 0
        return settle(self.join(out + falling + pending), before)

    def _match(
        self, state: State, syntax: Syntax, subject: Text, patterns: tuple[Token, ...]
    ) -> tuple[list[State], list[State]]:
        """The states in which one of the patterns matches, and those in which none does."""
        expansion = Expansion(self, syntax, state)
        open_atoms: list[tuple[Token, Atom]] = []
        for token in patterns:
            pattern, written = expansion.pattern(token)
            wild = pattern is not None and any(
                not quoted and any(c in text for c in "*?[\\@+!") for text, quoted in pattern
            )
            atom = Atom("=", subject, written, not wild)
            outcome: bool | None = None
            matcher = compile_pattern(pattern) if pattern is not None else None
            if (
                matcher is not None
                and subject.value is not None
                and is_cheap(matcher.pattern, len(subject.value))
            ):
                outcome = bool(matcher.fullmatch(subject.value))
            elif (
                pattern is not None
                and all(text.strip("*") == "" and not q for text, q in pattern)
                and pattern
            ):
                outcome = True
            if outcome is None:
                outcome = recall(state, atom)
            if outcome:
                return [state], []
            if outcome is None:
                open_atoms.append((token, atom))
        if not open_atoms:
            return [], [state]
        yes, no = state, state.fork()
        start, end = open_atoms[0][0].start, open_atoms[-1][0].end
        span = Span(syntax.source, start, end)
        text = f"{subject.display()} = {span.text}"
        yes.branch(Condition(span, text, True))
        no.branch(Condition(span, text, False))
        if len(open_atoms) == 1:
            learn(yes, open_atoms[0][1], True)
        for _, atom in open_atoms:
            learn(no, atom, False)
        return [yes], [no]

    # ---------------------------------------------------------------- the rest

    def function(self, statement: Function, syntax: Syntax, state: State) -> list[State]:
        state.functions[statement.name] = (statement, syntax)
        state.status = 0
        return [state]

    def redirected(self, statement: Redirected, syntax: Syntax, state: State) -> list[State]:
        expansion = Expansion(self, syntax, state)
        try:
            given = read_input(self, expansion, statement.redirects)
        except NoInputError:
            state.status = 1
            return [state]
        sink = find_sink(self, expansion, statement.redirects)
        outer_input, outer_output = state.input, state.output
        if given is not None:
            state.input = given
        if sink is not None:
            state.output = ()
        states = self.statement(statement.body, syntax, state)
        for each in states:
            if given is not None:
                each.input = outer_input
            if sink is not None:
                store_output(self, each, sink, statement.redirects)
                each.output = outer_output
        return states

    def conditional(self, statement: Conditional, syntax: Syntax, state: State) -> list[State]:
        from preflight.shell.brackets import decide_range

        expansion = Expansion(self, syntax, state)
        verdict = decide_range(expansion, *statement.inside)
        span = Span(syntax.source, *statement.inside)
        self.answer(state, verdict.outcome, verdict.claim, span, wrong=verdict.wrong)
        return [state]

    def answer(
        self, state: State, outcome: bool | None, claim: object, span: Span, *, wrong: bool = False
    ) -> None:
        """The status of a test."""
        state.question = None
        if wrong:
            state.status = 2
        elif outcome is not None:
            state.status = 0 if outcome else 1
        else:
            state.status = None
            text = span.text.strip()
            state.question = Question(span, brief(text), claim)

    def compute(self, statement: Compute, syntax: Syntax, state: State) -> list[State]:
        value, _ = Expansion(self, syntax, state).compute(*statement.inside)
        outcome = None if value is None else value != 0
        self.answer(state, outcome, None, Span(syntax.source, *statement.inside))
        return [state]


def _is_worth_joining(statement: Statement, syntax: Syntax) -> bool:
    """Not in front of mere assignments, nor of what looks at the status of the statement before it."""
    if isinstance(statement, Simple) and not statement.arguments:
        return False
    text = syntax.source.data[statement.start : statement.end]
    return b"$?" not in text and not (len(text) < 20 and text.startswith((b"return", b"exit")))


_RUNNERS: dict[type, Any] = {
    Pipeline: Evaluator.pipeline,
    Negation: Evaluator.negation,
    Both: Evaluator.both,
    Background: Evaluator.background,
    If: Evaluator.if_,
    While: later("preflight.shell.loops", "run_while"),
    For: later("preflight.shell.loops", "run_for"),
    Count: later("preflight.shell.loops", "run_count"),
    Case: Evaluator.case,
    Function: Evaluator.function,
    Group: Evaluator.group,
    Subshell: Evaluator.subshell,
    Redirected: Evaluator.redirected,
    Conditional: Evaluator.conditional,
    Compute: Evaluator.compute,
    Broken: Evaluator.broken,
}
