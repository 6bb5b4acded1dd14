"""A whole file: every path from its entries, and what they found put together.

In: a `Source` with its context.  Out: a `Script`.  Refuses, as unknown, what is no Python or too deep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from preflight.execution import Context, Execution, Script, Word
from preflight.python.looks import look
from preflight.python.merging import distinct_remarks, merge, settings_key, words_key
from preflight.python.outline import outline
from preflight.python.places import deep_recursion
from preflight.python.reading import Reading
from preflight.python.signs import may_launch
from preflight.python.syntax import parse
from preflight.source import Source
from preflight.values import Piece, Text, Unknown


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
            reading = look(tree, overview, begin)
    except RecursionError:
        return Script(source, (), truncated=(Unknown("syntax", f"{source.path}: nested too deeply"),))
    if tree.refused:
        reading.truncated[Unknown("syntax", f"{source.path}: not all of it was understood as Python")] = None
    return Script(
        source,
        tuple(_without_copies(reading)),
        tuple(distinct_remarks(reading.remarks)),
        tuple(merge(reading.configurations, settings_key)),
        tuple(reading.truncated),
    )


def _without_copies(reading: Reading) -> list[Execution]:
    """The executions, without handed-over flags that reach a followed command."""
    real = merge(reading.executions, words_key)
    used = {_place(word) for execution in real for word in execution.words}
    kept = [
        execution
        for execution in merge(reading.synthetic, words_key)
        if not any(_place(word) in used for word in execution.words[2:-1])
    ]
    return [*real, *kept]


def _place(word: Word) -> tuple[str, int, int]:
    span = word.span.resolve()
    return (span.path, span.start, span.end)
