"""`$(( ))` inside words: expressions, and the variables that they read and write.

In: the range of an expression.  Out: its value, or None, and the texts that it was made of.
"""

from __future__ import annotations

from functools import partial

from preflight.shell import lookup
from preflight.shell.arithmetic import Access, Evaluation, InvalidError
from preflight.shell.ends import UnreadableError
from preflight.shell.parts import Arithmetic, Part, Token
from preflight.shell.pieces import EMPTY, forget
from preflight.shell.stop import StopError
from preflight.source import Span
from preflight.values import PLACEHOLDER, Piece, Text, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from preflight.shell.expand import Expansion

MAXIMUM_EXPRESSION = 20_000


def expand_arithmetic(expansion: Expansion, part: Arithmetic) -> Text:
    span = Span(expansion.source, part.start, part.end)
    value, used = expansion.compute(*part.inside)
    if value is None:
        return forget(used, span.text, span)
    pieces = [piece for text in used for piece in text.pieces]
    basis = next((text for text in used if text.pieces), EMPTY)
    assumptions = tuple(dict.fromkeys(a for piece in pieces for a in piece.assumptions))
    return Text((Piece(str(value), span, None, basis.steps[:4], assumptions),))


def compute(expansion: Expansion, start: int, end: int) -> tuple[int | None, list[Text]]:
    """The value of an expression, and the texts that it was made of."""
    if end - start > MAXIMUM_EXPRESSION:
        raise UnreadableError("too long an expression", start)
    parts: list[Part] = []
    expansion.syntax.lexer.quoted(start, end, parts)
    basis = expansion.single(Token(start, end, tuple(parts)))
    return calculate(expansion, basis)


def calculate(expansion: Expansion, basis: Text) -> tuple[int | None, list[Text]]:
    shown = "".join(PLACEHOLDER if p.unknown else p.text for p in basis.pieces).replace('"', "")
    evaluation = Evaluation(Access(partial(read_number, expansion), partial(write_number, expansion)))
    try:
        value = evaluation.evaluate(shown)
    except InvalidError:
        if not basis.known or any(not text.known for text in evaluation.used):
            return None, [basis, *evaluation.used]
        raise StopError("discard") from None
    pieces = [Text((p,)) for p in basis.pieces if p.unknown or p.assumptions]
    return value, [*pieces, *evaluation.used]


def read_number(expansion: Expansion, name: str, index: str | None) -> Text:
    span = Span(expansion.source, 0, 0)
    if index is not None:
        text = lookup.read_element(
            expansion, name, Text((Piece(index, span),)), f"${{{name}[{index}]}}", span
        )
    else:
        text, _ = lookup.read(expansion, name, f"${name}", span)
    return text if text is not None else EMPTY


def write_number(expansion: Expansion, name: str, index: str | None, value: int | None) -> None:
    span = Span(expansion.source, 0, 0)
    text = (
        Text.missing(Unknown("branches", f"${name}"), span)
        if value is None
        else Text((Piece(str(value), span),))
    )
    key = None if index is None else Text((Piece(index, span),))
    lookup.assign(expansion, name, key, text, span)
