"""Brace expansion: `{a,b}`, `{1..5}`, nested and with prefix and suffix.

In: the parts of a word.  Out: the parts of each word that it stands for.  Refuses (`TooManyError`) what would make
more words than any command line holds.
"""

from __future__ import annotations

import itertools
import re

from preflight.patterns import pattern
from preflight.shell.parts import Literal, Parameter, Part

MAXIMUM_WORDS = 4096

Item = str | Part
"""One unquoted character (with its place in `_Items.places`), or a whole part."""


class TooManyError(Exception):
    """The braces stand for more words than are worth writing down."""


_RANGE = pattern(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?")


def expand_braces(parts: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    """The words that the braces of a word make; the word itself where it has none."""
    if not any(isinstance(p, Literal) and not p.quoted and "{" in p.text for p in parts):
        return [parts]
    items: list[tuple[Item, int, int]] = []
    for part in parts:
        if isinstance(part, Literal) and not part.quoted:
            exact = part.end - part.start == len(part.text)
            for index, character in enumerate(part.text):
                start = part.start + index if exact else part.start
                items.append((character, start, start + 1 if exact else part.end))
        else:
            items.append((part, part.start, part.end))
    return [_join(word) for word in _expand(items, 0)]


Items = list[tuple[Item, int, int]]


def _expand(items: Items, depth: int) -> list[Items]:
    if depth > 20:
        raise TooManyError
    start = 0
    while True:
        opening = _find(items, start)
        if opening is None:
            return [items]
        closing, commas = _match(items, opening)
        if closing is None:
            start = opening + 1
            continue
        inside = items[opening + 1 : closing]
        if commas:
            bounds = [opening, *commas, closing]
            middles: list[Items] = []
            for low, high in itertools.pairwise(bounds):
                middles.extend(_expand(items[low + 1 : high], depth + 1))
        else:
            made = _sequence(inside)
            if made is None:
                start = opening + 1
                continue
            middles = made
        before, tails = items[:opening], _expand(items[closing + 1 :], depth + 1)
        if len(middles) * len(tails) > MAXIMUM_WORDS:
            raise TooManyError
        return [before + middle + tail for middle in middles for tail in tails]


def _find(items: Items, start: int) -> int | None:
    for index in range(start, len(items)):
        if items[index][0] == "{":
            return index
    return None


def _match(items: Items, opening: int) -> tuple[int | None, list[int]]:
    depth = 0
    commas: list[int] = []
    for index in range(opening, len(items)):
        character = items[index][0]
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if not depth:
                return index, commas
        elif character == "," and depth == 1:
            commas.append(index)
    return None, []


def _sequence(inside: Items) -> list[Items] | None:
    if not all(isinstance(item, str) for item, _, _ in inside) or not inside:
        return None
    found = _RANGE.fullmatch("".join(str(item) for item, _, _ in inside))
    if not found:
        return None
    low, high, by = found.groups()
    start, end = inside[0][1], inside[-1][2]
    numeric = low.lstrip("-").isdigit()
    if numeric != high.lstrip("-").isdigit():
        return None
    first, last = (int(low), int(high)) if numeric else (ord(low), ord(high))
    step = abs(int(by or 1)) or 1
    if abs(last - first) // step >= MAXIMUM_WORDS:
        raise TooManyError
    values = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    width = 0
    if numeric and any(re.match(r"-?0\d", text) for text in (low, high)):
        width = max(len(low), len(high))
    texts = [f"{value:0{width}d}" if numeric else chr(value) for value in values]
    return [[(_item(c, start, end), start, end) for c in text] for text in texts]


def _item(character: str, start: int, end: int) -> Item:
    """Characters between the letters, as in `{Z..a}`, have no meaning of their own."""
    return character if character.isalnum() or character == "-" else Literal(start, end, character, True)


def _join(items: Items) -> tuple[Part, ...]:
    """Characters that stand side by side become literals again."""
    out: list[Part] = []
    for item, start, end in items:
        if not isinstance(item, str):
            out.append(item)
            continue
        last = out[-1] if out else None
        if isinstance(last, Parameter) and _goes_on(last, item):
            out[-1] = Parameter(last.start, last.end, last.quoted, last.name + item)
        elif isinstance(last, Literal) and not last.quoted and start in (last.start, last.end):
            out[-1] = Literal(last.start, end, last.text + item, False)
        else:
            out.append(Literal(start, end, item, False))
    return tuple(out)


def _goes_on(parameter: Parameter, character: str) -> bool:
    """Braces are expanded before names are read: `$N{1,2}` is `$N1 $N2`."""
    bare = not parameter.operator and not parameter.prefix and parameter.subscript is None
    word = character == "_" or (character.isascii() and character.isalnum())
    return (
        word and bare and not parameter.quoted and parameter.name.isidentifier() and not _in_braces(parameter)
    )


def _in_braces(parameter: Parameter) -> bool:
    return parameter.end - parameter.start > len(parameter.name) + 1
