"""Finds what a misspelt flag or choice was meant to be.

In: a text and the known ones.  Out: the nearest, or None.  `slips` counts single-letter slips (a letter too many, too
few, wrong, or two swapped), which is how sure one can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from preflight.record import NamedTuple

DASHES = "‐‑‒–—―−﹘﹣－"
"""Characters that word processors put in the place of a hyphen."""


LIKENESS = 0.8
"""Twice the letters in common over all letters, as difflib counts."""


class Spelt(NamedTuple):
    """A known text, its plain form, and the letters that occur in it, one bit for each."""

    text: str
    plain: str
    letters: int


@lru_cache(maxsize=8192)
def spell(text: str) -> Spelt:
    """Kept, since the tables of programs and releases have most of their flags in common."""
    return Spelt(text, normalise(text), letters_of(text))


class Spellings:
    """Known texts, with which others are compared."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.known = [spell(text) for text in texts]
        self.plain = {each.plain: each.text for each in reversed(self.known)}
        """By their plain form; the first of those with the same form."""

    def find_nearest(self, text: str) -> str | None:
        """The nearest one: it differs by `_` for `-`, by letter case, by few letters, or by order of words."""
        plain = normalise(text)
        if plain in self.plain:
            return self.plain[plain]
        import difflib

        close = difflib.get_close_matches(text, self.list_likely(text), 3, LIKENESS)
        if close:
            return min(close, key=lambda candidate: (slips(text, candidate, 4), candidate))
        words = sorted(plain.strip("-").split("-"))
        same = (name for form, name in self.plain.items() if sorted(form.strip("-").split("-")) == words)
        return next(same, None) if len(words) > 1 else None

    def list_likely(self, text: str) -> Iterable[str]:
        """The texts that can be alike at all: letters that only one of two has cannot match."""
        letters, length = letters_of(text), len(text)
        for candidate, _, others in self.known:
            needed = LIKENESS / 2 * (length + len(candidate)) - 1e-9
            if (
                length - (letters & ~others).bit_count() >= needed
                and len(candidate) - (others & ~letters).bit_count() >= needed
            ):
                yield candidate

    def may_hold_slip(self, text: str) -> bool:
        """Whether one of the texts can be a single letter away at all, or another way of writing this one."""
        letters, length = letters_of(text), len(text)
        return normalise(text) in self.plain or any(
            -1 <= len(candidate) - length <= 1
            and (letters & ~others).bit_count() <= 1
            and (others & ~letters).bit_count() <= 1
            for candidate, _, others in self.known
        )


def letters_of(text: str) -> int:
    """The letters that occur, one bit for each."""
    mask = 0
    for letter in text:
        mask |= 1 << (ord(letter) & 0x7F)
    return mask


def normalise(text: str) -> str:
    """A flag with hyphens, in small letters."""
    for dash in DASHES:
        text = text.replace(dash, "-")
    return (
        "--" + text.lower().replace("_", "-").lstrip("-")
        if text[:1] == "-"
        else text.lower().replace("_", "-")
    )


def slips(first: str, second: str, most: int) -> int:
    """How many single-letter slips lie between two texts; `most + 1` for more than `most`."""
    if abs(len(first) - len(second)) > most:
        return most + 1
    before: Sequence[int] = []
    row: list[int] = list(range(len(second) + 1))
    for i, letter in enumerate(first, 1):
        above, before_above = row, before
        row = [i]
        for j, other in enumerate(second, 1):
            best = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == other:
                best = min(best, before_above[j - 2] + 1)
            row.append(best)
        before = above
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)
