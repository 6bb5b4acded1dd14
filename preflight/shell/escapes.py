"""The backslash escapes of `$'...'`, `echo -e` and `printf`.

In: text with escapes.  Out: the text they stand for, up to a null character.
"""

from __future__ import annotations

import re

from preflight.patterns import pattern

_SIMPLE_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
}
_ESCAPE = pattern(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(.))",
    re.S,
)


def unescape(text: str) -> str:
    """Resolve the backslash escapes of `$'...'`."""

    def change(found: re.Match[str]) -> str:
        simple, octal, byte, short, long, control = found.groups()
        if simple:
            return _SIMPLE_ESCAPES[simple]
        if octal:
            return chr(int(octal, 8) & 0xFF)
        if control:
            return chr(ord(control) & 0x1F)
        code = int(byte or short or long, 16)
        return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"

    return _ESCAPE.sub(change, text).split("\0", 1)[0]
