"""Script inside script: substitutions, functions, `eval`, sourced files.

In: the stretch to run, and the state it starts in.  Out: its output, or the states it leaves.  Depth is bounded.
"""

from __future__ import annotations

from preflight.shell.call import Call
from preflight.shell.expand import Expansion
from preflight.shell.parts import Simple, Substitution
from preflight.shell.pieces import EMPTY, strip_newlines
from preflight.shell.redirect import NoInputError, read_input
from preflight.shell.state import Arguments, Element, ExhaustedError, Flow, State
from preflight.shell.statements import Function
from preflight.shell.stop import StopError
from preflight.shell.syntax import Syntax
from preflight.source import Source, Span
from preflight.values import Piece, Text, Unknown, derive_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from preflight.shell.evaluate import Evaluator

MAXIMUM_CALLS = 40
BYTES_OF_A_STATEMENT = 16
"""What `eval` runs costs fuel by its length: text can double at every turn."""


def capture_output(evaluator: Evaluator, expansion: Expansion, part: Substitution) -> Text:
    """The output of `$(...)`."""
    span = Span(expansion.source, part.start, part.end)
    syntax, (start, end) = expansion.syntax, part.inside
    if part.kind == "`":
        syntax, start, end = unquote_backquoted(evaluator, expansion, part)
    block = syntax.block(start, end)
    state = expansion.state.fork()
    state.output = ()
    state.options = state.options - {"e"}
    only = block[0] if len(block) == 1 else None
    if isinstance(only, Simple) and not only.arguments and not only.assignments and len(only.redirects) == 1:
        inner = Expansion(evaluator, syntax, state)
        try:
            text = read_input(evaluator, inner, only.redirects)
        except NoInputError:
            evaluator.substituted, evaluator.captured = True, 1
            return EMPTY
        evaluator.substituted, evaluator.captured = True, None if text is None or not text.known else 0
        return strip_newlines(text) if text is not None else EMPTY
    evaluator.calls += 1
    held = evaluator.remarks.hold()
    try:
        if evaluator.calls > MAXIMUM_CALLS:
            raise ExhaustedError
        states = evaluator.block(block, syntax, [state])
    finally:
        evaluator.calls -= 1
        evaluator.remarks.resume(held)
    if not states:
        raise StopError("never")
    expansion.state.files.update(states[0].files)
    evaluator.substituted = True
    statuses = {each.status for each in states}
    evaluator.captured = statuses.pop() if len(statuses) == 1 else None
    texts = {Text(each.output or ()).display(): Text(each.output or ()) for each in states}
    if len(texts) > 1:
        return Text.missing(Unknown("branches", span.text), span)
    text = strip_newlines(next(iter(texts.values())))
    unknowns = text.unknowns
    if unknowns and len(unknowns) == len(text.pieces) and {u.reason for u in unknowns} <= {"command", "node"}:
        return Text.missing(Unknown(unknowns[0].reason, span.text), span)
    return text


def unquote_backquoted(
    evaluator: Evaluator, expansion: Expansion, part: Substitution
) -> tuple[Syntax, int, int]:
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
    syntax = evaluator.syntax_of(source)
    return syntax, 0, len(source.data)


def call_function(evaluator: Evaluator, body: tuple[Function, Syntax], call: Call) -> list[State]:
    """Call a function."""
    function, syntax = body
    state = call.state
    evaluator.calls += 1
    try:
        if evaluator.calls > MAXIMUM_CALLS:
            again = any(name == function.name for name, _ in state.stack)
            how = "calls itself without end" if again else "is called from too many others"
            evaluator.truncate("branches", f"{function.name} {how}")
            state.flow = Flow("never")
            return [state]
        outer = state.arguments, len(state.locals), state.stack
        items = tuple(Element(word.text, word.span, word.many) for word in call.words[1:])
        state.arguments = Arguments(items)
        state.locals = (*state.locals, {})
        state.stack = (*state.stack, (function.name, syntax.source.path))
        states = evaluator.statement(function.body, syntax, state)
        for each in states:
            each.arguments, each.stack = outer[0], outer[2]
            while len(each.locals) > outer[1]:
                _leave_scope(each)
            if each.flow is not None and each.flow.kind in ("return", "break", "continue"):
                each.flow = None
        return evaluator.join(states)
    finally:
        evaluator.calls -= 1


def run_text(evaluator: Evaluator, text: Text, path: str, state: State) -> list[State]:
    """Run known text as a script: `eval`, a sourced file that the script wrote."""
    source, unknowns = derive_source(text, path)
    evaluator.burn(len(source.data) // BYTES_OF_A_STATEMENT)
    syntax = evaluator.syntax_of(source, unknowns)
    evaluator.syntaxes[id(source)] = syntax
    evaluator.calls += 1
    try:
        if evaluator.calls > MAXIMUM_CALLS:
            raise ExhaustedError
        return evaluator.block(syntax.block(0, len(source.data)), syntax, [state])
    finally:
        evaluator.calls -= 1


def run_source(
    evaluator: Evaluator, found: Source, state: State, arguments: tuple[Element, ...] | None
) -> list[State]:
    """`source FILE`."""
    evaluator.calls += 1
    try:
        if evaluator.calls > MAXIMUM_CALLS:
            again = any(path == found.path for _, path in state.stack)
            how = "sources itself without end" if again else "is sourced from too many others"
            evaluator.truncate("branches", f"{found.path} {how}")
            state.flow = Flow("never")
            return [state]
        outer, stack = state.arguments, state.stack
        if arguments:
            state.arguments = Arguments(arguments)
        state.stack = (*stack, ("source", found.path))
        syntax = evaluator.syntax_of(found)
        evaluator.remarks.note_source(found, syntax)
        states = evaluator.block(syntax.block(0, len(found.data)), syntax, [state])
        for each in states:
            if arguments:
                each.arguments = outer
            each.stack = stack
            if each.flow is not None and each.flow.kind == "return":
                each.flow = None
        return states
    finally:
        evaluator.calls -= 1


def _leave_scope(state: State) -> None:
    scope = state.locals[-1]
    state.locals = state.locals[:-1]
    for name, old in scope.items():
        if old is None:
            state.variables.pop(name, None)
        else:
            state.variables[name] = old
    state.snapshot = None
