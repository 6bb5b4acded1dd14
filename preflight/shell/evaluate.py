"""Statements of bash, run on what is known: each path through the script, without executing anything.

In: the statements of a script and the state it starts in.  Out: the commands that would be executed, on every
path, and the states at the end.  What cannot be decided is taken both ways; paths that end alike are joined,
and past a budget they are joined with the differing variables unknown.  Loops and calls have fuel.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from preflight.execution import Condition, Context, Execution, Word
from preflight.shell import commands, lookup
from preflight.shell.assigned import assigned_names
from preflight.shell.builtins import BUILTINS, Call, apply_assignment, declare
from preflight.shell.expand import Expansion, Stop
from preflight.shell.joining import join, settle
from preflight.shell.knowledge import Atom, learn, recall
from preflight.shell.lexer import DECLARATIONS, Redirect, Simple, Substitution, Token, Unreadable
from preflight.shell.pattern import compile_pattern
from preflight.shell.pieces import EMPTY, strip_newlines
from preflight.shell.remarks import Remarks
from preflight.shell.state import Arguments, Element, Flow, Question, State, Variable
from preflight.shell.syntax import (
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
    Syntax,
    While,
)
from preflight.shell.tests import decide_range
from preflight.source import Refusal, Source, Span
from preflight.values import Piece, Reason, Text, Unknown, derive_source

FUEL = 40_000
"""Statements that one script may run, over all paths."""
SECONDS = 1.5
MAXIMUM_ITERATIONS = 1_500
MAXIMUM_CALLS = 40
MAXIMUM_EXECUTIONS = 5_000


class Exhausted(Exception):
    """Out of fuel."""


class Evaluator:
    """Runs one script, with everything that it sources and evals."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.executions: list[Execution] = []
        self.truncated: list[Unknown] = []
        self.remarks = Remarks()
        self.fuel = FUEL
        self.deadline = time.monotonic() + SECONDS
        self.calls = 0
        self.captured: int | None = None
        self.substituted = False
        self.syntaxes: dict[int, Syntax] = {}

    # ---------------------------------------------------------------- bookkeeping

    def burn(self) -> None:
        self.fuel -= 1
        if self.fuel < 0 or (self.fuel % 64 == 0 and time.monotonic() > self.deadline):
            raise Exhausted

    def syntax_of(self, source: Source, unknowns: dict[int, Piece] | None = None) -> Syntax:
        key = id(source)
        if key not in self.syntaxes:
            self.syntaxes[key] = Syntax(source, unknowns)
        return self.syntaxes[key]

    def truncate(self, reason: Reason, text: str) -> None:
        unknown = Unknown(reason, text)
        if unknown not in self.truncated:
            self.truncated.append(unknown)

    # ---------------------------------------------------------------- blocks

    def block(self, block: Block, syntax: Syntax, states: list[State]) -> list[State]:
        """Run statements one after another on every state that is still going."""
        for statement in block:
            active = [state for state in states if state.flow is None]
            if not active:
                break
            done = [state for state in states if state.flow is not None]
            after: list[State] = []
            for state in active:
                after.extend(self.statement(statement, syntax, state))
            if len(after) > len(active):
                after = join(after)
            states = done + after
        return states

    def program(self, syntax: Syntax, states: list[State]) -> list[State]:
        """Run a whole source; an expression error only costs the statement it is in."""
        for statement in syntax.block(0, len(syntax.source.data)):
            states = self.block((statement,), syntax, states)
            for state in states:
                if state.flow is not None and state.flow.kind == "discard":
                    state.flow = None
        return states

    def statement(self, statement: Statement, syntax: Syntax, state: State) -> list[State]:
        if isinstance(statement, Simple):
            return self.simple(statement, syntax, state)
        self.burn()
        runner = _RUNNERS[type(statement)]
        try:
            states = runner(self, statement, syntax, state)
        except Stop as stop:
            return [_stopped(state, stop)]
        except (Unreadable, RecursionError) as error:
            message = error.message if isinstance(error, Unreadable) else "too deeply nested"
            return self.broken(Broken(statement.start, statement.end, message), syntax, state)
        for each in states:
            if isinstance(statement, (Subshell, Compute, Conditional, Pipeline)):
                self._check_errexit(each)
        return states

    def broken(self, statement: Broken, syntax: Syntax, state: State) -> list[State]:
        """What cannot be read may assign anything it names."""
        span = Span(syntax.source, statement.start, statement.end)
        line = span.text.strip().splitlines()[:1]
        if not line:
            return [state]
        shown = f"{statement.message}: {line[0][:80]}"
        self.truncate("syntax", shown)
        for name in commands.names_in(span.text):
            unknown = Unknown("syntax", f"${name}")
            state.put(name, Variable(Text.missing(unknown, span)))
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
            question = Question(span, _brief(span.text))
        yes, no = state, state.fork()
        for each, outcome in ((yes, True), (no, False)):
            inner = outcome != question.negated
            each.question = None
            each.status = 0 if outcome else 1
            each.conditions = (*each.conditions, Condition(question.span, question.text, inner))
            if question.knowledge is not None:
                learn(each, question.knowledge, inner)
        return yes, no

    def _check_errexit(self, state: State) -> None:
        if state.status and "e" in state.options and not state.guarded and state.flow is None:
            state.flow = Flow("exit")

    # ---------------------------------------------------------------- simple commands

    def simple(self, command: Simple, syntax: Syntax, state: State) -> list[State]:
        self.burn()
        state.question = None
        try:
            states = self._simple(command, syntax, state)
        except Stop as stop:
            return [_stopped(state, stop)]
        except (Unreadable, RecursionError) as error:
            message = error.message if isinstance(error, Unreadable) else "too deeply nested"
            return self.broken(Broken(command.start, command.end, message), syntax, state)
        for each in states:
            self._check_errexit(each)
        return states

    def _simple(self, command: Simple, syntax: Syntax, state: State) -> list[State]:
        expansion = Expansion(self, syntax, state)
        self.substituted = False
        first = command.arguments[0] if command.arguments else None
        if isinstance(first, Token) and first.plain in DECLARATIONS and first.plain not in state.functions:
            for assignment in command.assignments:
                apply_assignment(expansion, assignment)
            declare(expansion, command)
            state.status = 0
            return [state]
        tokens = [argument for argument in command.arguments if isinstance(argument, Token)]
        words = expansion.words(tokens)
        if not words:
            for assignment in command.assignments:
                apply_assignment(expansion, assignment)
            sink = self._sink(expansion, command.redirects)
            if isinstance(sink, str):
                state.files.setdefault(sink, EMPTY)
            state.status = self.captured if self.substituted else 0
            if self.substituted and state.status is None:
                span = Span(syntax.source, command.start, command.end)
                state.question = Question(span, _brief(span.text))
            return [state]
        return self.dispatch(command, expansion, words)

    def dispatch(self, command: Simple, expansion: Expansion, words: list[Word]) -> list[State]:
        """Run the command that the words name."""
        state, syntax = expansion.state, expansion.syntax
        span = Span(syntax.source, command.start, command.end)
        while words and words[0].text.value in _PREFIXES:
            words = words[1:]
            while words and (words[0].text.value or "").startswith("-"):
                words = words[1:]
        if not words:
            state.status = 0
            return [state]
        given = self._input(expansion, command.redirects)
        call = Call(self, expansion, words, command, span, given)
        name = words[0].text.value
        body = state.functions.get(name) if name is not None else None
        if body is None and name not in BUILTINS and not commands.is_pure(name):
            return self.external(call)
        saved = self._prefix(expansion, command)
        sink = self._sink(expansion, command.redirects)
        outer_input, outer_output = state.input, state.output
        state.input = given if given is not None else state.input
        if sink is not None:
            state.output = ()
        if body is not None:
            states = self.call(body, call)
        elif name in BUILTINS:
            states = BUILTINS[name](call) or [state]
        else:
            commands.run(call)
            states = [state]
        for each in states:
            if given is not None:
                each.input = outer_input
            if sink is not None:
                self._store(each, sink, command.redirects)
                each.output = outer_output
            for variable, old in saved:
                if old is None:
                    each.variables.pop(variable, None)
                else:
                    each.variables[variable] = old
                each.snapshot = None
        return states

    def _prefix(self, expansion: Expansion, command: Simple) -> list[tuple[str, Variable | None]]:
        """Assignments in front of a function or builtin hold while it runs."""
        saved = []
        for assignment in command.assignments:
            saved.append((assignment.name, expansion.state.variables.get(assignment.name)))
            apply_assignment(expansion, assignment, exported=True)
        return saved

    def external(self, call: Call) -> list[State]:
        """A command that is not modelled: note it, and do not know its output."""
        state, expansion, command = call.state, call.expansion, call.command
        saved = self._prefix(expansion, command)
        self.emit(call)
        for variable, old in reversed(saved):
            if old is None:
                state.variables.pop(variable, None)
            else:
                state.variables[variable] = old
            state.snapshot = None
        sink = self._sink(expansion, command.redirects)
        name = call.words[0].text.value
        if sink is None and state.output is not None and name not in commands.SILENT:
            state.write(Text.missing(Unknown("command", _brief(call.span.text)), call.span))
        if isinstance(sink, str):
            state.files[sink] = Text.missing(Unknown("command", _brief(call.span.text)), call.span)
        if name in commands.ASSUMED:
            state.status = 0
        else:
            state.status = None
            state.question = Question(call.span, _brief(call.span.text))
        return [state]

    def emit(self, call: Call, words: list[Word] | None = None) -> None:
        state = call.state
        if len(self.executions) >= MAXIMUM_EXECUTIONS:
            raise Exhausted
        environment, variables = state.environments()
        given = call.given if call.given is not None else state.input
        self.executions.append(
            Execution(
                tuple(call.words if words is None else words),
                call.span,
                environment,
                variables,
                state.directory,
                state.conditions,
                given,
                state.background,
            )
        )

    # ---------------------------------------------------------------- redirections

    def _input(self, expansion: Expansion, redirects: tuple[Redirect, ...]) -> Text | None:
        """What standard input holds, where a redirection says so."""
        given = None
        for redirect in redirects:
            if redirect.descriptor not in (None, "0"):
                continue
            if redirect.body is not None:
                given = expansion.document(
                    *redirect.body, stripped=redirect.operator == "<<-", literal=redirect.literal
                )
            elif redirect.operator == "<<<" and redirect.target is not None:
                text = expansion.single(redirect.target, flatten=True)
                newline = Span(expansion.source, redirect.end, redirect.end)
                given = text.joined(Text((Piece("\n", newline),)))
            elif redirect.operator == "<" and redirect.target is not None:
                given = self.read_file(expansion, expansion.single(redirect.target))
        return given

    def read_file(self, expansion: Expansion, path: Text) -> Text:
        """The text of a file of the project, or of one that the script wrote itself."""
        state = expansion.state
        span = path.pieces[0].span if path.pieces else Span(expansion.source, 0, 0)
        value = path.value
        if value is None:
            return Text.missing(Unknown("file", path.display()), span)
        if value == "/dev/null":
            return EMPTY
        if value in state.files:
            return state.files[value]
        directory = state.directory.value if state.directory is not None else None
        found = self.context.files.read(value, directory) if directory is not None else None
        if isinstance(found, Source) and len(found.data) <= 1_000_000 and b"\0" not in found.data:
            return Text(
                (Piece(found.data.decode("utf-8", "surrogateescape"), found.span(0, len(found.data))),)
            )
        return Text.missing(Unknown("file", value), span)

    def _sink(self, expansion: Expansion, redirects: tuple[Redirect, ...]) -> str | bool | None:
        """Where standard output goes: None as before, a path, or True for somewhere else."""
        sink: str | bool | None = None
        for redirect in redirects:
            operator, target = redirect.operator, redirect.target
            if operator in (">", ">>", ">|", "&>", "&>>") and redirect.descriptor in (None, "1"):
                if target is not None:
                    value = expansion.single(target).value
                    sink = value if value is not None and value != "/dev/stdout" else True
                    if value == "/dev/stdout":
                        sink = None
            elif operator == ">&" and redirect.descriptor in (None, "1") and target is not None:
                sink = None if target.plain == "1" else True
        return sink

    def _store(self, state: State, sink: str | bool, redirects: tuple[Redirect, ...]) -> None:
        """Keep what was written to a file, for a script that reads or runs it later."""
        if not isinstance(sink, str) or sink.startswith("/dev/"):
            return
        written = Text(state.output or ())
        if any(r.operator in (">>", "&>>") for r in redirects):
            before = state.files.get(sink)
            if before is None:
                written = Text.missing(Unknown("file", sink), Span(Source(sink, b""), 0, 0)).joined(written)
            else:
                written = before.joined(written)
        state.files = {**state.files, sink: written}

    # ---------------------------------------------------------------- substitutions, functions, text

    def capture(self, expansion: Expansion, part: Substitution) -> Text:
        """The output of `$(...)`."""
        span = Span(expansion.source, part.start, part.end)
        syntax, (start, end) = expansion.syntax, part.inside
        if part.kind == "`":
            syntax, start, end = self._backquoted(expansion, part)
        block = syntax.block(start, end)
        state = expansion.state.fork()
        state.output = ()
        state.options = state.options - {"e"}
        only = block[0] if len(block) == 1 else None
        if (
            isinstance(only, Simple)
            and not only.arguments
            and not only.assignments
            and len(only.redirects) == 1
        ):
            inner = Expansion(self, syntax, state)
            text = self._input(inner, only.redirects)
            self.substituted, self.captured = True, None if text is None or not text.known else 0
            return strip_newlines(text) if text is not None else EMPTY
        self.calls += 1
        try:
            if self.calls > MAXIMUM_CALLS:
                raise Exhausted
            states = self.block(block, syntax, [state])
        finally:
            self.calls -= 1
        expansion.state.files.update(states[0].files)
        self.substituted = True
        statuses = {each.status for each in states}
        self.captured = statuses.pop() if len(statuses) == 1 else None
        texts = {Text(each.output or ()).display(): Text(each.output or ()) for each in states}
        if len(texts) > 1:
            return Text.missing(Unknown("branches", span.text), span)
        text = strip_newlines(next(iter(texts.values())))
        if text.pieces and all(p.unknown is not None and p.unknown.reason == "command" for p in text.pieces):
            return Text.missing(Unknown("command", span.text), span)
        return text

    def _backquoted(self, expansion: Expansion, part: Substitution) -> tuple[Syntax, int, int]:
        start, end = part.inside
        data = expansion.source.data
        if b"\\" not in data[start:end]:
            return expansion.syntax, start, end
        pieces, at = [], start
        while at < end:
            stop = data.find(b"\\", at, end)
            if stop < 0 or stop + 1 >= end:
                stop = end
            if stop > at:
                span = Span(expansion.source, at, stop)
                pieces.append(Piece(data[at:stop].decode("utf-8", "surrogateescape"), span))
            if stop < end:
                escaped = data[stop + 1 : stop + 2] in (b"$", b"`", b"\\") or (
                    part.quoted and data[stop + 1 : stop + 2] == b'"'
                )
                low = stop + 1 if escaped else stop
                span = Span(expansion.source, low, stop + 2)
                pieces.append(Piece(data[low : stop + 2].decode("utf-8", "surrogateescape"), span))
                stop += 2
            at = stop
        source, _ = derive_source(Text(pieces), expansion.source.path)
        syntax = self.syntax_of(source)
        return syntax, 0, len(source.data)

    def call(self, body: tuple[Function, Syntax], call: Call) -> list[State]:
        """Call a function."""
        function, syntax = body
        state = call.state
        self.calls += 1
        try:
            if self.calls > MAXIMUM_CALLS:
                self.truncate("branches", f"{function.name} calls itself without end")
                state.flow = Flow("never")
                return [state]
            outer = state.arguments, len(state.locals), state.stack
            items = tuple(Element(word.text, word.span, word.many) for word in call.words[1:])
            state.arguments = Arguments(items)
            state.locals = (*state.locals, {})
            state.stack = (*state.stack, (function.name, syntax.source.path))
            states = self.statement(function.body, syntax, state)
            for each in states:
                each.arguments, each.stack = outer[0], outer[2]
                while len(each.locals) > outer[1]:
                    _leave_scope(each)
                if each.flow is not None and each.flow.kind in ("return", "break", "continue"):
                    each.flow = None
            return join(states)
        finally:
            self.calls -= 1

    def text(self, text: Text, path: str, state: State) -> list[State]:
        """Run known text as a script: `eval`, a sourced file that the script wrote."""
        source, unknowns = derive_source(text, path)
        syntax = self.syntax_of(source, unknowns)
        self.syntaxes[id(source)] = syntax
        self.calls += 1
        try:
            if self.calls > MAXIMUM_CALLS:
                raise Exhausted
            return self.block(syntax.block(0, len(source.data)), syntax, [state])
        finally:
            self.calls -= 1

    def source(self, found: Source, state: State, arguments: tuple[Element, ...] | None) -> list[State]:
        """`source FILE`."""
        self.calls += 1
        try:
            if self.calls > MAXIMUM_CALLS:
                self.truncate("branches", f"{found.path} sources itself without end")
                state.flow = Flow("never")
                return [state]
            outer, stack = state.arguments, state.stack
            if arguments:
                state.arguments = Arguments(arguments)
            state.stack = (*stack, ("source", found.path))
            syntax = self.syntax_of(found)
            self.remarks.note_source(found, syntax)
            states = self.block(syntax.block(0, len(found.data)), syntax, [state])
            for each in states:
                if arguments:
                    each.arguments = outer
                each.stack = stack
                if each.flow is not None and each.flow.kind == "return":
                    each.flow = None
            return states
        finally:
            self.calls -= 1

    # ---------------------------------------------------------------- compound commands

    def pipeline(self, statement: Pipeline, syntax: Syntax, state: State) -> list[State]:
        """Stages in subshells, each reading what the one before wrote."""
        given = state.input
        for stage in statement.stages[:-1]:
            inner = state.fork()
            inner.input, inner.output = given, ()
            inner.guarded += 1
            states = self.statement(stage, syntax, inner)
            texts = {Text(each.output or ()).display(): Text(each.output or ()) for each in states}
            span = Span(syntax.source, stage.start, stage.end)
            if len(texts) == 1:
                given = next(iter(texts.values()))
            else:
                given = Text.missing(Unknown("branches", _brief(span.text)), span)
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
            state.conditions, state.facts = inner.conditions, inner.facts
            if inner.flow is not None and inner.flow.kind == "never":
                state.flow = inner.flow
            out.append(state)
        return join(out)

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
        return join(states)

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
        before = state.conditions
        yes, no, left = self.decide((statement.left,), syntax, [state])
        going, staying = (yes, no) if statement.operator == "&&" else (no, yes)
        for each in staying:
            if each.guarded == 0 and statement.operator == "&&" and each.status:
                each.status = each.status or 1
        states = left + staying
        for each in going:
            states.extend(self.statement(statement.right, syntax, each))
        return settle(join(states), before)

    def if_(self, statement: If, syntax: Syntax, state: State) -> list[State]:
        before = state.conditions
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
        return settle(join(out), before)

    def case(self, statement: Case, syntax: Syntax, state: State) -> list[State]:
        before = state.conditions
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
            if not pending and not falling:
                break
        for each in pending:
            each.status = 0
        return settle(join(out + falling + pending), before)

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
            if matcher is not None and subject.value is not None:
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
        yes.conditions = (*yes.conditions, Condition(span, text, True))
        no.conditions = (*no.conditions, Condition(span, text, False))
        if len(open_atoms) == 1:
            learn(yes, open_atoms[0][1], True)
        for _, atom in open_atoms:
            learn(no, atom, False)
        return [yes], [no]

    # ---------------------------------------------------------------- loops

    def for_(self, statement: For, syntax: Syntax, state: State) -> list[State]:
        expansion = Expansion(self, syntax, state)
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
                states, left = self._maybe_once(statement, syntax, states, word)
                out.extend(left)
                continue
            for each in states:
                lookup.assign(Expansion(self, syntax, each), statement.name, None, word.text, word.span)
            states, left = self._turn(self.block(statement.body, syntax, states))
            out.extend(left)
            if not states:
                break
        return join(out + states)

    def _maybe_once(
        self, statement: For, syntax: Syntax, states: list[State], word: Word
    ) -> tuple[list[State], list[State]]:
        """A word that may be any number of words: not at all, or some turns of which little is known."""
        going, left = [], []
        for state in states:
            none, some = state, state.fork()
            text = f"for {statement.name} in {word.text.display()}"
            none.conditions = (*none.conditions, Condition(word.span, text, False))
            some.conditions = (*some.conditions, Condition(word.span, text, True))
            reason = word.text.unknowns[0].reason if word.text.unknowns else "branches"
            self.forget(some, statement.body, syntax, reason, word.span)
            some.put(statement.name, Variable(Text.missing(Unknown(reason, f"${statement.name}"), word.span)))
            after, gone = self._turn(self.block(statement.body, syntax, [some]))
            for each in after:
                self.forget(each, statement.body, syntax, reason, word.span)
            going.extend([none, *after])
            left.extend(gone)
        return join(going), left

    def _turn(self, states: list[State]) -> tuple[list[State], list[State]]:
        """After one turn: the states that go on with the loop, and those that leave it."""
        going, left = [], []
        for state in states:
            flow = state.flow
            if flow is None:
                going.append(state)
            elif flow.kind == "continue" and flow.count <= 1:
                state.flow = None
                going.append(state)
            elif flow.kind in ("break", "continue"):
                state.flow = (
                    None if flow.kind == "break" and flow.count <= 1 else flow._replace(count=flow.count - 1)
                )
                left.append(state)
            else:
                left.append(state)
        return join(going), left

    def forget(self, state: State, body: Block, syntax: Syntax, reason: Reason, span: Span) -> None:
        """Variables that a loop of unknown length assigns are not known."""
        names = assigned_names(body, syntax, state.functions)
        for name in names:
            old = state.variables.get(name)
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

    def while_(self, statement: While, syntax: Syntax, state: State) -> list[State]:
        span = Span(syntax.source, statement.start, statement.end)
        states, out = [state], []
        seen: list[State] = []
        for turn in range(MAXIMUM_ITERATIONS):
            known = {id(each): len(each.conditions) for each in states}
            yes, no, left = self.decide(statement.condition, syntax, states)
            out.extend(left)
            if statement.until:
                yes, no = no, yes
            for each in no:
                each.status = 0
            out.extend(no)
            unsure = [each for each in yes if len(each.conditions) > known.get(id(each), -1) and no]
            certain = [each for each in yes if each not in unsure]
            for each in unsure:
                out.extend(self._some_turns(statement, syntax, each, span))
            states, left = self._turn(self.block(statement.body, syntax, certain))
            out.extend(left)
            if turn > 2:
                states = [each for each in states if not any(each.same(old) for old in seen)]
            seen = [each.fork() for each in states] if turn < 2 or turn % 16 == 0 else seen
            if not states:
                return join(out)
        self.truncate("branches", f"a loop that does not end: {_brief(span.text)}")
        for each in states:
            self.forget(each, (*statement.condition, *statement.body), syntax, "branches", span)
        return join(out + states)

    def _some_turns(self, statement: While, syntax: Syntax, state: State, span: Span) -> list[State]:
        """The loop runs, but how often is not known."""
        reason: Reason = "branches"
        if state.conditions and "$#" in state.conditions[-1].text or not state.arguments.certain:
            reason = "positional"
        parts = (*statement.condition, *statement.body)
        self.forget(state, parts, syntax, reason, span)
        states, left = self._turn(self.block(statement.body, syntax, [state]))
        for each in states:
            self.forget(each, parts, syntax, reason, span)
            each.status = 0
        return states + left

    def count(self, statement: Count, syntax: Syntax, state: State) -> list[State]:
        (first, test, step) = statement.header
        span = Span(syntax.source, statement.start, statement.end)
        Expansion(self, syntax, state).compute(*first)
        states, out = [state], []
        for _ in range(MAXIMUM_ITERATIONS):
            going = []
            for each in states:
                expansion = Expansion(self, syntax, each)
                empty = not syntax.source.data[slice(*test)].strip()
                value, used = (1, []) if empty else expansion.compute(*test)
                if value is None:
                    reason = next((u.reason for text in used for u in text.unknowns), "branches")
                    out.extend(self._unknown_count(statement, syntax, each, reason, span))
                elif value:
                    going.append(each)
                else:
                    each.status = 0
                    out.append(each)
            states, left = self._turn(self.block(statement.body, syntax, going))
            out.extend(left)
            if not states:
                return join(out)
            for each in states:
                Expansion(self, syntax, each).compute(*step)
        self.truncate("branches", f"a loop that does not end: {_brief(span.text)}")
        for each in states:
            self.forget(each, statement.body, syntax, "branches", span)
        return join(out + states)

    def _unknown_count(
        self, statement: Count, syntax: Syntax, state: State, reason: Reason, span: Span
    ) -> list[State]:
        name = (
            syntax.source.data[slice(*statement.header[0])].split(b"=")[0].strip().decode("utf-8", "replace")
        )
        none, some = state, state.fork()
        text = _brief(span.text)
        none.conditions = (*none.conditions, Condition(span, text, False))
        some.conditions = (*some.conditions, Condition(span, text, True))
        self.forget(some, statement.body, syntax, reason, span)
        if name.isidentifier():
            some.put(name, Variable(Text.missing(Unknown(reason, f"${name}"), span)))
        states, left = self._turn(self.block(statement.body, syntax, [some]))
        for each in states:
            self.forget(each, statement.body, syntax, reason, span)
        return [none, *states, *left]

    # ---------------------------------------------------------------- the rest

    def function(self, statement: Function, syntax: Syntax, state: State) -> list[State]:
        state.functions[statement.name] = (statement, syntax)
        state.status = 0
        return [state]

    def redirected(self, statement: Redirected, syntax: Syntax, state: State) -> list[State]:
        expansion = Expansion(self, syntax, state)
        given = self._input(expansion, statement.redirects)
        sink = self._sink(expansion, statement.redirects)
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
                self._store(each, sink, statement.redirects)
                each.output = outer_output
        return states

    def conditional(self, statement: Conditional, syntax: Syntax, state: State) -> list[State]:
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
            state.question = Question(span, _brief(text), claim)

    def compute(self, statement: Compute, syntax: Syntax, state: State) -> list[State]:
        value, _ = Expansion(self, syntax, state).compute(*statement.inside)
        outcome = None if value is None else value != 0
        self.answer(state, outcome, None, Span(syntax.source, *statement.inside))
        return [state]


def _stopped(state: State, stop: Stop) -> State:
    state.status = 1
    state.flow = Flow(stop.kind)
    return state


def _leave_scope(state: State) -> None:
    scope = state.locals[-1]
    state.locals = state.locals[:-1]
    for name, old in scope.items():
        if old is None:
            state.variables.pop(name, None)
        else:
            state.variables[name] = old
    state.snapshot = None


def _brief(text: str) -> str:
    """A statement in one short line."""
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:77] + "..."


def first_states(states: Iterable[State]) -> list[State]:
    return [state for state in states if state.flow is None]


_PREFIXES = frozenset(("time", "coproc"))
_RUNNERS = {
    Pipeline: Evaluator.pipeline,
    Negation: Evaluator.negation,
    Both: Evaluator.both,
    Background: Evaluator.background,
    If: Evaluator.if_,
    While: Evaluator.while_,
    For: Evaluator.for_,
    Count: Evaluator.count,
    Case: Evaluator.case,
    Function: Evaluator.function,
    Group: Evaluator.group,
    Subshell: Evaluator.subshell,
    Redirected: Evaluator.redirected,
    Conditional: Evaluator.conditional,
    Compute: Evaluator.compute,
    Broken: Evaluator.broken,
}

__all__ = ["Evaluator", "Exhausted", "Refusal"]
