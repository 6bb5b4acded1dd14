"""A copy of a script that tree-sitter reads without stumbling, byte for byte as long as the script.

In: a range of a source.  Out: the copy: here-documents blanked out, and on demand also quotes, expansions,
arrays, tests and arithmetic, whose insides the lexer reads from the source itself.
"""

from __future__ import annotations

import re

from preflight.patterns import pattern
from preflight.shell.ends import UnreadableError
from preflight.shell.lexer import Lexer
from preflight.shell.parts import Literal, Placeholder, Redirect, Token

_REDIRECTION = pattern(rb"(\d+)?(<<-|<<)")
_ARRAY = pattern(rb"[A-Za-z_]\w*\+?=\(")
_EMPTY_LIST = pattern(rb"in(?=[ \t]*[;\n])")
NEGATED_GROUP = re.compile(rb"!\s+\{\s")
"""Read by tree-sitter as a command named `{`."""
DOUBLED = pattern(rb"(?<=[ \t)}])2>&1(?=[ \t]*\|)")
"""Behind it tree-sitter can take the `else` after a pipe for a word of its last command.  The lexer reads it itself."""
_INTRODUCTIONS = frozenset(("if", "then", "else", "elif", "while", "until", "do", "!", "{", "time"))


def mask(lexer: Lexer, start: int, end: int, *, words: bool) -> bytes:
    """The copy of a range; `words`: with all that the lexer reads by itself blanked out."""
    masking = _Masking(lexer, start, end, words)
    lexer.depth = 0
    try:  # noqa: SIM105  (contextlib would be one more module at every start)
        masking.run()
    except UnreadableError:
        pass  # the rest is left as it is
    lexer.depth = 0
    if words and masking.masked.endswith(b"\\"):
        masking.masked[-1:] = b" "
    return bytes(masking.masked)


class _Masking:
    def __init__(self, lexer: Lexer, start: int, end: int, words: bool) -> None:
        self.lexer = lexer
        self.data = lexer.data
        self.start = start
        self.end = end
        self.words = words
        self.masked = bytearray(self.data[start:end])
        self.pending: list[Redirect] = []
        self.first = True
        """Whether a command may begin here."""
        self.bracket = False
        self.loop = False

    def run(self) -> None:
        at, end, data = self.start, self.end, self.data
        while at < end:
            at = self.lexer.blank(at, end)
            if at >= end:
                return
            character = data[at]
            if character == 0x0A:
                at = self.line_end(at + 1)
            elif character == 0x23 and (at == 0 or data[at - 1] in b" \t\n;&|()"):
                newline = data.find(b"\n", at, end)
                at = end if newline < 0 else newline
            elif data[at : at + 2] == b"((" and self.first:
                at = self.arithmetic(at)
            elif data[at : at + 3] == b"<<<":
                at += 3
            elif data[at : at + 2] == b"<<":
                at = self.document(at)
            else:
                at = self.word(at)

    def line_end(self, at: int) -> int:
        for redirect in self.pending:
            at = max(at, self.blank_document(redirect))
        self.pending = []
        self.first = True
        return at

    def arithmetic(self, at: int) -> int:
        close = self.lexer.close_arithmetic(at + 2, self.end)
        if close is None:
            return at + 1
        if self.words and close - at > 4:
            self.fill(at + 2, close - 2, b" ")
            self.masked[at + 2 - self.start] = 0x31
        self.first = False
        return close

    def document(self, at: int) -> int:
        operator = _REDIRECTION.match(self.data, at, self.end)
        assert operator is not None
        stop = self.lexer.redirect(operator, self.end, self.pending)
        self.masked[at - self.start : stop - self.start] = b">" + b"x" * (stop - at - 1)
        return stop

    def blank_document(self, redirect: Redirect) -> int:
        assert redirect.body is not None
        low, high = redirect.body
        newline = self.data.find(b"\n", high, self.end)
        stop = self.end if newline < 0 else newline + 1
        self.fill(low, stop, b" ")
        return stop

    def word(self, at: int) -> int:
        if (
            self.words
            and self.first
            and self.data[at : at + 2] == b"[["
            and self.data[at + 2 : at + 3].isspace()
        ):
            return self.test(at)
        found = _ARRAY.match(self.data, at, self.end)
        if self.words and found:
            _, stop = self.lexer.elements(found.end(), self.end)
            self.fill(found.end(), stop - 1, b" ")
            return stop
        token, stop = self.lexer.word(at, self.end)
        if stop == at:
            self.first = self.first or self.data[at] in b";&|()"
            if self.data[at] in b";&|(":
                self.bracket = False
            return at + 1
        if self.first and NEGATED_GROUP.match(self.data, at, self.end):
            self.fill(at, stop, b" ")
        for part in token.parts:
            if isinstance(part, Placeholder):
                self.fill(part.start, part.end, b"x", keep=False)
        if self.words:
            self.parts(token)
        self.first = token.plain in _INTRODUCTIONS and self.first
        return stop

    def parts(self, token: Token) -> None:
        """Blank out what is not plain in a word, and brackets, which tree-sitter reads in its own way."""
        plain = token.plain
        if plain == "[" and self.first:
            self.bracket = True
            self.fill(token.start, token.end, b"x")
        elif plain == "]" and self.bracket:
            self.bracket = False
            self.fill(token.start, token.end, b"x")
        elif plain == "in" and self.loop and _EMPTY_LIST.match(self.data, token.start, self.end):
            self.fill(token.start, token.end, b" ")
        for part in token.parts:
            if not isinstance(part, Literal) or part.quoted:
                self.fill(part.start, part.end, b"x", keep=False)
        self.loop = plain == "for" or (self.loop and plain != "in" and plain != "do")

    def test(self, at: int) -> int:
        """A whole `[[ ... ]]` becomes one word."""
        start, end = at, self.end
        at += 2
        while at < end:
            at = self.lexer.blank(at, end)
            if self.data[at : at + 2] == b"]]":
                self.fill(start, at + 2, b"x", keep=False)
                self.first = False
                return at + 2
            token, stop = self.lexer.word(at, end)
            at = stop if stop > token.start else at + 1
        raise UnreadableError("a test is not closed", start)

    def fill(self, low: int, high: int, by: bytes, *, keep: bool = True) -> None:
        """Overwrite a range; line ends stay where lines count."""
        low, high = low - self.start, high - self.start
        if keep:
            self.masked[low:high] = re.sub(rb"[^\n]", by, bytes(self.masked[low:high]))
        else:
            self.masked[low:high] = by * (high - low)
