"""From fragments to words: splitting by IFS, and what sticks together.

In: fragments of one token, in order.  Out: words, each with its pattern characters where it may stand for file
names.  What fell apart points at the stretch of the string that it was.
"""

from __future__ import annotations

from preflight.execution import Word
from preflight.patterns import pattern as lazy_pattern
from preflight.record import NamedTuple
from preflight.shell.pattern import Characters
from preflight.shell.pieces import cut, extent
from preflight.source import Span
from preflight.values import Piece, Text

SPECIAL = lazy_pattern(r"[*?\[{~]|[@+!]\(")
"""What makes a word more than its characters."""
_SPLITTING = lazy_pattern(r"[*?\[{~ \t\n]|[@+!]\(")
_BLANKS = " \t\n"
_WORDS = lazy_pattern(r"[^ \t\n]+")


class Fragment(NamedTuple):
    """A stretch on its way into words. `kind`: text, break (a new word begins), empty (quotes were here)."""

    pieces: tuple[Piece, ...] = ()
    quoted: bool = True
    split: bool = False
    kind: str = "text"
    element: Span | None = None
    many: bool = False


BREAK = Fragment(kind="break")
QUOTES = Fragment(kind="empty")

Stretch = tuple[Piece | None, bool, bool, Span | None, bool]
"""A piece in a word: (piece or quotes that were here, quoted, split, element, many)."""


def lone_word(fragment: Fragment, separators: str, use: Span) -> Word | None:
    """The word of a token that is one fragment, where it is one piece that neither falls apart nor is a pattern."""
    pieces, quoted, split, kind, element, many = fragment
    if len(pieces) != 1 or kind != "text" or separators != _BLANKS:
        return None
    piece = pieces[0]
    text = piece.text
    if piece.unknown is not None:
        return (
            None if not quoted and SPECIAL.search(text) else Word(Text(pieces), element or use, many or split)
        )
    if not text or (not quoted and (_SPLITTING.search(text) if split else SPECIAL.search(text))):
        return None
    return Word(Text(pieces), element or use, many and not split)


Unplaced = tuple[Text, "Span | None", bool, "Characters | None"]
"""A word whose place may still become the stretch that it was: (text, element, many, pattern)."""


class Fields:
    """Collects fragments into words."""

    def __init__(self, separators: str, use: Span) -> None:
        self.separators = separators
        self.white = "".join(c for c in separators if c in _BLANKS)
        self.use = use
        self.words: list[Unplaced] = []
        self.current: list[Stretch] = []
        self.open = False
        self.fell = False

    def add(self, fragment: Fragment) -> None:
        pieces, quoted, split, kind, element, many = fragment
        if kind == "break":
            self._close()
            return
        if kind == "empty":
            self.open = True
            self.current.append((None, quoted, split, element, many))
            return
        split = split and bool(self.separators)
        blanks = self.separators == _BLANKS
        for piece in pieces:
            if not split or piece.unknown is not None or not piece.text:
                if piece.text or piece.unknown:
                    self.open = True
                self.current.append((piece, quoted, fragment.split, element, many))
            elif blanks:
                self._split_blanks(piece, quoted, element)
            else:
                self._split(piece, quoted, element)

    def _split_blanks(self, piece: Piece, quoted: bool, element: Span | None) -> None:
        """Splitting by blanks alone, as nearly always."""
        text, at = piece.text, 0
        last = len(text)
        for found in _WORDS.finditer(text):
            start, stop = found.span()
            if start > at or (at == 0 and start > 0):
                self._fall()
            part = cut(piece, start, stop)
            if stop == last or self.open:
                self.open = True
                self.current.append((part, quoted, True, element, False))
            else:
                pattern = ((part.text, False),) if SPECIAL.search(part.text) else None
                self.words.append((Text((part,)), element, False, pattern))
                self.fell = True
            at = stop
        if at < last:
            self._fall()

    def _fall(self) -> None:
        if self.open:
            self.fell = True
            self._close()

    def _split(self, piece: Piece, quoted: bool, element: Span | None) -> None:
        text, at, size = piece.text, 0, len(piece.text)
        while at < size:
            stop = at
            while stop < size and text[stop] not in self.separators:
                stop += 1
            if stop > at:
                self.open = True
                self.current.append((cut(piece, at, stop), quoted, True, element, False))
            if stop >= size:
                break
            at, hard = stop, False
            while at < size and text[at] in self.separators:
                if text[at] not in self.white:
                    if hard:
                        break
                    hard = True
                at += 1
            if self.open or hard:
                self.fell = True
                self.open = True
                self._close()

    def _close(self) -> None:
        if self.open:
            self.words.append(self._word())
        if self.current:
            self.current = []
        self.open = False

    def _word(self) -> Unplaced:
        current = self.current
        pieces: list[Piece] = []
        wild: list[tuple[str, bool]] = []
        special, many, filled = False, True, False
        element = current[0][3] if current else None
        for piece, quoted, split, span, several in current:
            if span is not element:
                element = element if span == element else None
            if piece is None:
                continue
            if piece.text or piece.unknown:
                filled = True
                many = many and (several or (split and piece.unknown is not None))
                wild.append((piece.text, quoted))
                special = special or (not quoted and SPECIAL.search(piece.text) is not None)
                pieces.append(piece)
            elif piece.assumptions:
                pieces.append(piece)
        return Text(pieces), element, many and filled, tuple(wild) if special else None

    def finish(self) -> list[tuple[Word, Characters | None]]:
        self._close()
        use, apart = self.use, self.fell and len(self.words) > 1
        return [
            (Word(text, element or (extent(text.pieces, use) if apart else use), many), quoting)
            for text, element, many, quoting in self.words
        ]
