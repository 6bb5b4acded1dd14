"""Regular expressions that are compiled when they are first used.

In: the text of a pattern.  Out: what `re.compile` gives, as far as a caller can tell.  The stages have some hundred
patterns and most scripts meet few of them, while compiling all of them costs a check more than evaluating its script.
"""

from __future__ import annotations

import re
from typing import Any, cast, overload

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


@overload
def pattern(text: str, flags: int = 0) -> re.Pattern[str]: ...
@overload
def pattern(text: bytes, flags: int = 0) -> re.Pattern[bytes]: ...
def pattern(text: str | bytes, flags: int = 0) -> re.Pattern[Any]:
    """A pattern that nobody has compiled yet."""
    return cast("re.Pattern[Any]", _Lazy(text, flags))
