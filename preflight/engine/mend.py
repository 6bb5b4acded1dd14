"""Fixes: the edits that a rule's `fix` table asks for.

In: the table, the finding's labels, the remark if there is one, and the launch's place.  Out: a `Fix`, or None where
the text does not allow the edit (a value that is not written at its use).  Whether a fix mends is for the caller to
try: it applies the edits and checks again.
"""

from __future__ import annotations

from collections.abc import Mapping

from preflight.diagnostics import Edit, Fix, Label
from preflight.engine.evaluate import Evaluation
from preflight.engine.template import render
from preflight.execution import Remark
from preflight.patterns import pattern
from preflight.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_INDENT = pattern(rb"[ \t]*")
_COMMA = pattern(rb"[ \t]*,[ \t]*")


def build_fix(
    table: Mapping[str, Any],
    labels: tuple[Label, ...],
    remark: Remark | None,
    anchor: Span | None,
    evaluation: Evaluation,
) -> Fix | None:
    """The fix of one finding."""
    edits: tuple[Edit, ...] = ()
    if "edits" in table:
        edits = tuple(Edit(span, text) for span, text in remark.edits) if remark else ()
    elif "add" in table and labels:
        edits = insert_words(labels[0].span.resolve(), render(table["add"], evaluation))
    elif "export" in table and anchor is not None:
        place = anchor.resolve()
        if not in_python(place):
            edits = (insert_export(place, render(table["export"], evaluation)),)
    elif "remove" in table:
        edits = remove_flag(evaluation, table["remove"])
    elif "replace" in table:
        for name, template in table["replace"].items():
            edits += replace_value(evaluation, name, render(template, evaluation))
    return Fix(table["title"], table["safety"], edits) if edits else None


def in_python(place: Span) -> bool:
    """Whether a place is Python code, where words are elements of a list or parts of a string."""
    return place.path.endswith(".py") or place.source.data[place.end : place.end + 1] == b","


def insert_words(place: Span, words: str) -> tuple[Edit, ...]:
    """Put words behind a place: as they are in a command or a string, as further elements in a list of Python's."""
    text = " " + words
    if in_python(place):
        quote = place.text[:1]
        if quote in ('"', "'") and place.text.endswith(quote):
            text = "".join(f", {quote}{word}{quote}" for word in words.split())
        elif not place.text.startswith("-"):
            return ()
    return (Edit(Span(place.source, place.end, place.end), text),)


def insert_export(place: Span, assignment: str) -> Edit:
    """`export NAME=VALUE` on a line of its own above the launch, with the same indent."""
    data = place.source.data
    start = data.rfind(b"\n", 0, place.start) + 1
    indent = _INDENT.match(data, start)
    blanks = indent[0].decode() if indent else ""
    return Edit(Span(place.source, start, start), f"{blanks}export {assignment}\n")


def use_of(evaluation: Evaluation, name: str) -> Span | None:
    fact = evaluation.facts.get(name)
    if fact is None or fact.origin != "flag" or not fact.evidence:
        return None
    return fact.evidence[0].span.resolve()


def remove_flag(evaluation: Evaluation, name: str) -> tuple[Edit, ...]:
    """Take a flag and its values out, with the blanks before them."""
    place = use_of(evaluation, name)
    if place is None or not place.text.lstrip("\"'").startswith("-"):
        return ()
    start, data = place.start, place.source.data
    if in_python(place) and place.text[:1] in ('"', "'"):
        rest = _COMMA.match(data, place.end)
        return (Edit(Span(place.source, start, rest.end()), ""),) if rest else ()
    while start > 0 and data[start - 1 : start] in (b" ", b"\t"):
        start -= 1
    return (Edit(Span(place.source, start, place.end), ""),)


def replace_value(evaluation: Evaluation, name: str, value: str) -> tuple[Edit, ...]:
    """Write another value after a flag, where the present one is written there literally."""
    place = use_of(evaluation, name)
    if place is None:
        return ()
    written = str(evaluation.facts[name].value)
    head = place.text[: -len(written)]
    if not place.text.endswith(written) or head[-1:] not in (" ", "=", "\t"):
        return ()
    start = place.end - len(written.encode())
    return (Edit(Span(place.source, start, place.end), value),)
