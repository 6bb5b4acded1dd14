"""String operations on text that is partly unknown.

In: `Text`.  Out: `Text` whose pieces keep the places of their characters.  Each unknown piece counts as one
character that no known character equals; what it holds is never looked into.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator

from preflight.source import Span
from preflight.values import PLACEHOLDER, Piece, Text

EMPTY = Text()
_SAFE = re.compile(r"[^\w@%+=:,./-]", re.ASCII)
_HOLE = re.compile("[^" + PLACEHOLDER + "]")


def mask(text: Text) -> str:
    """The characters, with a placeholder for each unknown piece."""
    return "".join(piece.text if piece.unknown is None else PLACEHOLDER for piece in text.pieces)


def cut(text: Text, start: int, stop: int) -> Text:
    """The characters from `start` to `stop`, as `mask` counts them."""
    return cuts(text, [(start, stop)])[0]


def cuts(text: Text, ranges: Iterable[tuple[int, int]]) -> list[Text]:
    """Several stretches, each behind the one before, in one pass over the pieces."""
    pieces = text.pieces
    count = len(pieces)
    index = begin = 0
    found: list[Text] = []
    for start, stop in ranges:
        part: list[Piece] = []
        while index < count and begin + _length(pieces[index]) <= start:
            begin += _length(pieces[index])
            index += 1
        at, inner = begin, index
        while inner < count and at < stop:
            length = _length(pieces[inner])
            low, high = max(start - at, 0), min(stop - at, length)
            if low < high:
                part.append(pieces[inner] if high - low == length else _trim(pieces[inner], low, high))
            at += length
            inner += 1
        found.append(Text(part))
    return found


def _length(piece: Piece) -> int:
    return len(piece.text) if piece.unknown is None else 1


def _trim(piece: Piece, low: int, high: int) -> Piece:
    inner = piece.text[low:high]
    span = piece.span
    if len(piece.text.encode("utf-8", "replace")) == span.end - span.start:
        start = span.start + len(piece.text[:low].encode("utf-8", "replace"))
        span = Span(span.source, start, start + len(inner.encode("utf-8", "replace")))
    return piece._replace(text=inner, span=span)


def extent(text: Text, fallback: Span) -> Span:
    """From the first character to the last where they stand in one source in this order."""
    if not text.pieces:
        return fallback
    first, last = text.pieces[0].span, text.pieces[-1].span
    if first.source is last.source and last.end >= first.start:
        return Span(first.source, first.start, last.end)
    return first


def strip(text: Text, characters: str | None, left: bool, right: bool) -> Text:
    masked = mask(text)
    start = len(masked) - len(masked.lstrip(characters)) if left else 0
    stop = len(masked.rstrip(characters)) if right else len(masked)
    return cut(text, start, max(start, stop))


def split(text: Text, separator: str | None, limit: int = -1) -> list[Text]:
    """As `str.split`."""
    masked = mask(text)
    if separator is None:
        return cuts(text, (m.span() for m in _fields(masked, limit)))
    ranges: list[tuple[int, int]] = []
    at = 0
    while limit < 0 or len(ranges) < limit:
        found = masked.find(separator, at)
        if found < 0:
            break
        ranges.append((at, found))
        at = found + len(separator)
    return cuts(text, [*ranges, (at, len(masked))])


def _fields(masked: str, limit: int) -> Iterator[re.Match[str]]:
    at, count = 0, 0
    word, rest = re.compile(r"\S+"), re.compile(r"\S.*", re.DOTALL)
    while True:
        match = (rest if count == limit else word).search(masked, at)
        if match is None:
            return
        yield match
        at, count = match.end(), count + 1


def lines(text: Text) -> list[Text]:
    """As `str.splitlines`."""
    masked = mask(text)
    ranges, at = [], 0
    for line in masked.splitlines(keepends=True):
        ranges.append((at, at + len(line.rstrip("\r\n"))))
        at += len(line)
    return cuts(text, ranges)


def replace(text: Text, old: str, new: Text, limit: int = -1) -> Text:
    if not old:
        return text
    parts = split(text, old, limit)
    return join(new, parts)


def join(separator: Text, parts: list[Text]) -> Text:
    pieces: list[Piece] = []
    for index, part in enumerate(parts):
        if index:
            pieces.extend(separator.pieces)
        pieces.extend(part.pieces)
    return Text(pieces)


def convert(text: Text, change: Callable[[str], str]) -> Text:
    """Apply a change that works character by character (lower, upper) to the known pieces."""
    return Text(
        piece if piece.unknown is not None else piece._replace(text=change(piece.text))
        for piece in text.pieces
    )


def shell_words(text: Text) -> list[Text] | None:
    """As `shlex.split`; None where a quotation does not end."""
    masked = mask(text)
    words: list[list[tuple[int, int]]] = []
    ranges: list[tuple[int, int]] = []
    started, quote, at, length = False, "", 0, len(masked)
    while at < length:
        character = masked[at]
        if quote:
            if character == quote:
                quote = ""
            elif character == "\\" and quote == '"' and masked[at + 1 : at + 2] in ('"', "\\"):
                at += 1
                _extend(ranges, at)
            else:
                _extend(ranges, at)
        elif character in " \t\r\n":
            if started:
                words.append(ranges)
                ranges, started = [], False
        elif character in "'\"":
            quote, started = character, True
        elif character == "\\":
            at += 1
            if at >= length:
                return None
            _extend(ranges, at)
            started = True
        else:
            _extend(ranges, at)
            started = True
        at += 1
    if quote:
        return None
    if started:
        words.append(ranges)
    parts = iter(cuts(text, [each for word in words for each in word]))
    return [Text(piece for _ in word for piece in next(parts).pieces) for word in words]


def _extend(ranges: list[tuple[int, int]], at: int) -> None:
    if ranges and ranges[-1][1] == at:
        ranges[-1] = (ranges[-1][0], at + 1)
    else:
        ranges.append((at, at + 1))


def quote(text: Text, span: Span) -> Text:
    """As `shlex.quote`; what is unknown is taken to need no quotation."""
    masked = mask(text)
    if masked and _SAFE.search(masked.replace(PLACEHOLDER, "")) is None:
        return text
    if "'" in masked:
        return Text([Piece(shlex.quote(masked), span)]) if text.known else text
    mark = Text.literal("'", Span(span.source, span.start, span.start))
    return mark.joined(text, mark)


def dedent(text: Text) -> Text:
    """As `textwrap.dedent`, for margins of blanks."""
    masked = mask(text)
    margin: str | None = None
    for line in masked.split("\n"):
        stripped = line.lstrip(" \t")
        if stripped:
            blank = line[: len(line) - len(stripped)]
            margin = blank if margin is None else _shared(margin, blank)
    parts = []
    for part in split(text, "\n"):
        shown = mask(part)
        if not shown.strip(" \t"):
            parts.append(EMPTY)
        else:
            parts.append(cut(part, len(margin or ""), len(shown)))
    end = Span(text.pieces[0].span.source, 0, 0) if text.pieces else None
    return join(Text.literal("\n", end), parts) if end is not None else EMPTY


def _shared(one: str, other: str) -> str:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return one[:length]


def lone(text: Text) -> bool:
    """Whether nothing but unknown pieces is there: it may be any number of words, or none."""
    return bool(text.pieces) and _HOLE.search(mask(text)) is None
