"""Messages with values in them.

In: text with `{expression}` placeholders.  Out: its parts, and the text with the values filled in.  `{{` and `}}` stand
for braces.
"""

from __future__ import annotations

from collections.abc import Mapping

from preflight.engine.evaluate import Evaluation, Mark
from preflight.engine.tree import ExpressionError, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

Template: TypeAlias = "tuple[str | Tree, ...]"
LONGEST_LIST = 16


def parse_template(text: str, types: Mapping[str, str]) -> Template:
    """Split a message into literal text and expression trees."""
    from preflight.engine.expression import parse_expression

    parts: list[str | Tree] = []
    literal, at = "", 0
    while at < len(text):
        character = text[at]
        if character in "{}" and text[at : at + 2] == character * 2:
            literal, at = literal + character, at + 2
        elif character == "{":
            end = find_end(text, at + 1)
            try:
                tree, kind = parse_expression(text[at + 1 : end], types)
                tree = ("call", "dotted", (tree,)) if kind == "version" else tree
            except ExpressionError as error:
                raise ExpressionError(error.message, at + 1 + error.column) from None
            parts += [literal, tree] if literal else [tree]
            literal, at = "", end + 1
        elif character == "}":
            raise ExpressionError("a single '}'; write '}}' for a brace", at)
        else:
            literal, at = literal + character, at + 1
    return (*parts, literal) if literal else tuple(parts)


def find_end(text: str, at: int) -> int:
    """The offset of the brace that closes a placeholder; braces inside quotes do not count."""
    quote = ""
    for offset in range(at, len(text)):
        character = text[offset]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "}":
            return offset
        elif character == "{":
            break
    raise ExpressionError("'{' is never closed", at - 1)


def render(template: Template, evaluation: Evaluation) -> str:
    """Fill in the values; what is not known shows as `?`."""
    return "".join(part if isinstance(part, str) else show(evaluation.evaluate(part)) for part in template)


def show(value: Any) -> str:
    """A value as people write it."""
    if isinstance(value, Mark):
        return "?"
    if value is None:
        return "none"
    if isinstance(value, (tuple, list)):
        shown = ", ".join(show(part) for part in value[:LONGEST_LIST])
        return (shown or "none") + (", ..." if len(value) > LONGEST_LIST else "")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
