"""Glob patterns of bash, extended ones included, as regular expressions.

In: pattern characters, each marked as quoted or not.  Out: compiled expressions, and matches in a folder that
may be looked at.  Refuses (`None`) patterns whose nesting or size could make matching slow.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache

from preflight.source import Files, Refusal

Characters = tuple[tuple[str, bool], ...]
"""Stretches of text: (characters, quoted)."""

_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9A-Fa-f",
    "word": r"\w",
    "cntrl": r"\x00-\x1f\x7f",
    "print": r"\x20-\x7e",
    "graph": r"\x21-\x7e",
}
MAXIMUM_SIZE = 2000
MAXIMUM_MATCHES = 500
MAXIMUM_STEPS = 20_000_000


def plain(text: str) -> Characters:
    """A pattern all of whose characters count as unquoted."""
    return ((text, False),)


def is_pattern(stretches: Iterable[tuple[str, bool]], extended: bool = False) -> bool:
    """Whether unquoted characters hold a wildcard."""
    text = "".join(t if not quoted else "\0" * len(t) for t, quoted in stretches)
    if "*" in text or "?" in text or re.search(r"\[.+\]", text, re.S):
        return True
    return extended and re.search(r"[@+!]\(", text) is not None


@lru_cache(maxsize=512)
def translate(stretches: Characters, extended: bool = True, path: bool = False) -> str | None:
    """The regular expression of a pattern, without anchors; None where it is too large."""
    characters = [(c, quoted) for text, quoted in stretches for c in text]
    if len(characters) > MAXIMUM_SIZE:
        return None
    translation = _Translation(characters, extended, path)
    expression = translation.run()
    return None if translation.slow else expression


@lru_cache(maxsize=512)
def compile_pattern(stretches: Characters, extended: bool = True) -> re.Pattern[str] | None:
    """An expression for `fullmatch`."""
    expression = translate(stretches, extended)
    if expression is None or expression.count("*") > 12:
        return None
    try:
        return re.compile(expression, re.S)
    except (re.error, RecursionError, OverflowError):
        return None


class _Translation:
    def __init__(self, characters: list[tuple[str, bool]], extended: bool, path: bool) -> None:
        self.characters = characters
        self.extended = extended
        self.anything = "[^/]" if path else "."
        self.slow = False
        """A repeated group that can match the same text in many ways."""

    def run(self) -> str:
        out, _ = self._sequence(0, None, 0)
        return out

    def _sequence(self, at: int, stop: str | None, depth: int) -> tuple[str, int]:
        out: list[str] = []
        characters = self.characters
        while at < len(characters):
            character, quoted = characters[at]
            if quoted:
                out.append(re.escape(character))
                at += 1
                continue
            follower = characters[at + 1] if at + 1 < len(characters) else ("", True)
            if self.extended and character in "?*+@!" and follower == ("(", False) and depth < 8:
                group, end = self._group(character, at + 2, depth + 1)
                if group is not None:
                    out.append(group)
                    at = end
                    continue
            if stop is not None and character in "|)":
                return "".join(out), at
            if character == "*":
                if not out or out[-1] != f"{self.anything}*":
                    out.append(f"{self.anything}*")
            elif character == "?":
                out.append(self.anything)
            elif character == "[":
                bracket, end = self._bracket(at)
                out.append(bracket)
                at = end
                continue
            elif character == "\\" and at + 1 < len(characters):
                out.append(re.escape(follower[0]))
                at += 1
            else:
                out.append(re.escape(character))
            at += 1
        return "".join(out), at

    def _group(self, kind: str, at: int, depth: int) -> tuple[str | None, int]:
        alternatives = []
        while True:
            inner, at = self._sequence(at, ")", depth)
            alternatives.append(inner)
            if at >= len(self.characters):
                return None, at
            if self.characters[at][0] == ")":
                break
            at += 1
        if kind in "*+" and not _is_plain(alternatives):
            self.slow = True
        body = "|".join(alternatives)
        if kind == "!":
            rest, _ = self._sequence(at + 1, None, depth) if depth == 1 else ("", 0)
            tail = f"(?:{rest})$" if depth == 1 else ""
            return f"(?!(?:{body}){tail}){self.anything}*", at + 1
        return f"(?:{body}){'' if kind == '@' else kind}", at + 1

    def _bracket(self, at: int) -> tuple[str, int]:
        characters, start = self.characters, at
        at += 1
        out = "["
        if at < len(characters) and characters[at] in (("!", False), ("^", False)):
            out, at = "[^", at + 1
        first = True
        while at < len(characters):
            character, quoted = characters[at]
            if character == "]" and not quoted and not first:
                empty = {"[": "(?!)", "[^": self.anything}
                return empty.get(out, out + "]"), at + 1
            first = False
            if character == "[" and not quoted and at + 1 < len(characters) and characters[at + 1][0] == ":":
                rest = "".join(c for c, _ in characters[at : at + 12])
                found = re.match(r"\[:(\w+):\]", rest)
                if found and found[1] in _CLASSES:
                    out += _CLASSES[found[1]]
                    at += found.end()
                    continue
            upper = characters[at + 2 : at + 3]
            if characters[at + 1 : at + 2] == [("-", False)] and upper and upper[0] != ("]", False):
                ranged = f"{re.escape(character)}-{re.escape(upper[0][0])}"
                out += ranged if character <= upper[0][0] else ""
                at += 3
                continue
            out += re.escape(character)
            at += 1
        return r"\[", start + 1


def _is_plain(alternatives: list[str]) -> bool:
    """Whether a repeated group matches a text in one way only: its alternatives differ from the first character."""
    if any(re.search(r"[*+?]|\(\?", re.sub(r"\\.|\[[^\]]*\]", "", text)) for text in alternatives):
        return False
    heads = [text[:1] for text in alternatives]
    return len(alternatives) == 1 or ("[" not in heads and "." not in heads and len(set(heads)) == len(heads))


def is_cheap(expression: str, size: int) -> bool:
    """Whether matching a text of this size takes a bounded number of steps."""
    repeats = len(re.findall(r"[*+{]", re.sub(r"\\.|\[[^\]]*\]", "", expression)))
    return repeats <= 1 or max(size, 2) ** min(repeats, 20) <= MAXIMUM_STEPS


def match_files(
    stretches: Characters, directory: str | None, files: Files, *, extended: bool, hidden: bool = False
) -> list[str] | None:
    """The paths that a pattern matches, sorted; None where the folder may not be looked at."""
    components: list[list[tuple[str, bool]]] = [[]]
    for text, quoted in stretches:
        for index, part in enumerate(text.split("/")):
            if index:
                components.append([])
            if part:
                components[-1].append((part, quoted))
    absolute = not components[0]
    found = ["/"] if absolute else [""]
    for number, component in enumerate(components):
        last = number == len(components) - 1
        if not component:
            if last and number:
                found = [f + "/" for f in found if f and not f.endswith("/")]
            continue
        found = _step(found, component, last, directory, files, extended, hidden) or []
        if found is None:
            return None
        if len(found) > MAXIMUM_MATCHES:
            return None
    if directory is None and not absolute:
        return None
    literal = _leading(components, absolute)
    if files.kind(literal or ".", directory) is None:
        return None
    return sorted(found)


def _leading(components: list[list[tuple[str, bool]]], absolute: bool) -> str:
    """The folder in front of the first wildcard."""
    out = []
    for component in components[:-1]:
        if is_pattern(component, True):
            break
        out.append("".join(text for text, _ in component))
    return ("/" if absolute else "") + "/".join(part for part in out if part)


def _step(
    bases: list[str],
    component: list[tuple[str, bool]],
    last: bool,
    directory: str | None,
    files: Files,
    extended: bool,
    hidden: bool,
) -> list[str]:
    text = "".join(t for t, _ in component)
    out: list[str] = []
    if not is_pattern(component, extended):
        for base in bases:
            path = _join(base, text)
            if files.kind(path, directory) in ("file", "folder"):
                out.append(path)
        return out
    expression = translate(tuple(component), extended)
    if expression is None:
        return out
    matcher = re.compile(expression, re.S)
    for base in bases:
        real = files.locate(base or ".", directory)
        if isinstance(real, Refusal) or not os.path.isdir(real):
            continue
        for name in sorted(os.listdir(real)):
            if (name[0] != "." or hidden or text.startswith(".")) and matcher.fullmatch(name):
                path = _join(base, name)
                if last or files.kind(path, directory) == "folder":
                    out.append(path)
    return out


def _join(base: str, name: str) -> str:
    return base + name if not base or base.endswith("/") else f"{base}/{name}"
