"""Where quotes, braces, brackets and parentheses end.

In: bytes, and the place behind an opening.  Out: the place behind its end.  Raises `UnreadableError` for what is
never closed, and for nesting beyond any sensible depth.
"""

from __future__ import annotations

from preflight.patterns import pattern

MAXIMUM_DEPTH = 60
"""How deep quotes, braces and substitutions may nest."""

_DOUBLE = pattern(rb"(?:[^\"`$\\]++|\\[\s\S]|\$(?![({])|\$\{\w+\})++")
"""What stands inside double quotes and holds no quotes of its own."""
_NAMED = pattern(rb"\w+\}")
_PATTERN_HEAD = pattern(rb"[!#]?\w+(?:\[[^\]]*\])?([#%/^,]|:[^-=?+])")
_CASE = pattern(rb"case\s")
_ESAC = pattern(rb"esac(?=[\s;&|)])")


class UnreadableError(Exception):
    """The text is not bash; `start` is where reading stopped making sense."""

    def __init__(self, message: str, start: int) -> None:
        super().__init__(message)
        self.message = message
        self.start = start


class Ends:
    """Finds ends in one text; `depth` counts how deep it is in."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.depth = 0

    def close_single(self, at: int, end: int) -> int:
        stop = self.data.find(b"'", at, end)
        if stop < 0:
            raise UnreadableError("a single quote is not closed", at - 1)
        return stop + 1

    def close_escaped(self, at: int, end: int, mark: bytes) -> int:
        """The end of `$'...'` or of backquotes, behind `mark`: a backslash takes the next byte along."""
        data, start = self.data, at
        while at < end:
            if data[at] == 0x5C:
                at += 2
            elif data[at] == mark[0]:
                return at + 1
            else:
                at += 1
        what = "a single quote" if mark == b"'" else "a backquote"
        raise UnreadableError(f"{what} is not closed", start - (2 if mark == b"'" else 1))

    def close_double(self, at: int, end: int) -> int:
        data, start = self.data, at
        while at < end:
            found = _DOUBLE.match(data, at, end)
            if found:
                at = found.end()
                continue
            character = data[at]
            if character == 0x22:
                return at + 1
            at = at + 2 if character == 0x5C else self.skip_expansion(at, end, True)
        raise UnreadableError("a double quote is not closed", start - 1)

    def skip_expansion(self, at: int, end: int, quoted: bool) -> int:
        """The end of what begins with `$` or a backquote at `at`."""
        data = self.data
        if data[at] == 0x60:
            return self.close_escaped(at + 1, end, b"`")
        follower = data[at + 1 : at + 2]
        if follower == b"(":
            if data[at + 2 : at + 3] == b"(":
                close = self.close_arithmetic(at + 3, end)
                if close is not None:
                    return close
            return self.close_parenthesis(at + 2, end)
        if follower == b"{":
            return self.close_brace(at + 2, end, quoted)
        return at + 1

    def close_brace(self, at: int, end: int, quoted: bool) -> int:
        data, start = self.data, at
        named = _NAMED.match(data, at, end)
        if named:
            return named.end()
        self._deepen(at)
        while at < end:
            character = data[at]
            if character == 0x7D:
                self.depth -= 1
                return at + 1
            at = self._skip(at, end, single=not quoted or self._pattern_operator(start, at))
        raise UnreadableError("a brace is not closed", start - 2)

    def _pattern_operator(self, start: int, at: int) -> bool:
        """Quotes count in `"${x%'a'}"` but not in `"${x:-'a'}"`."""
        return _PATTERN_HEAD.match(self.data, start, at + 1) is not None

    def close_parenthesis(self, at: int, end: int) -> int:
        """The end of `( ... )`, knowing quotes, comments, nesting and the patterns of `case`."""
        data, start, open_, cases = self.data, at, 1, 0
        self._deepen(at)
        while at < end:
            character = data[at]
            if character == 0x28:
                open_ += 1
                at += 1
                if open_ > 2000:
                    raise UnreadableError("too deeply nested", start)
            elif character == 0x29:
                at += 1
                if open_ == 1 and cases:
                    continue
                open_ -= 1
                if not open_:
                    self.depth -= 1
                    return at
            elif character == 0x23 and data[at - 1] in b" \t\n;&|(":
                newline = data.find(b"\n", at, end)
                at = end if newline < 0 else newline
            elif character in b"ce" and data[at - 1] in b" \t\n;&|(":
                if _CASE.match(data, at, end):
                    cases += 1
                elif cases and _ESAC.match(data, at, end):
                    cases -= 1
                at += 1
            else:
                at = self._skip(at, end)
        raise UnreadableError("a parenthesis is not closed", start - 1)

    def close_arithmetic(self, at: int, end: int) -> int | None:
        """The end of `(( ... ))`, or None where it is not arithmetic after all."""
        data, open_ = self.data, 0
        while at < end:
            character = data[at]
            if character == 0x28:
                open_ += 1
                at += 1
            elif character == 0x29:
                if open_ == 0:
                    return at + 2 if data[at + 1 : at + 2] == b")" and at + 1 < end else None
                open_ -= 1
                at += 1
            else:
                try:
                    at = self._skip(at, end)
                except UnreadableError:
                    return None
        return None

    def close_bracket(self, at: int, end: int) -> int:
        data, start, open_ = self.data, at, 1
        while at < end:
            character = data[at]
            if character == 0x5B:
                open_ += 1
                at += 1
            elif character == 0x5D:
                open_ -= 1
                at += 1
                if not open_:
                    return at
            else:
                at = self._skip(at, end)
        raise UnreadableError("a bracket is not closed", start - 1)

    def _skip(self, at: int, end: int, *, single: bool = True) -> int:
        """One step over whatever stands here."""
        character = self.data[at]
        if character == 0x5C:
            return at + 2
        if character == 0x27 and single:
            return self.close_single(at + 1, end)
        if character == 0x22:
            return self.close_double(at + 1, end)
        if character == 0x24 and self.data[at + 1 : at + 2] == b"'" and single:
            return self.close_escaped(at + 2, end, b"'")
        if character in b"$`":
            return self.skip_expansion(at, end, False)
        return at + 1

    def _deepen(self, at: int) -> None:
        self.depth += 1
        if self.depth > MAXIMUM_DEPTH:
            raise UnreadableError("too deeply nested", at)
