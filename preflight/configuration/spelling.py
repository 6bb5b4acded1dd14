"""Finds what a misspelt flag or choice was meant to be.

In: a text and the known ones.  Out: the nearest, or None.  `slips` counts single-letter slips (a letter too many, too
few, wrong, or two swapped), which is how sure one can be.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

DASHES = "‐‑‒–—―−﹘﹣－"
"""Characters that word processors put in the place of a hyphen."""


def find_nearest(text: str, known: Iterable[str]) -> str | None:
    """The nearest known text: one that differs by `_` for `-`, by letter case, by few letters, or by order of words."""
    candidates = list(known)
    plain = normalise(text)
    for candidate in candidates:
        if normalise(candidate) == plain:
            return candidate
    close = difflib.get_close_matches(text, candidates, 3, 0.8)
    if close:
        return min(close, key=lambda candidate: (slips(text, candidate, 4), candidate))
    words = set(plain.strip("-").split("-"))
    holding = [
        candidate for candidate in candidates if words == set(normalise(candidate).strip("-").split("-"))
    ]
    return holding[0] if len(words) > 1 and holding else None


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
