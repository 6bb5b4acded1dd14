"""`[[ ]]`: read from its range, since its words are neither split nor matched against files.

In: the range between the brackets.  Out: a `Verdict`.
"""

from __future__ import annotations

import re

from preflight.patterns import pattern
from preflight.shell.ends import UnreadableError
from preflight.shell.expand import Expansion
from preflight.shell.knowledge import Atom, recall
from preflight.shell.parts import Part, Token
from preflight.shell.pattern import compile_pattern, is_cheap
from preflight.shell.pieces import EMPTY, slice_text
from preflight.shell.state import Element, Variable
from preflight.shell.stop import StopError
from preflight.shell.tests import NUMERIC, UNARY, Verdict, WrongError, compare_numbers, decide, join, negate
from preflight.source import Span
from preflight.values import Text


def decide_range(expansion: Expansion, start: int, end: int) -> Verdict:
    """`[[ ... ]]` with what stands between the brackets."""
    reader = _Modern(expansion, start, end)
    try:
        verdict = reader.either(True)
        reader.skip()
        if reader.at < reader.end:
            raise UnreadableError("syntax not understood", reader.at)
        return verdict
    except WrongError:
        return Verdict(False, wrong=True)


class _Modern:
    def __init__(self, expansion: Expansion, start: int, end: int) -> None:
        self.expansion = expansion
        self.lexer = expansion.syntax.lexer
        self.data = expansion.source.data
        self.at = start
        self.end = end
        self.depth = 0

    def skip(self) -> None:
        while True:
            self.at = self.lexer.blank(self.at, self.end)
            if self.at < self.end and self.data[self.at] in b"\n\r":
                self.at += 1
            elif self.at < self.end and self.data[self.at] == 0x23:
                newline = self.data.find(b"\n", self.at, self.end)
                self.at = self.end if newline < 0 else newline
            else:
                return

    def take(self, operator: bytes) -> bool:
        self.skip()
        if self.data.startswith(operator, self.at, self.end):
            self.at += len(operator)
            return True
        return False

    def either(self, live: bool) -> Verdict:
        verdict = self.both(live)
        while self.take(b"||"):
            right = self.both(live and verdict.outcome is not True)
            verdict = join(False, verdict, right) if verdict.outcome is not True else verdict
        return verdict

    def both(self, live: bool) -> Verdict:
        verdict = self.primary(live)
        while self.take(b"&&"):
            right = self.primary(live and verdict.outcome is not False)
            verdict = join(True, verdict, right) if verdict.outcome is not False else verdict
        return verdict

    def primary(self, live: bool) -> Verdict:
        self.depth += 1
        if self.depth > 60:
            raise UnreadableError("too deeply nested", self.at)
        try:
            self.skip()
            if self.data[self.at : self.at + 1] == b"!" and self.data[self.at + 1 : self.at + 2] in (
                b" ",
                b"\t",
                b"\n",
                b"(",
            ):
                self.at += 1
                return negate(self.primary(live))
            if self.take(b"("):
                verdict = self.either(live)
                if not self.take(b")"):
                    raise UnreadableError("syntax not understood", self.at)
                return verdict
            return self.comparison(live)
        finally:
            self.depth -= 1

    def comparison(self, live: bool) -> Verdict:
        left = self.word()
        plain = left.plain
        self.skip()
        if plain in UNARY and self.at < self.end and self.data[self.at] not in b"&|)":
            save = self.at
            operator = self.operator()
            if operator is None:
                right = self.word()
                if not live:
                    return Verdict(None, None)
                return decide(
                    self.expansion, Atom(plain or "", self.expansion.single(right, flatten=True), None)
                )
            self.at = save
        operator = self.operator()
        if operator is None:
            return (
                decide(self.expansion, Atom("-n", self.expansion.single(left, flatten=True), None))
                if live
                else Verdict(None)
            )
        right = self.regex() if operator == "=~" else self.word()
        if not live:
            return Verdict(None)
        return self.compare(left, operator, right)

    def operator(self) -> str | None:
        self.skip()
        found = _OPERATOR.match(self.data, self.at, self.end)
        if found is None:
            return None
        self.at = found.end(1)
        return found[1].decode()

    def word(self) -> Token:
        self.skip()
        token, stop = self.lexer.word(self.at, self.end)
        if stop == self.at:
            raise UnreadableError("syntax not understood", self.at)
        self.at = stop
        return token

    def regex(self) -> Token:
        self.skip()
        start, depth = self.at, 0
        out: list[Part] = []
        while self.at < self.end:
            character = self.data[self.at]
            if character in b"'\"`$\\":
                self.at = self.lexer.part(self.at, self.end, out)
                continue
            if character in b" \t\n" and depth == 0:
                break
            if character == 0x29 and depth == 0:
                break
            depth += {0x28: 1, 0x29: -1}.get(character, 0)
            begin = self.at
            self.at += 1
            while self.at < self.end and self.data[self.at] not in b"'\"`$\\ \t\n()":
                self.at += 1
            self.lexer.literal(begin, self.at, False, out)
        return Token(start, self.at, tuple(out))

    def compare(self, left: Token, operator: str, right: Token) -> Verdict:
        expansion = self.expansion
        text = expansion.single(left, flatten=True)
        if operator in NUMERIC:
            return self.numbers(text, operator, expansion.single(right, flatten=True))
        if operator in ("=", "==", "!="):
            return self.match(text, operator, right)
        if operator == "=~":
            return self.search(text, right)
        return decide(expansion, Atom(operator, text, expansion.single(right, flatten=True)))

    def numbers(self, left: Text, operator: str, right: Text) -> Verdict:
        try:
            one, _ = self.expansion.calculate(left)
            two, _ = self.expansion.calculate(right)
        except StopError:
            raise WrongError from None
        if one is None or two is None:
            outcome = recall(self.expansion.state, Atom(operator, left, right))
            return Verdict(outcome, Atom(operator, left, right)) if outcome is None else Verdict(outcome)
        return Verdict(compare_numbers(operator, str(one), str(two)))

    def match(self, text: Text, operator: str, right: Token) -> Verdict:
        pattern, written = self.expansion.pattern(right)
        wild = pattern is not None and any(not q and _WILD.search(t) for t, q in pattern)
        atom = Atom(operator, text, written, not wild)
        if pattern is None or not wild:
            return decide(self.expansion, atom)
        matcher = compile_pattern(pattern)
        if matcher is None:
            return Verdict(None, atom)
        outcome = None
        if text.value is not None and is_cheap(matcher.pattern, len(text.value)):
            outcome = bool(matcher.fullmatch(text.value))
        elif pattern == (("*", False),):
            outcome = True
        if outcome is None:
            outcome = recall(self.expansion.state, atom)
            return Verdict(outcome, atom) if outcome is None else Verdict(outcome)
        return Verdict(outcome == (operator != "!="))

    def search(self, text: Text, right: Token) -> Verdict:
        pattern, written = self.expansion.pattern(right)
        atom = Atom("=~", text, written, False)
        if pattern is None or text.value is None:
            outcome = recall(self.expansion.state, atom)
            return Verdict(outcome, atom) if outcome is None else Verdict(outcome)
        expression = "".join(re.escape(t) if q else _posix(t) for t, q in pattern)
        if len(expression) > 500 or not is_cheap(expression, len(text.value)) or _SLOW.search(expression):
            return Verdict(None, atom)
        try:
            found = re.search(expression, text.value, re.S)
        except (re.error, RecursionError, OverflowError):
            raise WrongError from None
        span = Span(self.expansion.source, right.start, right.end)
        groups = [found[0], *found.groups()] if found else []
        items = {
            number: Element(_group(text, found, number, group) if found else EMPTY, span)
            for number, group in enumerate(groups)
        }
        self.expansion.state.put("BASH_REMATCH", Variable(items))
        return Verdict(found is not None)


def _group(text: Text, found: re.Match[str], number: int, group: str | None) -> Text:
    return slice_text(text, *found.span(number)) if group else EMPTY


_OPERATOR = pattern(rb"(==|=~|!=|=|<|>|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef)(?=[\s\"'$]))")
_WILD = pattern(r"[*?\[\\]|[@+!]\(")
_SLOW = pattern(r"\([^)]*[+*|][^)]*\)[+*{]")
_CLASSES = {
    "[:alpha:]": "a-zA-Z",
    "[:digit:]": "0-9",
    "[:alnum:]": "a-zA-Z0-9",
    "[:space:]": r"\s",
    "[:upper:]": "A-Z",
    "[:lower:]": "a-z",
    "[:blank:]": r" \t",
    "[:xdigit:]": "0-9A-Fa-f",
    "[:punct:]": r"!-/:-@\[-`{-~",
}


def _posix(expression: str) -> str:
    """A POSIX extended expression in Python's spelling."""
    for name, inside in _CLASSES.items():
        expression = expression.replace(name, inside)
    return expression.replace("$", r"\Z") if expression.endswith("$") else expression
