"""The options of a program's command line, before it is known whose they are.

In: words.  Out: for each option by its name with underscores, the text behind it and its place; the last one holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from preflight.execution import Word
from preflight.launch.options import known_prefix
from preflight.source import Span
from preflight.values import Text


def read_values(argv: Sequence[Word]) -> dict[str, tuple[Text | None, Span]]:
    """The options; one that has its value behind an equals sign is left out."""
    found: dict[str, tuple[Text | None, Span]] = {}
    for word, follower in zip(argv, (*argv[1:], None), strict=False):
        head = known_prefix(word.text)
        if head.startswith("--"):
            found[head[2:].replace("-", "_")] = (follower.text if follower is not None else None, word.span)
    return found
