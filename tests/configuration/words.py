"""Words of a command line for tests."""

from __future__ import annotations

from preflight.execution import Word
from preflight.source import Source
from preflight.values import Text, Unknown


def make_words(argv: list[str]) -> list[Word]:
    """Known words that stand in one source, one blank between them.

    A word that begins with `$` is unknown; with `$*` it can be any number of words.
    """
    encoded = [word.encode("utf-8", "surrogateescape") for word in argv]
    source = Source("line.sh", b" ".join(encoded))
    words, at = [], 0
    for word, data in zip(argv, encoded, strict=True):
        span = source.span(at, at + len(data))
        at += len(data) + 1
        if word.startswith("$"):
            name = word.lstrip("$*")
            unknown = Unknown("environment", f"${name}", name)
            words.append(Word(Text.missing(unknown, span), span, many=word.startswith("$*")))
        else:
            words.append(Word(Text.literal(word, span), span))
    return words
