"""Source frames: the lines that labels stand on, with marks under them.

In: labels (spans with a few words).  Out: rows of (text, role) stretches, where the role says what a stretch is
(`line`, `number`, `primary`, `secondary`, `plain`) and nothing about colour.  Characters that would move a terminal's
cursor are shown as escapes; tabs are four blanks wide; wide characters count two columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from preflight.diagnostics import Label
from preflight.record import NamedTuple
from preflight.source import Source

Stretch = tuple[str, str]
Row = list[Stretch]

WIDTH = 120
"""Longest stretch of a source line that is shown; published scripts have lines of thousands of characters."""


class _Mark(NamedTuple):
    """A label on one line, in columns of the screen from 0."""

    start: int
    end: int
    text: str
    primary: bool


def draw_frames(labels: Sequence[Label], mask: Callable[[str], str] = str) -> list[Row]:
    """The frames of one finding, the primary label's file first; `mask` hides secrets without changing widths."""
    groups: dict[str, tuple[Source, dict[int, list[_Mark]]]] = {}
    places: dict[str, str] = {}
    for label in labels:
        if label.hidden:
            continue
        span = label.span
        source, lines = groups.setdefault(span.path, (span.source, {}))
        position = span.position
        places.setdefault(span.path, printable(f"{span.path}:{position.line}:{position.column}"))
        _add(lines.setdefault(position.line, []), _mark(source, label))
    width = max((len(str(line)) for _, lines in groups.values() for line in lines), default=1)
    rows: list[Row] = []
    for path, (source, lines) in groups.items():
        arrow = "-->" if not rows else ":::"
        rows.append([(" " * width + arrow, "line"), (f" {places[path]}", "plain")])
        rows.append([(" " * width + " |", "line")])
        rows += _draw_file(source, lines, width, mask)
    return rows


def printable(text: str) -> str:
    """The text without characters that a terminal would act on."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text.expandtabs(4))


def screen_width(text: str) -> int:
    """How many columns a printable text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _mark(source: Source, label: Label) -> _Mark:
    start, end = label.span.position, label.span.end_position
    line = source.line(start.line)
    before = line[: start.column - 1]
    inside = line[start.column - 1 : end.column - 1] if end.line == start.line else line[start.column - 1 :]
    if end.line != start.line:
        inside = inside.rstrip("\\ \t")
    left = screen_width(printable(before))
    width = screen_width(printable(before + inside)) - left
    return _Mark(left, left + max(width, 1), printable(label.text.replace("\n", " ")), label.primary)


def _add(marks: list[_Mark], mark: _Mark) -> None:
    """Labels on the same place share one mark."""
    for index, old in enumerate(marks):
        if (old.start, old.end) == (mark.start, mark.end):
            texts = [text for text in (old.text, mark.text) if text]
            joined = "; ".join(dict.fromkeys(texts))
            marks[index] = _Mark(old.start, old.end, joined, old.primary or mark.primary)
            return
    marks.append(mark)


def _draw_file(
    source: Source, lines: dict[int, list[_Mark]], width: int, mask: Callable[[str], str]
) -> list[Row]:
    rows: list[Row] = []
    previous: int | None = None
    for number in sorted(lines):
        if previous is not None and number > previous + 2:
            rows.append([("...", "line")])
        elif previous is not None and number == previous + 2:
            rows.append(_source_row(mask(source.line(number - 1)), number - 1, width)[0])
        marks = sorted(lines[number], key=lambda mark: (mark.start, mark.end))
        row, shift = _source_row(mask(source.line(number)), number, width, marks[-1].end, marks[0].start)
        rows.append(row)
        rows += _mark_rows([_shifted(mark, shift) for mark in marks], width)
        previous = number
    return rows


def _shifted(mark: _Mark, shift: int) -> _Mark:
    start = max(mark.start - shift, 0)
    return mark._replace(start=start, end=max(min(mark.end - shift, WIDTH), start + 1))


def _source_row(line: str, number: int, width: int, end: int = 0, start: int = 0) -> tuple[Row, int]:
    """A line of source, and by how many columns it was moved to the left to show what is marked."""
    text, shift = printable(line.rstrip()), 0
    if len(text) > WIDTH:
        if end > WIDTH - 2:
            shift = max(start - 40, 0)
        text = text[shift:]
        if shift:
            text = "…" + text[1:]
        if len(text) > WIDTH:
            text = text[: WIDTH - 1] + "…"
    head = f"{number:>{width}} |"
    return ([(head, "line"), (f" {text}" if text else "", "plain")], shift)


def _mark_rows(marks: list[_Mark], width: int) -> list[Row]:
    """The row of marks with the last label's words behind it, then one row for each of the others."""
    head: Stretch = (" " * width + " | ", "line")
    limit = max(mark.end for mark in marks)
    under: list[Stretch] = [(" ", "plain")] * limit
    for mark in sorted(marks, key=lambda mark: mark.primary):
        for column in range(mark.start, mark.end):
            under[column] = ("^", "primary") if mark.primary else ("-", "secondary")
    last = marks[-1]
    inline = all(mark.end <= last.start for mark in marks[:-1]) or len(marks) == 1
    rows = [[head, *_joined(under)]]
    pending = [mark for mark in marks if mark.text]
    if inline and last.text:
        rows[0].append((f" {last.text}", _role(last)))
        pending = pending[:-1]
    if pending:
        rows.append([head, *_connectors(pending)])
    while pending:
        mark = pending.pop()
        row = [head, *_connectors([other for other in pending if other.start < mark.start])]
        column = sum(screen_width(text) for text, _ in row[1:])
        rows.append([*row, (" " * (mark.start - column) + mark.text, _role(mark))])
    return rows


def _connectors(marks: Sequence[_Mark]) -> list[Stretch]:
    stretches: list[Stretch] = []
    column = 0
    for mark in marks:
        if mark.start >= column:
            stretches.append((" " * (mark.start - column) + "|", _role(mark)))
            column = mark.start + 1
    return stretches


def _role(mark: _Mark) -> str:
    return "primary" if mark.primary else "secondary"


def _joined(stretches: list[Stretch]) -> list[Stretch]:
    joined: list[Stretch] = []
    for text, role in stretches:
        if joined and joined[-1][1] == role:
            joined[-1] = (joined[-1][0] + text, role)
        else:
            joined.append((text, role))
    return joined
