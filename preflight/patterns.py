"""Regular expressions that are compiled when they are first used.

In: the text of a pattern.  Out: what `re.compile` gives, as far as a caller can tell.  The stages have some hundred
patterns and most scripts meet few of them, while compiling all of them costs a check more than evaluating its script.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, AnyStr

_METHODS = (
    "match",
    "search",
    "fullmatch",
    "finditer",
    "findall",
    "split",
    "sub",
    "subn",
    "scanner",
    "pattern",
    "flags",
)


class _Lazy:
    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """The first use: from now on the methods are the compiled pattern's own."""
        compiled = re.compile(self._text, self._flags)
        self.__dict__.update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern that nobody has compiled yet."""
    return _Lazy(text, flags)  # type: ignore[return-value]
