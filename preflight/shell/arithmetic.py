"""Arithmetic of bash: C's operators over 64-bit integers, and variables that hold expressions.

In: an expression whose `$` expansions are done, and access to variables.  Out: an integer, or `None` for
unknown.  Raises `InvalidError` where bash reports an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from preflight.patterns import pattern
from preflight.record import NamedTuple
from preflight.values import PLACEHOLDER, Text

MAXIMUM_DEPTH = 40
MAXIMUM_SIZE = 20_000
MAXIMUM_READS = 2_000


class InvalidError(Exception):
    """Bash refuses the expression."""


class Access(NamedTuple):
    """How variables are read and written; a read gives an unknown text where it must."""

    read: Callable[[str, str | None], Text]
    write: Callable[[str, str | None, int | None], None]


_TOKEN = pattern(
    r"\s*(?:(?P<number>\d+#[0-9a-zA-Z@_]+|0[xX][0-9a-fA-F]*|\d+)|(?P<name>[A-Za-z_]\w*)|(?P<unknown>\ue000)|"
    r"(?P<operator>\*\*|<<=|>>=|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%<>=!~&|^?:,()\[\]]))"
)
_BINARY: dict[str, int] = {
    "||": 3,
    "&&": 4,
    "|": 5,
    "^": 6,
    "&": 7,
    "==": 8,
    "!=": 8,
    "<": 9,
    ">": 9,
    "<=": 9,
    ">=": 9,
    "<<": 10,
    ">>": 10,
    "+": 11,
    "-": 11,
    "*": 12,
    "/": 12,
    "%": 12,
    "**": 13,
}
_ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="))


def wrap(value: int) -> int:
    """Two's complement of 64 bits."""
    return (value + 2**63) % 2**64 - 2**63


class Evaluation:
    """One expression. `used` collects the texts of the variables that it read."""

    def __init__(self, access: Access, depth: int = 0, budget: list[int] | None = None) -> None:
        self.access = access
        self.depth = depth
        self.budget = [MAXIMUM_READS] if budget is None else budget
        self.used: list[Text] = []
        self.tokens: list[tuple[str, str]] = []
        self.at = 0
        self.live = True
        self.nesting = 0

    def evaluate(self, text: str) -> int | None:
        """The value of an expression; an empty one is 0."""
        if self.depth > MAXIMUM_DEPTH or len(text) > MAXIMUM_SIZE:
            return None
        self.tokens, self.at = self._read(text), 0
        if not self.tokens:
            return 0
        value = self._comma()
        if self.at < len(self.tokens):
            raise InvalidError("syntax error in expression")
        return value

    def _read(self, text: str) -> list[tuple[str, str]]:
        tokens, at = [], 0
        text = text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if not found:
                raise InvalidError("syntax error in expression")
            kind = found.lastgroup or ""
            tokens.append((kind, found[kind]))
            at = found.end()
        return tokens

    def _peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def _take(self, text: str) -> bool:
        if self.at < len(self.tokens) and self.tokens[self.at] == ("operator", text):
            self.at += 1
            return True
        return False

    def _comma(self) -> int | None:
        value = self._ternary()
        while self._take(","):
            value = self._ternary()
        return value

    def _ternary(self) -> int | None:
        self.nesting += 1
        if self.nesting > 150:
            raise InvalidError("too deeply nested")
        value = self._binary(3)
        if self._take("?"):
            live = self.live
            self.live = live and (value is None or value != 0)
            yes = self._comma()
            if not self._take(":"):
                raise InvalidError("`:' expected")
            self.live = live and (value is None or value == 0)
            no = self._ternary()
            self.live = live
            value = (yes if yes == no else None) if value is None else yes if value else no
        self.nesting -= 1
        return value

    def _binary(self, minimum: int) -> int | None:
        left = self._unary()
        while True:
            operator = self._peek()
            rank = _BINARY.get(operator, 0)
            if rank < minimum or self.tokens[self.at][0] != "operator":
                return left
            self.at += 1
            live = self.live
            if operator == "&&":
                self.live = live and left != 0
            elif operator == "||":
                self.live = live and (left is None or left == 0)
            right = self._binary(rank if operator == "**" else rank + 1)
            left = self._apply(operator, left, right)
            self.live = live

    def _apply(self, operator: str, left: int | None, right: int | None) -> int | None:
        if operator == "&&":
            if left == 0 or right == 0:
                return 0
            return None if left is None or right is None else 1
        if operator == "||":
            if left or right:
                return 1
            return None if left is None or right is None else 0
        if operator in ("/", "%") and right == 0 and self.live:
            raise InvalidError("division by 0")
        if left is None or right is None:
            return None
        return calculate(operator, left, right)

    def _unary(self) -> int | None:
        if self.at >= len(self.tokens):
            raise InvalidError("operand expected")
        kind, text = self.tokens[self.at]
        if kind == "operator":
            self.at += 1
            if text in ("!", "~", "-", "+"):
                self.nesting += 1
                if self.nesting > 150:
                    raise InvalidError("too deeply nested")
                value = self._unary()
                self.nesting -= 1
                if value is None:
                    return None
                return {"!": int(value == 0), "~": ~value, "-": wrap(-value), "+": value}[text]
            if text in ("++", "--"):
                if self.at < len(self.tokens) and self.tokens[self.at][0] == "name":
                    name, index = self._target()
                    return self._step(name, index, 1 if text == "++" else -1, after=True)
                return self._unary()
            if text == "(":
                value = self._comma()
                if not self._take(")"):
                    raise InvalidError("missing `)'")
                return value
            raise InvalidError("operand expected")
        if kind == "number":
            self.at += 1
            return number(text)
        if kind == "unknown":
            self.at += 1
            return None
        return self._variable()

    def _target(self) -> tuple[str, str | None]:
        name = self.tokens[self.at][1]
        self.at += 1
        index = None
        if self._take("["):
            start, depth = self.at, 1
            while self.at < len(self.tokens):
                text = self._peek()
                depth += {"[": 1, "]": -1}.get(text, 0)
                self.at += 1
                if not depth:
                    break
            else:
                raise InvalidError("bad array subscript")
            index = " ".join(text for _, text in self.tokens[start : self.at - 1])
        return name, index

    def _variable(self) -> int | None:
        name, index = self._target()
        operator = self._peek()
        if operator in _ASSIGNMENTS and self.tokens[self.at][0] == "operator":
            self.at += 1
            right = self._ternary()
            if operator == "=":
                value = right
            else:
                if operator in ("/=", "%=") and right == 0 and self.live:
                    raise InvalidError("division by 0")
                left = self._load(name, index)
                value = None if left is None or right is None else calculate(operator[:-1], left, right)
            self._store(name, index, value)
            return value
        if operator in ("++", "--") and self.tokens[self.at][0] == "operator":
            self.at += 1
            return self._step(name, index, 1 if operator == "++" else -1, after=False)
        return self._load(name, index)

    def _step(self, name: str, index: str | None, by: int, *, after: bool) -> int | None:
        value = self._load(name, index)
        changed = None if value is None else wrap(value + by)
        self._store(name, index, changed)
        return changed if after else value

    def _load(self, name: str, index: str | None) -> int | None:
        if not self.live:
            return 0
        text = self.access.read(name, index)
        self.used.append(text)
        self.budget[0] -= 1
        known = text.value
        if known is None or self.budget[0] < 0:
            return None
        known = known.strip()
        if not known:
            return 0
        if re.fullmatch(r"\d+", known):
            return number(known)
        inner = Evaluation(self.access, self.depth + 1, self.budget)
        if inner.depth > MAXIMUM_DEPTH:
            raise InvalidError("expression recursion level exceeded")
        value = inner.evaluate(known.replace(PLACEHOLDER, "?"))
        self.used.extend(inner.used)
        return value

    def _store(self, name: str, index: str | None, value: int | None) -> None:
        if self.live:
            self.access.write(name, index, value)


def number(text: str) -> int:
    """A constant: decimal, octal, hexadecimal or base#digits."""
    if "#" in text:
        base_text, digits = text.split("#", 1)
        base = int(base_text)
        if not 2 <= base <= 64:
            raise InvalidError("invalid arithmetic base")
        value = 0
        for digit in digits:
            if digit.isdigit():
                worth = ord(digit) - 48
            elif digit.islower():
                worth = ord(digit) - 87
            elif digit.isupper():
                worth = ord(digit) - (55 if base <= 36 else 29)
            else:
                worth = 62 if digit == "@" else 63
            if worth >= base:
                raise InvalidError("value too great for base")
            value = value * base + worth
        return wrap(value)
    if text[:2] in ("0x", "0X"):
        return wrap(int(text[2:] or "0", 16))
    if text[0] == "0" and len(text) > 1:
        if not re.fullmatch("[0-7]+", text):
            raise InvalidError("value too great for base")
        return wrap(int(text, 8))
    return wrap(int(text[:4000]))


def calculate(operator: str, left: int, right: int) -> int:
    """A binary operator on known operands."""
    if operator == "**":
        if right < 0:
            raise InvalidError("exponent less than 0")
        return wrap(pow(left, right, 2**64))
    if operator in ("<<", ">>"):
        amount = right % 64
        return wrap(left << amount) if operator == "<<" else left >> amount
    if operator in ("/", "%"):
        if right == 0:
            return 0
        quotient = abs(left) // abs(right)
        if (left < 0) != (right < 0):
            quotient = -quotient
        return wrap(quotient if operator == "/" else left - right * quotient)
    if operator in ("+", "-", "*"):
        return wrap(left + right if operator == "+" else left - right if operator == "-" else left * right)
    if operator in ("&", "|", "^"):
        return left & right if operator == "&" else left | right if operator == "|" else left ^ right
    truth = {
        "<": left < right,
        ">": left > right,
        "<=": left <= right,
        ">=": left >= right,
        "==": left == right,
        "!=": left != right,
    }
    return int(truth[operator])
