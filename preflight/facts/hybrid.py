"""Patterns of hybrid models: layers by letter, pipeline segments, multi-token prediction.

In: text such as `M*M*|M-M*/MM/MM`.  Out: `Pattern`.  It refuses nothing; letters that a release does not know are a
rule's business.
"""

from __future__ import annotations

from preflight.record import NamedTuple

PIPE, SEPARATOR = "|", "/"


class Pattern(NamedTuple):
    """The main decoder's segments, and the pattern of each prediction depth after it."""

    segments: tuple[str, ...]
    depths: tuple[str, ...]

    @property
    def layers(self) -> str:
        return "".join(self.segments)


def parse_pattern(text: str) -> Pattern:
    """Split a pattern at its separators."""
    main, *rest = text.split(SEPARATOR)
    depths = () if all(part == "" for part in rest) else tuple(rest)
    return Pattern(tuple(main.split(PIPE)), depths)
