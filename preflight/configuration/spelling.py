"""Finds what a misspelt flag or choice was meant to be.

In: a text and the known ones.  Out: the nearest, or None.  `slips` counts single-letter slips (a letter too many, too
few, wrong, or two swapped), which is how sure one can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

DASHES = "‐‑‒–—―−﹘﹣－"
"""Characters that word processors put in the place of a hyphen."""


LIKENESS = 0.8
"""Twice the letters in common over all letters, as difflib counts."""


def find_nearest(text: str, known: Iterable[str]) -> str | None:
    """The nearest known text: one that differs by `_` for `-`, by letter case, by few letters, or by order of words."""
    return _find(text, tuple(known))


@lru_cache(maxsize=512)
def _find(text: str, known: tuple[str, ...]) -> str | None:
    plain, normal = normalise(text), _normalise_all(known)
    if plain in normal:
        return normal[plain]
    import difflib

    close = difflib.get_close_matches(text, list_likely(text, known), 3, LIKENESS)
    if close:
        return min(close, key=lambda candidate: (slips(text, candidate, 4), candidate))
    words = sorted(plain.strip("-").split("-"))
    same = (name for form, name in normal.items() if sorted(form.strip("-").split("-")) == words)
    return next(same, None) if len(words) > 1 else None


def list_likely(text: str, known: tuple[str, ...]) -> Iterable[str]:
    """The texts that can be alike at all: letters that only one of two has cannot match."""
    letters = letters_of(text)
    for candidate, others in zip(known, _letters_of_all(known), strict=True):
        needed = LIKENESS / 2 * (len(text) + len(candidate)) - 1e-9
        if (
            len(text) - (letters & ~others).bit_count() >= needed
            and len(candidate) - (others & ~letters).bit_count() >= needed
        ):
            yield candidate


def letters_of(text: str) -> int:
    """The letters that occur, one bit for each."""
    mask = 0
    for letter in text:
        mask |= 1 << (ord(letter) & 0x7F)
    return mask


@lru_cache(maxsize=16)
def _letters_of_all(known: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(letters_of(text) for text in known)


@lru_cache(maxsize=16)
def _normalise_all(known: tuple[str, ...]) -> dict[str, str]:
    """Known texts by their plain form; the first of those with the same form."""
    return {normalise(text): text for text in reversed(known)}


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
