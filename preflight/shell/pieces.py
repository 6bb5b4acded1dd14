"""Operations on `Text` that keep the way back: slicing, splitting, rewriting.

In: texts, known or not.  Out: texts whose pieces still say where they came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from preflight.patterns import pattern
from preflight.source import Span
from preflight.values import Piece, Step, Text, Unknown

MAXIMUM_STEPS = 8
EMPTY = Text()


def cut(piece: Piece, start: int, end: int) -> Piece:
    """A stretch of a known piece, in characters."""
    if start <= 0 and end >= len(piece.text):
        return piece
    text, span = piece.text[start:end], piece.span
    if span.end - span.start == len(piece.text) and piece.text.isascii():
        span = Span(span.source, span.start + start, span.start + end)
    return Piece(text, span, None, piece.steps, piece.assumptions)


def slice_text(text: Text, start: int, end: int) -> Text:
    """Characters `start` to `end` of a known text."""
    out, at = [], 0
    for piece in text.pieces:
        stop = at + len(piece.text)
        if stop > start and at < end:
            out.append(cut(piece, max(start - at, 0), min(end - at, len(piece.text))))
        at = stop
    return Text(out)


def rewrite(value: str, basis: Text, span: Span) -> Text:
    """A known text computed from another one: the place and the assumptions of its origin."""
    if not value:
        return Text((Piece("", span, None, (), basis.assumptions),)) if basis.assumptions else EMPTY
    if basis.pieces:
        first = basis.pieces[0]
        return Text((Piece(value, first.span, None, basis.steps[:MAXIMUM_STEPS], basis.assumptions),))
    return Text((Piece(value, span),))


def forget(basis: Iterable[Text], shown: str, span: Span) -> Text:
    """What is computed from texts that are not all known; the first reason stands for all."""
    for text in basis:
        for unknown in text.unknowns:
            return Text.missing(Unknown(unknown.reason, shown, unknown.name), span)
    return Text.missing(Unknown("syntax", shown), span)


def assume(text: Text, others: Iterable[Text]) -> Text:
    """Add the assumptions that other texts rest on to a text computed from them."""
    extra = tuple(a for other in others for piece in other.pieces for a in piece.assumptions)
    if not extra or not text.pieces:
        return text
    first = text.pieces[0]
    merged = tuple(dict.fromkeys(first.assumptions + extra))
    return Text((first._replace(assumptions=merged), *text.pieces[1:]))


def route(text: Text, name: str, span: Span) -> Text:
    """Note that a value passed through `$name` at `span` on its way into another value."""
    step = Step(span, f"${name} is put in here")
    alone = (step,)
    routed = []
    for piece in text.pieces:
        shown, origin, unknown, steps, assumptions = piece
        if shown:
            way = (*steps[: MAXIMUM_STEPS - 1], step) if steps else alone
            piece = Piece(shown, origin, unknown, way, assumptions)
        routed.append(piece)
    return Text(routed)


def place(piece: Piece) -> Span:
    """Where a piece stands in the string that it was written into last."""
    return piece.steps[-1].span if piece.steps else piece.span


def extent(pieces: Sequence[Piece], fallback: Span) -> Span:
    """The stretch of source that pieces of one string cover."""
    if len(pieces) == 1 and pieces[0].text:
        return place(pieces[0])
    spans = [place(piece) for piece in pieces if piece.text or piece.unknown]
    if not spans:
        return fallback
    first, last = spans[0], spans[-1]
    if first.source is last.source and last.end >= first.start:
        return Span(first.source, first.start, max(last.end, first.end))
    return first


def strip_newlines(text: Text) -> Text:
    """Without trailing line ends, as command substitution leaves it."""
    pieces = list(text.pieces)
    while pieces and pieces[-1].unknown is None:
        last = pieces[-1]
        kept = last.text.rstrip("\n")
        if kept == last.text and kept:
            break
        pieces.pop()
        if kept:
            pieces.append(cut(last, 0, len(kept)))
            break
    return Text(pieces)


def split_lines(text: Text) -> list[Text]:
    """The lines of a text, without their ends; unknown pieces stay in their line."""
    lines: list[Text] = []
    current: list[Piece] = []
    for piece in text.pieces:
        if piece.unknown is not None or "\n" not in piece.text:
            current.append(piece)
            continue
        at = 0
        while (stop := piece.text.find("\n", at)) >= 0:
            if stop > at:
                current.append(cut(piece, at, stop))
            lines.append(Text(current))
            current = []
            at = stop + 1
        if at < len(piece.text):
            current.append(cut(piece, at, len(piece.text)))
    if current:
        lines.append(Text(current))
    return lines


_TO_FILL_IN = pattern(r"(?:(?<=[\s='\"])|^)<[A-Za-z_][\w./-]*(?: [\w./-]+)+>(?=[\s'\"]|$)")


def set_apart(text: Text) -> Text:
    """A text that a shell will read, with each `<your hostfile>` unknown: it is to be filled in, no redirection."""
    shown = "".join(piece.text for piece in text.pieces)
    out, at = Text(()), 0
    for found in _TO_FILL_IN.finditer(shown):
        place = slice_text(text, *found.span())
        if place.known:
            missing = Text.missing(Unknown("syntax", found[0]), place.pieces[0].span)
            out, at = out.joined(slice_text(text, at, found.start()), missing), found.end()
    return out.joined(slice_text(text, at, len(shown))) if at else text
