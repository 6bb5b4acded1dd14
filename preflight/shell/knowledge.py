"""What a test tells the branch behind it: inside `if [ $SIZE = 7B ]`, SIZE is 7B.

In: a claim (an atom, or claims joined by and, or, not), its outcome, and a state.  Out: the state knows more:
unknown values become known, or at least known not to be something; the same test decides itself next time.
"""

from __future__ import annotations

from preflight.record import NamedTuple
from preflight.shell.state import Element, State, Variable
from preflight.values import Piece, Text, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Atom(NamedTuple):
    """One comparison. `right` is None for unary operators."""

    operator: str
    left: Text
    right: Text | None
    literal: bool = True
    """The right side is no pattern."""


class Not(NamedTuple):
    claim: Claim


class All(NamedTuple):
    claims: tuple[Claim, ...]


class Some(NamedTuple):
    claims: tuple[Claim, ...]


Claim = Atom | Not | All | Some

_EQUAL = frozenset(("=", "==", "-eq"))
_UNEQUAL = frozenset(("!=", "-ne"))


def lone_unknown(text: Text) -> Unknown | None:
    """The unknown that a text consists of, if it is one that keeps its value."""
    pieces = [piece for piece in text.pieces if piece.text or piece.unknown]
    if len(pieces) == 1 and pieces[0].unknown is not None and pieces[0].unknown.reason != "branches":
        return pieces[0].unknown
    return None


def remember_key(atom: Atom) -> Any:
    """Names a test, so that it gets the same answer again; None where its operands may change."""
    unknowns = atom.left.unknowns + (atom.right.unknowns if atom.right is not None else ())
    if not unknowns or any(
        unknown.reason not in ("environment", "positional", "file") for unknown in unknowns
    ):
        return None
    return (
        "test",
        atom.operator,
        atom.left.display(),
        atom.right.display() if atom.right is not None else None,
    )


def recall(state: State, atom: Atom) -> bool | None:
    """What is known of a test that its operands alone do not decide."""
    key = remember_key(atom)
    if key is not None and key in state.facts:
        return bool(state.facts[key])
    unknown = lone_unknown(atom.left)
    if unknown is None:
        return None
    empty = state.facts.get(("empty", (unknown,)))
    if atom.operator in ("-z", "-n") and empty is not None:
        return bool(empty) == (atom.operator == "-z")
    if atom.right is not None and atom.right.known and atom.literal:
        value = atom.right.value or ""
        denied = state.facts.get(("not", unknown), frozenset())
        if value in denied or (value == "" and empty is False):
            if atom.operator in ("=", "=="):
                return False
            if atom.operator == "!=":
                return True
    return None


def learn(state: State, claim: Claim, outcome: bool) -> None:
    """Take a claim to be true or false."""
    if isinstance(claim, Not):
        learn(state, claim.claim, not outcome)
    elif isinstance(claim, All):
        if outcome:
            for part in claim.claims:
                learn(state, part, True)
        elif len(claim.claims) == 1:
            learn(state, claim.claims[0], False)
    elif isinstance(claim, Some):
        if not outcome:
            for part in claim.claims:
                learn(state, part, False)
        elif len(claim.claims) == 1:
            learn(state, claim.claims[0], True)
    else:
        _learn_atom(state, claim, outcome)


def _learn_atom(state: State, atom: Atom, outcome: bool) -> None:
    key = remember_key(atom)
    if key is not None:
        state.facts[key] = outcome
    unknown = lone_unknown(atom.left)
    if unknown is None:
        if (
            atom.right is not None
            and atom.literal
            and lone_unknown(atom.right) is not None
            and atom.left.known
        ):
            _learn_atom(state, Atom(atom.operator, atom.right, atom.left), outcome)
        return
    operator = atom.operator
    if operator in ("-z", "-n"):
        empty = (operator == "-z") == outcome
        state.facts["empty", (unknown,)] = empty
        if empty:
            replace(state, unknown, None)
        return
    if atom.right is None or not atom.right.known or not atom.literal:
        return
    value = atom.right.value or ""
    equal = operator in _EQUAL
    if not equal and operator not in _UNEQUAL:
        return
    if equal == outcome:
        if operator in ("-eq", "-ne") and not value.strip().isdigit():
            return
        replace(state, unknown, atom.right)
    else:
        if value == "":
            state.facts["empty", (unknown,)] = False
        denied = state.facts.get(("not", unknown), frozenset())
        state.facts["not", unknown] = denied | {value}


def _holds(text: Text, unknown: Unknown) -> bool:
    pieces = text.pieces
    if len(pieces) == 1:
        return pieces[0].unknown == unknown
    return not text.known and unknown in [piece.unknown for piece in pieces]


def replace(state: State, unknown: Unknown, by: Text | None) -> None:
    """An unknown turns out to be `by` (None: empty) wherever it is stored."""
    value = by.value if by is not None else ""
    pieces: tuple[Piece, ...] = by.pieces if by is not None else ()

    def changed(text: Text) -> Text:
        if not _holds(text, unknown):
            return text
        out: list[Piece] = []
        for piece in text.pieces:
            if piece.unknown != unknown:
                out.append(piece)
            elif value:
                out.append(Piece(value, pieces[0].span if pieces else piece.span, None, piece.steps))
        return Text(out)

    for name, variable in list(state.variables.items()):
        stored = variable.value
        if stored is None:
            continue
        if not isinstance(stored, dict):
            if not stored.known and _holds(stored, unknown):
                state.learn(name, variable._replace(value=changed(stored)))
        elif any(not text.known and _holds(text, unknown) for text, _, _ in stored.values()):
            items = {
                key: Element(changed(element.text), element.span)
                if _holds(element.text, unknown)
                else element
                for key, element in stored.items()
            }
            state.learn(name, variable._replace(value=items))
    if unknown.name is None or unknown.text != f"${unknown.name}":
        return  # a part of the variable, or something worked out from it: not its value
    if unknown.reason == "environment" and unknown.name not in state.variables:
        state.learn(unknown.name, Variable(Text(pieces), exported=bool(value)))
    if unknown.reason == "positional" and unknown.name.isdigit():
        _replace_argument(state, int(unknown.name), Text(pieces), value or "")


def _replace_argument(state: State, number: int, text: Text, value: str) -> None:
    arguments = state.arguments
    at = number - arguments.base - 1
    if at < 0 or at > 30 or not text.pieces:
        return
    items = list(arguments.items)
    while len(items) <= at:
        items.append(None)
    if items[at] is None and value:
        items[at] = Element(text, text.pieces[0].span)
        state.learn_arguments(arguments._replace(items=tuple(items)))
