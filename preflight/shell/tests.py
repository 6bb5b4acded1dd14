"""`test`, `[ ]` and `[[ ]]`: true, false, or a claim that cannot be decided.

In: the words of a test, or the range of a `[[ ]]`.  Out: a `Verdict`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from preflight.execution import Word
from preflight.patterns import pattern
from preflight.record import NamedTuple
from preflight.shell import lookup
from preflight.shell.expand import Expansion, StopError
from preflight.shell.knowledge import All, Atom, Claim, Not, Some, recall
from preflight.shell.lexer import Literal, Part, Token, UnreadableError
from preflight.shell.pattern import compile_pattern, is_cheap
from preflight.shell.pieces import EMPTY
from preflight.shell.state import Element, Variable
from preflight.source import Span
from preflight.values import Piece, Text, Unknown

if TYPE_CHECKING:
    from preflight.shell.state import State


class Verdict(NamedTuple):
    """`outcome` None: not decided, then `claim` says what was asked. `status` 2: bash reports an error."""

    outcome: bool | None
    claim: Claim | None = None
    wrong: bool = False


UNARY = frozenset(f"-{letter}" for letter in "abcdefghknoprstuvwxzGLNORS")
BINARY = frozenset(
    ["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "=~"]
)
_NUMERIC = frozenset(["-eq", "-ne", "-lt", "-le", "-gt", "-ge"])


def decide_words(expansion: Expansion, words: list[Word]) -> Verdict:
    """`test` with these words; a closing bracket is already gone."""
    try:
        return _Classic(expansion, words).run()
    except _WrongError:
        return Verdict(False, wrong=True)


class _WrongError(Exception):
    pass


class _Classic:
    def __init__(self, expansion: Expansion, words: list[Word]) -> None:
        self.expansion = expansion
        self.words = words
        self.at = 0

    def run(self) -> Verdict:
        return self._count(self.words)

    def _count(self, words: list[Word]) -> Verdict:
        size = len(words)
        texts = [word.text.value for word in words]
        if size == 0:
            return Verdict(False)
        if size == 1:
            return decide(self.expansion, Atom("-n", words[0].text, None))
        if size == 2:
            if texts[0] == "!":
                return negate(self._count(words[1:]))
            if texts[0] in UNARY:
                return decide(self.expansion, Atom(texts[0] or "", words[1].text, None))
            if texts[0] is None:
                return Verdict(None, Atom("?", words[0].text, words[1].text, False))
            raise _WrongError
        if size == 3:
            if texts[1] in BINARY and texts[1] != "=~":
                return decide(self.expansion, Atom(texts[1] or "", words[0].text, words[2].text))
            if texts[1] in ("-a", "-o"):
                return join(texts[1] == "-a", self._count(words[:1]), self._count(words[2:]))
            if texts[0] == "!":
                return negate(self._count(words[1:]))
            if texts[0] == "(" and texts[2] == ")":
                return self._count(words[1:2])
            if any(text is None for text in texts):
                return Verdict(None, Atom("?", words[0].text, words[2].text, False))
            raise _WrongError
        if size == 4:
            if texts[0] == "!":
                return negate(self._count(words[1:]))
            if texts[0] == "(" and texts[3] == ")":
                return self._count(words[1:3])
        self.at = 0
        verdict = self._either()
        if self.at < size:
            raise _WrongError
        return verdict

    def _peek(self, ahead: int = 0) -> str | None:
        at = self.at + ahead
        return self.words[at].text.value if at < len(self.words) else None

    def _either(self) -> Verdict:
        verdict = self._both()
        while self._peek() == "-o":
            self.at += 1
            verdict = join(False, verdict, self._both())
        return verdict

    def _both(self) -> Verdict:
        verdict = self._primary()
        while self._peek() == "-a":
            self.at += 1
            verdict = join(True, verdict, self._primary())
        return verdict

    def _primary(self) -> Verdict:
        if self.at >= len(self.words):
            raise _WrongError
        text = self._peek()
        if text == "!":
            self.at += 1
            return negate(self._primary())
        if self.at + 2 < len(self.words) and self._peek(1) in BINARY:
            left, right = self.words[self.at].text, self.words[self.at + 2].text
            operator = self._peek(1) or ""
            self.at += 3
            return decide(self.expansion, Atom(operator, left, right))
        if text == "(":
            self.at += 1
            verdict = self._either()
            if self._peek() != ")":
                raise _WrongError
            self.at += 1
            return verdict
        if text in UNARY and self.at + 1 < len(self.words):
            self.at += 2
            return decide(self.expansion, Atom(text or "", self.words[self.at - 1].text, None))
        self.at += 1
        return decide(self.expansion, Atom("-n", self.words[self.at - 1].text, None))


def negate(verdict: Verdict) -> Verdict:
    if verdict.wrong:
        return verdict
    if verdict.outcome is not None:
        return Verdict(not verdict.outcome)
    return Verdict(None, Not(verdict.claim) if verdict.claim is not None else None)


def join(both: bool, left: Verdict, right: Verdict) -> Verdict:
    if left.wrong or right.wrong:
        return left if left.wrong else right
    decisive = not both
    if left.outcome is decisive or right.outcome is decisive:
        return Verdict(decisive)
    if left.outcome is not None:
        return right
    if right.outcome is not None:
        return left
    claims = tuple(claim for claim in (left.claim, right.claim) if claim is not None)
    return Verdict(None, All(claims) if both else Some(claims))


def decide(expansion: Expansion, atom: Atom) -> Verdict:
    """One comparison of texts (no patterns)."""
    outcome = _decide(expansion, atom)
    if outcome is None:
        outcome = recall(expansion.state, atom)
    return Verdict(outcome) if outcome is not None else Verdict(None, atom)


def _decide(expansion: Expansion, atom: Atom) -> bool | None:
    operator, left, right = atom.operator, atom.left, atom.right
    if right is None:
        return _unary(expansion, operator, left)
    if operator in _NUMERIC:
        return _compare_numbers(operator, left.value, right.value)
    if left.value is None or right.value is None:
        if operator in ("=", "==", "!=") and _differ(left, right):
            return operator == "!="
        return None
    if operator in ("=", "=="):
        return left.value == right.value
    if operator == "!=":
        return left.value != right.value
    if operator == "<":
        return left.value < right.value
    if operator == ">":
        return left.value > right.value
    return None


def _differ(left: Text, right: Text) -> bool:
    """Texts of which parts are unknown, but whose known ends cannot be equal."""
    for edge in (0, -1):
        if not left.pieces or not right.pieces:
            known = right if not left.pieces else left
            return any(piece.unknown is None and piece.text for piece in known.pieces)
        one, two = left.pieces[edge], right.pieces[edge]
        if one.unknown is None and two.unknown is None and one.text and two.text:
            size = min(len(one.text), len(two.text))
            same = one.text[:size] == two.text[:size] if edge == 0 else one.text[-size:] == two.text[-size:]
            if not same:
                return True
    return False


def _compare_numbers(operator: str, left: str | None, right: str | None) -> bool | None:
    numbers: list[int | None] = []
    for text in (left, right):
        if text is None:
            numbers.append(None)
            continue
        if not re.fullmatch(r"\s*[-+]?\d+\s*", text):
            raise _WrongError
        numbers.append(int(text[:400]))
    one, two = numbers
    if one is None or two is None:
        return None
    return {
        "-eq": one == two,
        "-ne": one != two,
        "-lt": one < two,
        "-le": one <= two,
        "-gt": one > two,
        "-ge": one >= two,
    }[operator]


def _unary(expansion: Expansion, operator: str, text: Text) -> bool | None:
    if operator in ("-z", "-n"):
        empty = None
        if text.known:
            empty = text.value == ""
        elif any(piece.unknown is None and piece.text for piece in text.pieces):
            empty = False
        return None if empty is None else empty == (operator == "-z")
    value = text.value
    if value is None:
        return None
    if operator == "-v":
        return _is_set(expansion, value)
    if operator in ("-t", "-o", "-R"):
        return None
    return _file(expansion, operator, value)


def _is_set(expansion: Expansion, name: str) -> bool | None:
    found = re.fullmatch(r"([A-Za-z_]\w*)(?:\[(.*)\])?", name)
    span = Span(expansion.source, 0, 0)
    if found is None:
        text, unsure = lookup.read(expansion, name, name, span) if name.isdigit() else (None, False)
        return None if unsure else text is not None
    variable = expansion.state.variables.get(found[1])
    if variable is None:
        _, unsure = lookup.read(expansion, found[1], found[1], span)
        return None if unsure or expansion.state.missing else False
    if found[2] is None:
        return variable.scalar is not None
    if isinstance(variable.value, dict):
        index = lookup.subscript(expansion, variable, Text((Piece(found[2], span),)))
        return None if index is None else index in variable.value
    return None


def _file(expansion: Expansion, operator: str, path: str) -> bool | None:
    state = expansion.state
    if not path:
        return False
    directory = state.directory.value if state.directory is not None else None
    if path in state.files:
        return {"-f": True, "-e": True, "-r": True, "-d": False}.get(operator)
    if directory is None and not path.startswith("/"):
        return None
    kind = expansion.evaluator.context.files.kind(path, directory)
    if kind == "file":
        return {"-f": True, "-e": True, "-a": True, "-r": True, "-d": False, "-p": False, "-b": False}.get(
            operator
        )
    if kind == "folder":
        return {"-d": True, "-e": True, "-a": True, "-f": False}.get(operator)
    return None


# -------------------------------------------------------------------- [[ ]]


def decide_range(expansion: Expansion, start: int, end: int) -> Verdict:
    """`[[ ... ]]` with what stands between the brackets."""
    reader = _Modern(expansion, start, end)
    try:
        verdict = reader.either(True)
        reader.skip()
        if reader.at < reader.end:
            raise UnreadableError("syntax not understood", reader.at)
        return verdict
    except _WrongError:
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
        if operator in _NUMERIC:
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
            raise _WrongError from None
        if one is None or two is None:
            outcome = recall(self.expansion.state, Atom(operator, left, right))
            return Verdict(outcome, Atom(operator, left, right)) if outcome is None else Verdict(outcome)
        return Verdict(_compare_numbers(operator, str(one), str(two)))

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
            raise _WrongError from None
        span = Span(self.expansion.source, right.start, right.end)
        groups = [found[0], *found.groups()] if found else []
        items = {
            number: Element(_group(text, found, number, group) if found else EMPTY, span)
            for number, group in enumerate(groups)
        }
        self.expansion.state.put("BASH_REMATCH", Variable(items))
        return Verdict(found is not None)


def _group(text: Text, found: re.Match[str], number: int, group: str | None) -> Text:
    from preflight.shell.pieces import slice_text

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


__all__ = ["Literal", "State", "Unknown", "Verdict", "decide_range", "decide_words"]
