"""Sorts the words of a command line as argparse does: option, value, separator, or text of unknown length.

In: words of an argv and the flags of a table.  Out: `Token`s.  It follows argparse without abbreviations: a word
that looks like a negative number or has a blank in it is a value; behind `--` everything is.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from preflight.execution import Word
from preflight.patterns import pattern
from preflight.record import NamedTuple
from preflight.targets.table import Option, Table
from preflight.values import Piece, Text

NEGATIVE_NUMBER = pattern(r"^-\d+$|^-\d*\.\d+$")


class Token(NamedTuple):
    """A word and what it is.

    `kind`: option (with `option`, or None for one that the table does not know), value, separator (`--`), many (any
    number of words).  `flag` is the option's text up to `=`, `explicit` the value behind it.  `vague` marks an option
    whose very name is not known.
    """

    kind: str
    word: Word
    option: Option | None = None
    flag: str = ""
    explicit: Text | None = None
    vague: bool = False

    @property
    def may_be_option(self) -> bool:
        """A word, sorted as a value, whose unknown text may make it a flag."""
        text = self.word.text
        return self.kind == "many" or (text.value is None and find_start(text)[:1] in ("", "-"))

    @property
    def may_be_value(self) -> bool:
        """What begins like a flag that the table does not know is a value where the unknown text has a blank."""
        return self.kind == "option" and self.option is None and self.word.text.value is None


def sort_words(words: Iterable[Word], table: Table) -> list[Token]:
    """The tokens of a command line."""
    tokens: list[Token] = []
    only_values = False
    for word in words:
        if word.many:
            tokens.append(Token("many", word))
        elif only_values:
            tokens.append(Token("value", word))
        else:
            token = sort_word(word, table)
            only_values = token.kind == "separator"
            if token.explicit is None:
                tokens.append(token)
            else:
                tokens += split_cluster(token, table)
    return tokens


def sort_word(word: Word, table: Table) -> Token:
    text = word.text.value
    if text is None:
        return sort_unknown(word, table)
    if text == "--":
        return Token("separator", word)
    if not text.startswith("-") or text == "-":
        return Token("value", word)
    if text in table.flags:
        return Token("option", word, table.flags[text], text)
    flag, equals, _ = text.partition("=")
    if equals and flag in table.flags:
        return Token("option", word, table.flags[flag], flag, cut(word.text, len(flag) + 1))
    short = find_short(text, table)
    if short is not None:
        return Token("option", word, short, text[:2], cut(word.text, 2))
    if NEGATIVE_NUMBER.match(text) or " " in text:
        return Token("value", word)
    return Token("option", word, None, flag, cut(word.text, len(flag) + 1) if equals else None)


def find_short(text: str, table: Table) -> Option | None:
    """`-x3` is option `-x` with the value 3, `-vv` is `-v` twice. Help does not count: `-hidden-size` is no help."""
    option = None if text.startswith("--") else table.flags.get(text[:2])
    return option if option is not None and option.action != "help" else None


def split_cluster(token: Token, table: Table) -> list[Token]:
    """Single-letter switches written together, as one token each; the token itself otherwise."""
    found = [token]
    while (
        found[-1].option is not None
        and not found[-1].option.takes_value
        and not found[-1].flag.startswith("--")
        and found[-1].explicit is not None
    ):
        rest = found[-1].explicit
        flag = "-" + rest.display()[:1]
        if flag not in table.flags:
            break
        found[-1] = found[-1]._replace(explicit=None)
        remaining = cut(rest, 1) if len(rest.display()) > 1 else None
        found.append(Token("option", token.word, table.flags[flag], flag, remaining))
    return found


def sort_unknown(word: Word, table: Table) -> Token:
    """A word with unknown parts: an option where its beginning says so, else a value."""
    start = find_start(word.text)
    if not start.startswith("--"):
        return Token("value", word)
    flag, equals, _ = start.partition("=")
    if not equals:
        return Token("option", word, None, flag, vague=True)
    return Token("option", word, table.flags.get(flag), flag, cut(word.text, len(flag) + 1))


def find_start(text: Text) -> str:
    """What is known of the beginning of a text."""
    return "".join(piece.text for piece in takewhile(lambda piece: piece.unknown is None, text.pieces))


def cut(text: Text, count: int) -> Text:
    """The text without its first characters; those must be known."""
    pieces: list[Piece] = []
    for piece in text.pieces:
        if count >= len(piece.text) and piece.unknown is None and count > 0:
            count -= len(piece.text)
        elif count > 0 and piece.unknown is None:
            pieces.append(shorten(piece, count))
            count = 0
        else:
            pieces.append(piece)
    return Text(tuple(pieces))


def shorten(piece: Piece, count: int) -> Piece:
    """A piece without its first characters; its span too where it maps byte by byte."""
    span, before = piece.span, len(piece.text[:count].encode("utf-8", "surrogateescape"))
    whole = len(piece.text.encode("utf-8", "surrogateescape"))
    if span.end - span.start == whole:
        span = span._replace(start=span.start + before)
    return piece._replace(text=piece.text[count:], span=span)
