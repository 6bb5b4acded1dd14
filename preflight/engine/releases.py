"""Ranges of Megatron releases, as rules write them.

In: `>=0.8,<0.16`, and the numbers of a release (`parse_release` of `targets`).  Out: whether it holds.  A version
with fewer numbers stands for its first patch (`<0.16` holds for 0.15.3, `<=0.15` does not); `==0.15` holds for every
patch of it.  `main` is above all numbers.
"""

from __future__ import annotations

from functools import lru_cache

from preflight.patterns import pattern

Version = tuple[int, ...]
Range = tuple[tuple[str, Version], ...]

_TERM = pattern(r"^(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)$")


@lru_cache(maxsize=1024)
def parse_range(text: str) -> Range:
    """The terms of a range; ValueError says what is wrong with it."""
    terms: list[tuple[str, Version]] = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        match = _TERM.match(part)
        if match is None:
            raise ValueError(f"{part!r} is not a range term such as '>=0.8' or '<0.16'")
        terms.append((match[1], tuple(int(number) for number in match[2].split("."))))
    return tuple(terms)


@lru_cache(maxsize=4096)
def holds(terms: Range, release: Version) -> bool:
    """Whether every term holds for a release."""
    return all(_holds(operator, bound, release) for operator, bound in terms)


def _holds(operator: str, bound: Version, release: Version) -> bool:
    if operator in ("==", "!="):
        same = release[: len(bound)] == bound
        return same if operator == "==" else not same
    width = max(len(bound), len(release))
    left = release + (0,) * (width - len(release))
    right = bound + (0,) * (width - len(bound))
    return {">=": left >= right, "<=": left <= right, ">": left > right, "<": left < right}[operator]
