"""Words of a command line for tests."""

from __future__ import annotations

import re

from preflight.execution import Word
from preflight.source import Source
from preflight.values import Piece, Text, Unknown

UNKNOWN = re.compile(r"(\$\*?[A-Za-z_]\w*)")


def make_words(argv: list[str]) -> list[Word]:
    """Known words that stand in one source, one blank between them.

    `$X` in a word is unknown text; a word `$*X` can be any number of words.
    """
    encoded = [word.encode("utf-8", "surrogateescape") for word in argv]
    source = Source("line.sh", b" ".join(encoded))
    words, at = [], 0
    for word, data in zip(argv, encoded, strict=True):
        span = source.span(at, at + len(data))
        at += len(data) + 1
        pieces = []
        for text in filter(None, UNKNOWN.split(word)):
            name = text.lstrip("$*")
            unknown = Unknown("environment", f"${name}", name) if UNKNOWN.fullmatch(text) else None
            pieces.append(Piece(f"${name}" if unknown else text, span, unknown))
        words.append(Word(Text(pieces or [Piece("", span)]), span, many=word.startswith("$*")))
    return words
