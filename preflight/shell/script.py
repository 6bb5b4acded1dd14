"""One script from bytes to executions.

In: a source and its surroundings.  Out: a `Script`: what it would run, on which paths, and what its layout
shows.  Never raises for what a script holds; what runs out of fuel is `truncated`.
"""

from __future__ import annotations

from collections.abc import Mapping

from preflight.execution import Context, Execution, Script
from preflight.shell.evaluate import Evaluator
from preflight.shell.joining import Paths, reduce_paths
from preflight.shell.state import ExhaustedError, initial_state
from preflight.source import Source
from preflight.values import Piece, Text, Unknown


def read_script(
    source: Source,
    context: Context,
    *,
    unknowns: Mapping[int, Piece] = {},
    variables: Mapping[str, Text | None] = {},
    exported: Mapping[str, Text | None] = {},
) -> Script:
    """Evaluate a bash script.

    `unknowns` are the placeholders of derived text; `variables` and `exported` are the state it starts with,
    and go before what the context says of the environment.
    """
    evaluator = Evaluator(context)
    state = initial_state(context, source, variables, exported)
    syntax = evaluator.syntax_of(source, dict(unknowns))
    state.stack = (("", state.zero.value or source.path),)
    evaluator.remarks.note_source(source, syntax)
    try:
        for name in [each for each in state.variables if each.endswith("%%")]:
            function = state.variables.pop(name).value
            if isinstance(function, Text) and function.pieces:
                head = Piece(name.removeprefix("BASH_FUNC_")[:-2] + " ", function.pieces[0].span)
                evaluator.text(Text((head, *function.pieces)), "<environment>", state)
        evaluator.program(syntax, [state])
    except (ExhaustedError, RecursionError):
        evaluator.truncate("branches", "too many paths or loops")
    evaluator.settle()
    executions = merge_executions(evaluator.executions)
    return Script(
        source,
        executions,
        evaluator.remarks.finish(launches=bool(executions)),
        (),
        tuple(evaluator.truncated),
    )


def merge_executions(executions: list[tuple[Execution, Paths]]) -> tuple[Execution, ...]:
    """One entry for what is the same on several paths, with the conditions that remain."""
    groups: dict[object, list[tuple[Execution, Paths]]] = {}
    for execution, paths in executions:
        words = tuple((word.text.display(), word.text.known, word.many) for word in execution.words)
        key = (
            id(execution.span.source),
            execution.span.start,
            execution.span.end,
            words,
            execution.background,
        )
        groups.setdefault(key, []).append((execution, paths))
    out: list[Execution] = []
    for group in groups.values():
        distinct: list[tuple[Execution, list[Paths]]] = []
        for execution, paths in group:
            for first, ways in distinct:
                if _same_surroundings(first, execution):
                    ways.append(paths)
                    break
            else:
                distinct.append((execution, [paths]))
        for first, ways in distinct:
            reduced = reduce_paths([path for paths in ways for path in paths])
            out.append(first._replace(conditions=reduced[0]))
    return tuple(out)


def _same_surroundings(left: Execution, right: Execution) -> bool:
    return (
        _same_values(left.environment, right.environment)
        and _same_text(left.directory, right.directory)
        and _same_text(left.standard_input, right.standard_input)
        and _same_values(left.written, right.written)
    )


def _same_text(left: Text | None, right: Text | None) -> bool:
    if left is right:
        return True
    return (
        left is not None
        and right is not None
        and left.known == right.known
        and left.display() == right.display()
    )


def _same_values(left: Mapping[str, Text | None], right: Mapping[str, Text | None]) -> bool:
    if left is right:
        return True
    return left.keys() == right.keys() and all(_same_text(value, right[name]) for name, value in left.items())


__all__ = ["Unknown", "read_script"]
