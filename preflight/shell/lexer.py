"""Words of bash: from bytes to parts (literals, expansions, substitutions).

In: a source and a range of it.  Out: `Simple` commands and their `Token`s, made of parts that still point at
their bytes.  Nothing is expanded here.  Refuses (`UnreadableError`) what bash itself would not read: an unclosed
quote or brace, and nesting beyond any sensible depth.
"""

from __future__ import annotations

import re

from preflight.patterns import pattern
from preflight.shell.ends import Ends, UnreadableError
from preflight.shell.escapes import unescape
from preflight.shell.parts import (
    Arithmetic,
    Assignment,
    Literal,
    Open,
    Parameter,
    Part,
    Placeholder,
    Redirect,
    Simple,
    Substitution,
    Token,
)
from preflight.source import Source, Span
from preflight.values import PLACEHOLDER, Piece, Unknown

DECLARATIONS = frozenset(("declare", "typeset", "local", "export", "readonly"))

_PLAIN = pattern(rb"[^ \t\n;&|<>()'\"`$\\]+")
_DOUBLE = pattern(rb"[^\"`$\\]+")
_ARGUMENT = pattern(rb"[^'\"`$\\]+")
_NAME = pattern(rb"[A-Za-z_][A-Za-z0-9_]*")
_BRACED_NAME = pattern(rb"([A-Za-z_][A-Za-z0-9_]*)\}")
_ASSIGNMENT = pattern(rb"([A-Za-z_][A-Za-z0-9_]*)(\[|\+?=)")
_SPECIAL = b"@*#?-$!0123456789"
_BLANK = pattern(rb"(?:[ \t]|\\\r?\n)*")
_REDIRECT = pattern(rb"(\d+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<>|<&|<(?!\()|>>|>&|>\||>(?!\()|&>>|&>)")
_REDIRECTING = b"<>&{0123456789"
"""What a redirection begins with."""
_DIGITS = pattern(rb"\d+")
_SIGN = pattern(rb"\+?=")
TEMPLATE = pattern(rb"(<[A-Za-z_][^<>\n;|&()$\"'`]*>)[ \t]*(?:\\?\r?\n|$|[;&|])")
_OPERATORS = (":-", ":=", ":?", ":+", "##", "%%", "//", "/#", "/%", "^^", ",,")


class Lexer(Ends):
    """Reads words of one source. `unknowns` are the pieces that placeholders stand for."""

    def __init__(self, source: Source, unknowns: dict[int, Piece] | None = None) -> None:
        super().__init__(source.data)
        self.source = source
        self.unknowns = unknowns or {}
        self.failures = 0
        """How often reading had to give up: past a limit the rest is left unread."""
        self.documents: dict[int, dict[int, int]] = {}
        """Here-documents, by where the lines behind their command begin: operator -> end of its lines."""

    # ---------------------------------------------------------------- literals

    def literal(self, start: int, end: int, quoted: bool, parts: list[Part], text: str | None = None) -> None:
        """Append the bytes of a range as literal text, with placeholders taken out."""
        if text is None:
            text = self.data[start:end].decode("utf-8", "surrogateescape")
        if not self.unknowns or PLACEHOLDER not in text:
            parts.append(Literal(start, end, text, quoted))
            return
        at = start
        for index, stretch in enumerate(text.split(PLACEHOLDER)):
            if index:
                piece = self.unknowns.get(at)
                width = len(PLACEHOLDER.encode())
                if piece is None:
                    parts.append(Literal(at, at + width, PLACEHOLDER, quoted))
                else:
                    parts.append(Placeholder(at, at + width, quoted, piece))
                at += width
            if stretch:
                length = len(stretch.encode("utf-8", "surrogateescape"))
                parts.append(Literal(at, at + length, stretch, quoted))
                at += length

    # ---------------------------------------------------------------- words

    def word(self, at: int, end: int) -> tuple[Token, int]:
        """Read one word that begins at `at`; it ends at a blank or an operator."""
        data, start = self.data, at
        out: list[Part] = []
        while at < end:
            found = _PLAIN.match(data, at, end)
            if found:
                stop = found.end()
                if self.unknowns:
                    self.literal(at, stop, False, out)
                else:
                    out.append(Literal(at, stop, found[0].decode("utf-8", "surrogateescape"), False))
                at = stop
                if at >= end:
                    break
            character = data[at]
            if character in b" \t\n":
                break
            if character in b"'\"`$\\":
                at = self.part(at, end, out)
            elif character == 0x3C and (blank := self.template(at, end)) is not None:
                out.append(blank)
                at = blank.end
            elif character in b"<>" and data[at + 1 : at + 2] == b"(":
                stop = self.close_parenthesis(at + 2, end)
                out.append(Substitution(at, stop, False, chr(character), (at + 2, stop - 1)))
                at = stop
            elif character == 0x28 and out and self._extglob_before(at):
                stop = self.close_parenthesis(at + 1, end)
                out.append(Literal(at, at + 1, "(", False))
                self._argument(at + 1, stop - 1, out)
                out.append(Literal(stop - 1, stop, ")", False))
                at = stop
            else:
                break
        return Token(start, at, tuple(out)), at

    def template(self, at: int, end: int) -> Placeholder | None:
        """`<path to data>` left to be filled in, where bash could only report an error."""
        found = TEMPLATE.match(self.data, at, end)
        if found is None:
            return None
        span = Span(self.source, at, found.end(1))
        return Placeholder(at, found.end(1), True, Piece(span.text, span, Unknown("syntax", span.text)))

    def _extglob_before(self, at: int) -> bool:
        return self.data[at - 1] in b"@?*+!"

    def part(self, at: int, end: int, out: list[Part]) -> int:
        """Read a quote, an escape or an expansion outside double quotes."""
        data = self.data
        character = data[at]
        if character == 0x27:
            stop = self.close_single(at + 1, end)
            out.append(Open(at, stop))
            if stop - 1 > at + 1:
                self.literal(at + 1, stop - 1, True, out)
            return stop
        if character == 0x22:
            return self.double(at, end, out)
        if character == 0x5C:
            if at + 1 >= end:
                if self.source.origins:
                    out.append(Literal(at, end, "\\", True))
                return end
            if data[at + 1] == 0x0A:
                return at + 2
            width = _character_width(data, at + 1)
            self.literal(
                at,
                at + 1 + width,
                True,
                out,
                data[at + 1 : at + 1 + width].decode("utf-8", "surrogateescape"),
            )
            return at + 1 + width
        if character == 0x24 and data[at + 1 : at + 2] == b"'":
            stop = self.close_escaped(at + 2, end, b"'")
            text = unescape(data[at + 2 : stop - 1].decode("utf-8", "surrogateescape"))
            out.append(Open(at, stop))
            if text:
                out.append(Literal(at + 2, stop - 1, text, True))
            return stop
        if character == 0x24 and data[at + 1 : at + 2] == b'"':
            return self.double(at + 1, end, out)
        return self.expansion(at, end, False, out)

    def double(self, at: int, end: int, out: list[Part]) -> int:
        """Read a double-quoted string that begins at `at`."""
        stop = self.close_double(at + 1, end)
        out.append(Open(at, stop))
        self.quoted(at + 1, stop - 1, out)
        return stop

    def quoted(
        self, at: int, end: int, out: list[Part], *, document: bool = False, nested: bool = False
    ) -> None:
        """Read the inside of double quotes, or the lines of a here-document.

        `nested`: behind `:-` and its like, where double quotes open and close once more.
        """
        data = self.data
        special = b"$`\\\n" if document else b'$`\\\n"'
        while at < end:
            found = _DOUBLE.match(data, at, end)
            if found:
                self.literal(at, found.end(), True, out)
                at = found.end()
                continue
            character = data[at]
            if character == 0x5C:
                follower = data[at + 1 : at + 2] if at + 1 < end else b""
                if follower == b"\n":
                    at += 2
                elif follower and follower in special:
                    out.append(Literal(at, at + 2, follower.decode(), True))
                    at += 2
                else:
                    out.append(Literal(at, at + 1, "\\", True))
                    at += 1
            elif character == 0x22 and nested:
                stop = self.close_double(at + 1, end)
                self.quoted(at + 1, stop - 1, out)
                at = stop
            elif character == 0x22:
                out.append(Literal(at, at + 1, '"', True))
                at += 1
            else:
                at = self.expansion(at, end, True, out)

    def expansion(self, at: int, end: int, quoted: bool, out: list[Part]) -> int:
        """Read what begins with `$` or a backquote."""
        data = self.data
        if data[at] == 0x60:
            stop = self.close_escaped(at + 1, end, b"`")
            out.append(Substitution(at, stop, quoted, "`", (at + 1, stop - 1)))
            return stop
        follower = data[at + 1 : at + 2] if at + 1 < end else b""
        if follower == b"(":
            if data[at + 2 : at + 3] == b"(":
                close = self.close_arithmetic(at + 3, end)
                if close is not None:
                    out.append(Arithmetic(at, close, quoted, (at + 3, close - 2)))
                    return close
            stop = self.close_parenthesis(at + 2, end)
            out.append(Substitution(at, stop, quoted, "$", (at + 2, stop - 1)))
            return stop
        if follower == b"[":
            stop = self.close_bracket(at + 2, end)
            out.append(Arithmetic(at, stop, quoted, (at + 2, stop - 1)))
            return stop
        if follower == b"{":
            return self.braced(at, end, quoted, out)
        found = _NAME.match(data, at + 1, end)
        if found:
            out.append(Parameter(at, found.end(), quoted, found[0].decode()))
            return found.end()
        if follower and follower in _SPECIAL:
            out.append(Parameter(at, at + 2, quoted, follower.decode()))
            return at + 2
        out.append(Literal(at, at + 1, "$", quoted))
        return at + 1

    def braced(self, start: int, end: int, quoted: bool, out: list[Part]) -> int:
        """Read `${...}`."""
        data = self.data
        named = _BRACED_NAME.match(data, start + 2, end)
        if named:
            out.append(Parameter(start, named.end(), quoted, named[1].decode()))
            return named.end()
        close = self.close_brace(start + 2, end, quoted)
        at, stop, prefix = start + 2, close - 1, ""
        if data[at : at + 1] == b"!" and stop > at + 1:
            prefix, at = "!", at + 1
        elif (
            data[at : at + 1] == b"#"
            and stop > at + 1
            and data[at + 1 : at + 2] not in (b"-", b":", b"%", b"?")
        ):
            prefix, at = "#", at + 1
        found = _NAME.match(data, at, stop)
        if found:
            name, at = found[0].decode(), found.end()
        else:
            digits = _DIGITS.match(data, at, stop)
            if digits:
                name, at = digits[0].decode(), digits.end()
            elif at < stop and data[at] in _SPECIAL:
                name, at = chr(data[at]), at + 1
            else:
                raise UnreadableError("bad substitution", start)
        index = None
        if data[at : at + 1] == b"[" and at < stop:
            bracket = self.close_bracket(at + 1, stop)
            index, at = (at + 1, bracket - 1), bracket
        operator, argument = "", None
        if at < stop:
            two = data[at : at + 2].decode("latin-1") if at + 1 < stop or at + 2 == stop else ""
            if two in _OPERATORS:
                operator, at = two, at + 2
            elif data[at] in b"-=?+#%/^,:@*":
                operator, at = chr(data[at]), at + 1
            else:
                raise UnreadableError("bad substitution", start)
            argument = (at, stop)
        out.append(Parameter(start, close, quoted, name, index, prefix, operator, argument))
        return close

    def argument(self, start: int, end: int, quoted: bool) -> Token:
        """Read the word behind `:-` and its like; blanks belong to it."""
        out: list[Part] = []
        if quoted:
            self.quoted(start, end, out, nested=True)
        else:
            self._argument(start, end, out)
        return Token(start, end, tuple(out))

    def _argument(self, at: int, end: int, out: list[Part]) -> None:
        while at < end:
            found = _ARGUMENT.match(self.data, at, end)
            if found:
                self.literal(at, found.end(), False, out)
                at = found.end()
            else:
                at = self.part(at, end, out)

    # ---------------------------------------------------------------- simple commands

    def blank(self, at: int, end: int) -> int:
        """Over blanks and continued lines."""
        found = _BLANK.match(self.data, at, end)
        at = found.end() if found else at
        if at + 1 == end and self.data[at] == 0x5C and not self.source.origins:
            return end
        return at

    def simple(self, start: int, end: int) -> Simple:
        """Read a simple command: it ends at a newline or an operator."""
        data = self.data
        assignments: list[Assignment] = []
        arguments: list[Token | Assignment] = []
        redirects: list[Redirect] = []
        at = last = self.blank(start, end)
        declaration = False
        while at < end:
            character = data[at]
            redirect = _REDIRECT.match(data, at, end) if character in _REDIRECTING else None
            if redirect and self.template(at, end) is None:
                at = self.redirect(redirect, end, redirects)
            elif character in b"\n;&|()#":
                break
            else:
                found = _ASSIGNMENT.match(data, at, end) if not arguments or declaration else None
                assigned = self.assignment(found, end) if found else None
                if assigned:
                    (arguments if declaration else assignments).append(assigned)
                    at = assigned.end
                else:
                    token, at = self.word(at, end)
                    if at == token.start:
                        break
                    if token.parts or arguments:
                        if token.parts:
                            arguments.append(token)
                        if len(arguments) == 1 and token.plain in DECLARATIONS:
                            declaration = True
            last = at
            if at < end and data[at] in b" \t\\":
                at = self.blank(at, end)
        return Simple(start, last, tuple(assignments), tuple(arguments), tuple(redirects))

    def assignment(self, found: re.Match[bytes], end: int) -> Assignment | None:
        """Read an assignment whose name was found, or None if it is no assignment."""
        data, name, index = self.data, found[1].decode(), None
        at = found.end()
        if found[2] == b"[":
            try:
                close = self.close_bracket(at, end)
            except UnreadableError:
                return None
            index, at = (at, close - 1), close
            sign = _SIGN.match(data, at, end)
            if sign is None or b"\n" in data[found.end() : close]:
                return None
            append, at = sign[0] == b"+=", sign.end()
        else:
            append = found[2] == b"+="
        if data[at : at + 1] == b"(" and at < end:
            elements, stop = self.elements(at + 1, end)
            return Assignment(found.start(), stop, name, index, append, None, elements)
        value, stop = self.word(at, end)
        return Assignment(found.start(), stop, name, index, append, value)

    def elements(self, at: int, end: int) -> tuple[tuple[tuple[Token | None, bool, Token], ...], int]:
        """Read the elements of an array up to its closing parenthesis."""
        data, start = self.data, at
        found: list[tuple[Token | None, bool, Token]] = []
        while True:
            if at < end and data[at] in b" \t\\":
                at = self.blank(at, end)
            if at >= end:
                raise UnreadableError("an array is not closed", start - 1)
            character = data[at]
            if character in b"\n\r\v\f" and not (character == 0x0D and data[at + 1 : at + 2] != b"\n"):
                at += 1
            elif character == 0x23:
                newline = data.find(b"\n", at, end)
                at = end if newline < 0 else newline
            elif character == 0x29:
                return tuple(found), at + 1
            elif character in b";&|<>(" and data[at : at + 2] not in (b"<(", b">("):
                raise UnreadableError("an operator inside an array", at)
            else:
                key, append = None, False
                if character == 0x5B:
                    key, append, at = self._subscript(at, end)
                token, at = self.word(at, end)
                found.append((key, append, token))

    def _subscript(self, at: int, end: int) -> tuple[Token | None, bool, int]:
        try:
            close = self.close_bracket(at + 1, end)
        except UnreadableError:
            return None, False, at
        sign = _SIGN.match(self.data, close, end)
        if sign is None or b"\n" in self.data[at:close]:
            return None, False, at
        return self.argument(at + 1, close - 1, False), sign[0] == b"+=", sign.end()

    def redirect(self, found: re.Match[bytes], end: int, out: list[Redirect]) -> int:
        """Read the target of a redirection."""
        operator = found[2].decode()
        descriptor = found[1].decode() if found[1] else None
        at = self.blank(found.end(), end)
        target, stop = self.word(at, end)
        if stop == at and operator != "<<":
            raise UnreadableError("a redirection without a target", found.start())
        body, literal = None, False
        if operator in ("<<", "<<-"):
            body, literal = self.document(target, stop, end, operator == "<<-")
        out.append(Redirect(found.start(), stop, descriptor, operator, target, body, literal))
        return stop

    def document(self, delimiter: Token, at: int, end: int, stripped: bool) -> tuple[tuple[int, int], bool]:
        """Find the lines of a here-document whose delimiter ends at `at`."""
        data = self.data
        literal = any(not isinstance(p, Literal) or p.quoted for p in delimiter.parts)
        text = "".join(part.text for part in delimiter.parts if isinstance(part, Literal))
        if not literal or not any(isinstance(p, Literal) for p in delimiter.parts):
            raw = data[delimiter.start : delimiter.end].decode("utf-8", "surrogateescape")
            text = text if literal else raw
        word = text.encode("utf-8", "surrogateescape")
        first = self.line_after(at, end)
        others = self.documents.setdefault(first, {})
        start = max((stop for begin, stop in others.items() if begin < delimiter.start), default=first)
        line = start
        while line < end:
            newline = data.find(b"\n", line, end)
            stop = end if newline < 0 else newline
            content = data[line:stop]
            if (content.lstrip(b"\t") if stripped else content) == word:
                others[delimiter.start] = min(stop + 1, end)
                return (start, line), literal
            line = stop + 1
        others[delimiter.start] = end
        return (start, end), literal

    def line_after(self, at: int, end: int) -> int:
        """The start of the line that follows this one, where strings may hold line ends."""
        while at < end and self.data[at] != 0x0A:
            if self.data[at] == 0x23 and self.data[at - 1] in b" \t;":
                newline = self.data.find(b"\n", at, end)
                return end if newline < 0 else newline + 1
            at = self._skip(at, end)
        return min(at + 1, end)


def _character_width(data: bytes, at: int) -> int:
    lead = data[at]
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
