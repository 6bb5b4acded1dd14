"""`test`, `[ ]` and `[[ ]]`: true, false, or a claim that cannot be decided.

In: the words of a test, or the range of a `[[ ]]`.  Out: a `Verdict`.
"""

from __future__ import annotations

import re

from preflight.execution import Word
from preflight.record import NamedTuple
from preflight.shell import lookup
from preflight.shell.expand import Expansion
from preflight.shell.knowledge import All, Atom, Claim, Not, Some, recall
from preflight.source import Span
from preflight.values import Piece, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


class Verdict(NamedTuple):
    """`outcome` None: not decided, then `claim` says what was asked. `status` 2: bash reports an error."""

    outcome: bool | None
    claim: Claim | None = None
    wrong: bool = False


UNARY = frozenset(f"-{letter}" for letter in "abcdefghknoprstuvwxzGLNORS")
BINARY = frozenset(
    ["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "=~"]
)
NUMERIC = frozenset(["-eq", "-ne", "-lt", "-le", "-gt", "-ge"])


def decide_words(expansion: Expansion, words: list[Word]) -> Verdict:
    """`test` with these words; a closing bracket is already gone."""
    try:
        return _Classic(expansion, words).run()
    except WrongError:
        return Verdict(False, wrong=True)


class WrongError(Exception):
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
            raise WrongError
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
            raise WrongError
        if size == 4:
            if texts[0] == "!":
                return negate(self._count(words[1:]))
            if texts[0] == "(" and texts[3] == ")":
                return self._count(words[1:3])
        self.at = 0
        verdict = self._either()
        if self.at < size:
            raise WrongError
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
            raise WrongError
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
                raise WrongError
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
    if operator in NUMERIC:
        return compare_numbers(operator, left.value, right.value)
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


def compare_numbers(operator: str, left: str | None, right: str | None) -> bool | None:
    numbers: list[int | None] = []
    for text in (left, right):
        if text is None:
            numbers.append(None)
            continue
        if not re.fullmatch(r"\s*[-+]?\d+\s*", text):
            raise WrongError
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
