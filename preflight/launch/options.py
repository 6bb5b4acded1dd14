"""The options of a command, read the way the command itself reads them.

In: the words of a command and a `Grammar`, which a synopsis in the manner of a manual page declares.  Out: the
options in their order, each under its longest name, and the operands that follow.  It refuses nothing: an
option that the synopsis lacks is kept with `known` false, and words of unknown length leave a mark in `open`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from preflight.execution import Word
from preflight.launch.model import Setting
from preflight.record import NamedTuple
from preflight.source import Span
from preflight.values import Piece, Text, Unknown

LONGEST_LIST = 20_000
"""Characters of a list that is split; a longer one is no list of a person's."""


class Option(NamedTuple):
    """One option: its canonical name, how many values follow, and whether a value is only ever glued on."""

    name: str
    arity: int
    optional: bool


class Grammar(NamedTuple):
    """What a command's options look like.

    `single` holds long options with one dash (`-npernode`).  `dashes` says that `_` and `-` mean the same in
    long options, `abbreviate` that an unambiguous beginning is enough.
    """

    options: dict[str, Option]
    dashes: bool = False
    abbreviate: bool = True
    clusters: bool = True


class Given(NamedTuple):
    """An option as it stands: its words, whether the grammar knows it, and whether its value was missing."""

    setting: Setting
    words: tuple[Word, ...]
    known: bool
    spelling: str
    values: tuple[Text, ...] = ()
    missing: bool = False


class Parsed(NamedTuple):
    """The options of a command and what follows them."""

    given: tuple[Given, ...]
    rest: tuple[Word, ...]
    open: tuple[Unknown, ...] = ()

    @property
    def settings(self) -> dict[str, Setting]:
        """The last setting of each option, under its canonical name."""
        return {given.setting.name: given.setting for given in self.given}

    def every(self, *names: str) -> list[Given]:
        return [given for given in self.given if given.setting.name in names]


@cache
def declare(
    synopsis: str, *, dashes: bool = False, abbreviate: bool = True, clusters: bool = True
) -> Grammar:
    """Read a synopsis: one option a line, all its spellings, then `VALUE` for each value it takes.

    `[=VALUE]` marks a value that is only ever glued on.  The canonical name is the last spelling, without its
    dashes and with underscores.
    """
    options: dict[str, Option] = {}
    for line in synopsis.splitlines():
        tokens = line.split()
        if not tokens:
            continue
        optional = tokens[-1] == "[=VALUE]"
        arity = tokens.count("VALUE")
        spellings = tokens[: len(tokens) - arity - optional]
        option = Option(spellings[-1].lstrip("-").replace("-", "_"), arity, optional)
        for spelling in spellings:
            options[spelling.replace("_", "-") if dashes else spelling] = option
    return Grammar(options, dashes, abbreviate, clusters)


def parse_options(
    words: Iterable[Word], grammar: Grammar, stop: Callable[[Word], bool] | None = None
) -> Parsed:
    """Read options up to the first operand or `--`.

    `stop` tells of a word whether it is a command; it settles whether an option that the grammar lacks takes
    the next word, and where a command begins behind words of unknown length.
    """
    words = tuple(words)
    given: list[Given] = []
    unclear: list[Unknown] = []
    at = sought = 0
    while at < len(words):
        word = words[at]
        head = known_prefix(word.text)
        if word.many and not head:
            unclear.extend(word.text.unknowns)
            at += 1
            if stop is not None and at >= sought:
                found = _seek(words, at, stop)
                sought = len(words) if found is None else found
                at = at if found is None else found
            continue
        if head == "--" and word.text.known:
            at += 1
            break
        if not head.startswith("-") or head == "-":
            break
        taken, at = _take(words, at, head, grammar, stop)
        given.extend(taken)
    return Parsed(tuple(given), words[at:], tuple(unclear))


def _seek(words: tuple[Word, ...], at: int, stop: Callable[[Word], bool]) -> int | None:
    """Behind words of unknown length: the next option or command."""
    for index in range(at, len(words)):
        if stop(words[index]) or known_prefix(words[index].text).startswith("-"):
            return index
    return None


def _take(
    words: tuple[Word, ...], at: int, head: str, grammar: Grammar, stop: Callable[[Word], bool] | None
) -> tuple[list[Given], int]:
    word = words[at]
    name, equals, _ = head.partition("=")
    option = find_option(name, grammar)
    if option is None and not name.startswith("--") and grammar.clusters and len(name) > 1:
        short = _take_cluster(words, at, head, grammar)
        if short is not None:
            return short
    if equals:
        value = cut(word.text, len(name) + 1)
        return [_given(option, name, (value,), (word,))], at + 1
    if option is None:
        follower = words[at + 1] if at + 1 < len(words) else None
        takes = (
            stop is not None
            and follower is not None
            and not known_prefix(follower.text).startswith("-")
            and not stop(follower)
            and any(stop(later) for later in words[at + 2 : at + 66])
        )
        if takes and follower is not None:
            return [_given(None, name, (follower.text,), (word, follower))], at + 2
        return [_given(None, name, (), (word,))], at + 1
    values = words[at + 1 : at + 1 + option.arity]
    if option.arity == 1 and values and stop is not None and values[0].text.value in grammar.options:
        values = ()  # `-np $N -x PATH` with an empty N
    end = at + 1 + len(values)
    return [_given(option, name, tuple(v.text for v in values), (word, *values))], end


def _take_cluster(
    words: tuple[Word, ...], at: int, head: str, grammar: Grammar
) -> tuple[list[Given], int] | None:
    """Short options in one word: `-N2`, `-lv`, `-euo pipefail`."""
    word = words[at]
    found: list[Given] = []
    for index in range(1, len(head)):
        spelling = "-" + head[index]
        option = grammar.options.get(spelling)
        if option is None:
            return None
        if option.arity == 0 and not option.optional:
            found.append(_given(option, spelling, (), (word,)))
            continue
        glued = cut(word.text, index + 1)
        if glued.pieces and glued.display():
            if known_prefix(glued).startswith("=") and option.arity:
                glued = cut(glued, 1)
            found.append(_given(option, spelling, (glued,), (word,)))
            return found, at + 1
        values = words[at + 1 : at + 1 + option.arity]
        found.append(_given(option, spelling, tuple(v.text for v in values), (word, *values)))
        return found, at + 1 + len(values)
    return found, at + 1


def _given(option: Option | None, spelling: str, values: tuple[Text, ...], words: tuple[Word, ...]) -> Given:
    name = option.name if option else spelling.lstrip("-").replace("-", "_")
    setting = Setting(name, values[0] if values else None, cover(words))
    missing = option is not None and len(values) < option.arity
    return Given(setting, words, option is not None, spelling, values, missing)


def find_option(name: str, grammar: Grammar) -> Option | None:
    """The option of this spelling; an unambiguous beginning will do for long ones where the command allows that."""
    key = name.replace("_", "-") if grammar.dashes and name.startswith("--") else name
    option = grammar.options.get(key)
    if option is not None or not key.startswith("--") or len(key) < 4 or not grammar.abbreviate:
        return option
    found = {candidate for spelling, candidate in grammar.options.items() if spelling.startswith(key)}
    return found.pop() if len(found) == 1 else None


def cover(words: tuple[Word, ...]) -> Span:
    """From the first word to the last, where both stand in one source in this order; else the first."""
    first, last = words[0].span, words[-1].span
    if first.source is last.source and last.end >= first.start:
        return Span(first.source, first.start, last.end)
    return first


def known_prefix(text: Text) -> str:
    """The characters before the first unknown piece."""
    if text.value is not None:
        return text.value
    known = []
    for piece in text.pieces:
        if piece.unknown is not None:
            break
        known.append(piece.text)
    return "".join(known)


def cut(text: Text, start: int, end: int | None = None) -> Text:
    """A stretch of a text, by character; unknown pieces count by how they are shown and stay whole."""
    pieces: list[Piece] = []
    at = 0
    for piece in text.pieces:
        low, high = at, at + len(piece.text)
        at = high
        if (high <= start and not (low == high == start)) or (end is not None and low >= end):
            continue
        inner_low, inner_high = max(start - low, 0), min((end if end is not None else high) - low, high - low)
        if piece.unknown is not None or (inner_low == 0 and inner_high == high - low):
            pieces.append(piece)
        else:
            pieces.append(_narrow(piece, inner_low, inner_high))
    return Text(pieces)


def _narrow(piece: Piece, low: int, high: int) -> Piece:
    span = piece.span
    encoded = piece.text.encode("utf-8", "surrogateescape")
    if span.end - span.start == len(encoded):
        start = span.start + len(piece.text[:low].encode("utf-8", "surrogateescape"))
        stop = start + len(piece.text[low:high].encode("utf-8", "surrogateescape"))
        span = Span(span.source, start, stop)
    return piece._replace(text=piece.text[low:high], span=span)


def split_text(text: Text, separator: str) -> list[Text]:
    """Split at each known separator character; unknown pieces are never split."""
    parts: list[Text] = []
    if sum(len(piece.text) for piece in text.pieces) > LONGEST_LIST:
        return [text]
    at = start = 0
    for piece in text.pieces:
        if piece.unknown is None:
            for offset, character in enumerate(piece.text):
                if character == separator:
                    parts.append(cut(text, start, at + offset))
                    start = at + offset + 1
        at += len(piece.text)
    parts.append(cut(text, start))
    return parts
