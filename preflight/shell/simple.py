"""Simple commands: expand the words, then run a function, a builtin or a modelled command, or note the command.

In: a simple command and a state.  Out: the states after it; commands that are not modelled become executions.
"""

from __future__ import annotations

from collections.abc import Sequence

from preflight.execution import Execution, Word
from preflight.shell import commands
from preflight.shell.builtins import BUILTINS
from preflight.shell.call import Call, brief
from preflight.shell.calls import BYTES_OF_A_STATEMENT, call_function
from preflight.shell.declare import apply_assignment, declare
from preflight.shell.ends import UnreadableError
from preflight.shell.expand import Expansion
from preflight.shell.lexer import DECLARATIONS
from preflight.shell.parts import Simple, Token
from preflight.shell.pieces import EMPTY
from preflight.shell.redirect import NoInputError, find_sink, read_input, store_output
from preflight.shell.state import ExhaustedError, Flow, Question, State, Variable
from preflight.shell.statements import Broken
from preflight.shell.stop import StopError
from preflight.shell.syntax import Syntax
from preflight.source import Source, Span
from preflight.values import Text, Unknown, name_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from preflight.shell.evaluate import Evaluator

MAXIMUM_EXECUTIONS = 5_000


def run_simple(
    evaluator: Evaluator, command: Simple, syntax: Syntax, state: State, words: list[Word] | None = None
) -> list[State]:
    """Run a simple command; `words`: what its arguments come to, where that is known already."""
    evaluator.burn(1 + len(state.variables) // 64)
    state.question = None
    try:
        states = run_command(evaluator, command, syntax, state, words)
    except StopError as stop:
        return [stopped(state, stop)]
    except (UnreadableError, RecursionError) as error:
        message = error.message if isinstance(error, UnreadableError) else "too deeply nested"
        return evaluator.broken(Broken(command.start, command.end, message), syntax, state)
    for each in states:
        if each.status and "e" in each.options:
            evaluator.check_errexit(each)
    return states


def run_command(
    evaluator: Evaluator, command: Simple, syntax: Syntax, state: State, words: list[Word] | None
) -> list[State]:
    expansion = Expansion(evaluator, syntax, state)
    evaluator.substituted = False
    evaluator.remarks.begin()
    if words is not None:
        return dispatch(evaluator, command, expansion, words)
    if not command.arguments:
        return run_assignments(evaluator, command, expansion)
    first = command.arguments[0]
    name = first.plain if isinstance(first, Token) else None
    if name in DECLARATIONS and name not in state.functions:
        for assignment in command.assignments:
            apply_assignment(expansion, assignment)
        declare(expansion, command)
        state.status = 0
        return [state]
    if name == "echo" and is_idle(evaluator, command, syntax, state):
        state.status = 0
        return [state]
    found: list[Word] = evaluator.memory.recall(
        command,
        syntax,
        state,
        lambda: expansion.words([each for each in command.arguments if isinstance(each, Token)]),
    )
    if not found:
        return run_assignments(evaluator, command, expansion)
    return dispatch(evaluator, command, expansion, found)


def run_assignments(evaluator: Evaluator, command: Simple, expansion: Expansion) -> list[State]:
    """A command without words: its assignments stay."""
    state, source = expansion.state, expansion.source
    for assignment in command.assignments:
        apply_assignment(expansion, assignment)
    if evaluator.remarks.unset and any(
        a.elements is not None or b"--" in source.data[a.start : a.end] for a in command.assignments
    ):
        evaluator.remarks.flush(state, command=False)
    sink = find_sink(evaluator, expansion, command.redirects)
    if isinstance(sink, str):
        state.files.setdefault(sink, EMPTY)
    state.status = evaluator.captured if evaluator.substituted else 0
    if evaluator.substituted and state.status is None:
        span = Span(source, command.start, command.end)
        state.question = Question(span, brief(span.text))
    return [state]


def run_plain(evaluator: Evaluator, source: Source, words: list[Word], state: State) -> list[State]:
    """Run a command whose words are known already; its text is a source of its own."""
    evaluator.burn(len(source.data) // BYTES_OF_A_STATEMENT)
    command = Simple(0, len(source.data), (), (), ())
    return run_simple(evaluator, command, evaluator.syntax_of(source), state, words)


def is_idle(evaluator: Evaluator, command: Simple, syntax: Syntax, state: State) -> bool:
    """Whether an `echo` changes nothing: nobody keeps what it prints, and its words have no effects of their own."""
    return (
        state.output is None
        and not command.redirects
        and not command.assignments
        and "u" not in state.options
        and "echo" not in state.functions
        and evaluator.memory.reads(command, syntax) is not None
    )


def dispatch(evaluator: Evaluator, command: Simple, expansion: Expansion, words: list[Word]) -> list[State]:
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
    try:
        given = read_input(evaluator, expansion, command.redirects)
    except NoInputError:
        state.status = 1
        return [state]
    call = Call(evaluator, expansion, words, command, span, given)
    name = words[0].text.value
    body = state.functions.get(name) if name is not None else None
    if body is None and name not in BUILTINS and not commands.is_pure(words):
        return run_external(evaluator, call)
    saved = assign_prefix(evaluator, expansion, command)
    sink = find_sink(evaluator, expansion, command.redirects)
    outer_input, outer_output = state.input, state.output
    state.input = given if given is not None else state.input
    if sink is not None:
        state.output = ()
    if body is not None:
        states = call_function(evaluator, body, call)
    elif name in BUILTINS:
        states = BUILTINS[name](call) or [state]
    else:
        commands.run(call)
        states = [state]
    for each in states:
        if given is not None:
            each.input = outer_input
        if sink is not None:
            store_output(evaluator, each, sink, command.redirects)
            each.output = outer_output
        for variable, old in saved:
            if old is None:
                each.variables.pop(variable, None)
            else:
                each.variables[variable] = old
            each.snapshot = None
    return states


def assign_prefix(
    evaluator: Evaluator, expansion: Expansion, command: Simple
) -> list[tuple[str, Variable | None]]:
    """Assignments in front of a function or builtin hold while it runs."""
    saved = []
    for assignment in command.assignments:
        saved.append((assignment.name, expansion.state.variables.get(assignment.name)))
        apply_assignment(expansion, assignment, exported=True)
    return saved


def run_external(evaluator: Evaluator, call: Call) -> list[State]:
    """A command that is not modelled: note it, and do not know its output."""
    state, expansion, command = call.state, call.expansion, call.command
    saved = assign_prefix(evaluator, expansion, command)
    note_execution(evaluator, call)
    for variable, old in reversed(saved):
        if old is None:
            state.variables.pop(variable, None)
        else:
            state.variables[variable] = old
        state.snapshot = None
    sink = find_sink(evaluator, expansion, command.redirects)
    name = call.words[0].text.value
    if sink is None and state.output is not None and name not in commands.SILENT:
        state.write(Text.missing(Unknown("command", brief(call.span.text)), call.span))
    if isinstance(sink, str):
        state.files[sink] = Text.missing(Unknown("command", brief(call.span.text)), call.span)
    if name in commands.ASSUMED:
        state.status = 0
    else:
        state.status = None
        state.question = Question(call.span, brief(call.span.text))
    return [state]


def note_execution(evaluator: Evaluator, call: Call, words: list[Word] | None = None) -> None:
    state = call.state
    if len(evaluator.executions) >= MAXIMUM_EXECUTIONS:
        raise ExhaustedError
    environment, variables = state.environments()
    given = call.given if call.given is not None else state.input
    line, written = find_written(state, call.words if words is None else words)
    execution = Execution(
        line,
        call.span,
        environment,
        variables,
        state.directory,
        state.conditions,
        given,
        state.background,
        written=written,
    )
    evaluator.executions.append((execution, state.paths))
    evaluator.remarks.note_command(execution)
    evaluator.remarks.flush(state, command=True)


def find_written(state: State, words: Sequence[Word]) -> tuple[tuple[Word, ...], dict[str, Text]]:
    """The words of a command line, and of the files that the script wrote those that it names: each is one word."""
    if not state.files:
        return tuple(words), {}
    found: dict[str, Text] = {}
    out: list[Word] = []
    for word in words:
        name = name_file(word.text)
        written = state.files.get(name) if name is not None else None
        if name is not None and written is not None:
            found[name] = written
            word = word._replace(many=False)
        out.append(word)
    return tuple(out), found


def stopped(state: State, stop: StopError) -> State:
    """The state after an expansion that the shell refuses."""
    state.status = 1
    state.flow = Flow(stop.kind)
    return state


_PREFIXES = frozenset(("time", "coproc"))
