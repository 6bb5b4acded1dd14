"""Secrets do not reach a report.

In: names and values of variables, and texts on their way out.  Out: the texts with the values of variables whose
name says secret (a word of it ends with KEY, TOKEN, PASSWORD, SECRET, ...) replaced.  Two ways, as either alone
leaks: values that were seen are replaced wherever they occur, and assignments that can be read as such in a line
of source are replaced by their form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MASK = "***"
SHORTEST = 4
"""Shorter values are not looked for in other texts: they would be met by chance."""
_PLAIN = ("PASSWORD", "PASSWD", "SECRET", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "SECRETS")
_OWNERS = (
    "API",
    "ACCESS",
    "AUTH",
    "HF",
    "HUB",
    "WANDB",
    "PRIVATE",
    "GITHUB",
    "AWS",
    "OPENAI",
    "SWANLAB",
    "COMET",
)
_ENDINGS = (
    "KEY",
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "SECRET",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "SECRETS",
)
_WORDS = ("key", "token", "passw", "secret", "passph", "credential")
_HARMLESS = r"[-+.\d]*|true|false|none|null|text|content|\$.*"
_NAME = r"(?:[A-Za-z_][\w-]*?)?(?:key|token|passw(?:or)?d|secrets?|passphrase|credentials?)"
_ASSIGNMENT = rf"(?<![\w-])(?P<head>{_NAME}=)(?P<value>[^\s\"';|&()]+)"
_QUOTED = rf"(?<![\w-])(?P<head>{_NAME}(?:[\"']\]?)?\s*(?:=|:|,)\s*)(?P<value>\"[^\"\n]*\"?|'[^'\n]*'?)"
_FLAG = rf"(?<![\w-])(?P<head>--{_NAME}(?:=|\s+))(?P<value>\"[^\"]*\"?|'[^']*'?|[^\s\"'-][^\s\"']*)"
_DEFAULT = rf"(?P<head>\$\{{{_NAME}:?[-=+])(?P<value>[^}}\s]+)"
_BEARER = r"(?P<head>\b(?:Bearer|Basic)\s+)(?P<value>[A-Za-z0-9._~+/=-]{8,})"
# not compiled until a text names a secret: most never do


def is_secret(name: str) -> bool:
    """Whether a variable's name says that its value is nobody's business.

    Environment variables are written in capitals; `key` and `token` in small letters are words of every program, so
    there it takes a second word that says whose they are.
    """
    upper = name.strip("-").upper().replace("-", "_")
    words = upper.split("_")
    if not any(word.endswith(_ENDINGS) for word in words):
        return False
    if name.isupper() or any(word.endswith(_PLAIN) for word in words):
        return True
    return any(word.endswith(_OWNERS) for word in words) or upper.endswith(
        tuple(f"{o}{k}" for o in _OWNERS for k in _ENDINGS)
    )


def collect_secrets(*environments: Mapping[str, str | None]) -> frozenset[str]:
    """The values to hide, out of variables by name."""
    return frozenset(
        value
        for environment in environments
        for name, value in environment.items()
        if value and is_secret(name) and len(value) >= SHORTEST and not _harmless(value)
    )


def find_secrets(text: str) -> frozenset[str]:
    """The values that the assignments in a source give to such names."""
    found = {match["value"].strip("\"'") for match in _matches(text)}
    return frozenset(value for value in found if len(value) >= SHORTEST and not _harmless(value))


class Mask:
    """Replaces secrets in texts, and in anything made of them."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        ordered = sorted(secrets, key=lambda value: (-len(value), value))
        words = "|".join(map(re.escape, ordered))
        self._values = re.compile(rf"(?<![A-Za-z0-9])(?:{words})(?![A-Za-z0-9])") if words else None

    def text(self, text: str) -> str:
        """A text with the values in it hidden."""
        return text if self._values is None else self._values.sub(MASK, text)

    def line(self, text: str) -> str:
        """A line of source: as many stars as there were characters, so that marks under it stay in place."""
        if self._values is not None:
            text = self._values.sub(lambda match: "*" * len(match[0]), text)
        for pattern in _patterns(text):
            text = pattern.sub(_fill, text)
        return text

    def all(self, value: Any) -> Any:
        """The same value with every string in it masked; keys stay."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.all(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.all(each) for each in value]
        return value


def _patterns(text: str) -> tuple[re.Pattern[str], ...]:
    lowered = text.lower().replace("tokenizer", "").replace("tokens", "").replace("keys", "")
    if any(word in lowered for word in _WORDS):
        return tuple(re.compile(text, re.I) for text in (_ASSIGNMENT, _QUOTED, _FLAG, _DEFAULT, _BEARER))
    return (re.compile(_BEARER),) if "earer" in text or "asic " in text else ()


def _matches(text: str) -> Iterable[re.Match[str]]:
    """The assignments to secret names. A pattern can only begin where a word begins that says secret."""
    patterns = _patterns(text)
    places = sorted(set(_list_names(text))) if len(patterns) > 1 else []
    for pattern in patterns:
        end = 0
        for match in pattern.finditer(text) if pattern.pattern == _BEARER else _try(pattern, text, places):
            if match.start() >= end:
                end = match.end()
                if is_secret(_named(match)):
                    yield match


def _list_names(text: str) -> Iterable[int]:
    """Where words begin that hold a word for a secret."""
    lowered = text.lower()
    if len(lowered) != len(text):
        yield from range(len(text))
        return
    for word in _WORDS:
        before = begin = 0
        at = lowered.find(word)
        while at >= 0:
            start = at
            while start > before and (text[start - 1].isalnum() or text[start - 1] in "_-"):
                start -= 1
            before, begin = at, begin if start == before else start
            yield begin
            if begin >= 2 and text.startswith("${", begin - 2):
                yield begin - 2
            at = lowered.find(word, at + 1)


def _try(pattern: re.Pattern[str], text: str, places: Iterable[int]) -> Iterable[re.Match[str]]:
    for place in places:
        match = pattern.match(text, place)
        if match is not None:
            yield match


def _harmless(value: str) -> bool:
    return re.fullmatch(_HARMLESS, value, re.I) is not None


def _named(match: re.Match[str]) -> str:
    head = re.sub(r"^\W+|[\s\"'\]=:,+-]+$", "", match["head"])
    return "TOKEN" if head in ("Bearer", "Basic") else head


def _fill(match: re.Match[str]) -> str:
    value = match["value"]
    bare = value.strip("\"'")
    if not is_secret(_named(match)) or not bare or _harmless(bare):
        return match[0]
    return match["head"] + value.replace(bare, "*" * len(bare))
