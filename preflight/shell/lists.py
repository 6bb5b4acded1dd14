"""Lists in words: `$@`, `${a[@]}`, slices, and names that stand for other names.

In: a parameter that stands for many values, or for a name.  Out: fragments, with breaks between the values.
"""

from __future__ import annotations

import re

from preflight.shell import lookup
from preflight.shell.fields import BREAK, QUOTES, Fragment
from preflight.shell.parts import Parameter
from preflight.shell.pieces import forget
from preflight.shell.remarks import stays_outside
from preflight.shell.state import Element
from preflight.shell.stop import StopError
from preflight.source import Span
from preflight.values import Piece, Text, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from preflight.shell.expand import Expansion


def is_list(part: Parameter, expansion: Expansion, kinds: bytes = b"@*") -> bool:
    if part.subscript is None:
        return part.name.encode() in kinds and part.prefix != "!"
    raw = expansion.source.data[part.subscript[0] : part.subscript[1]]
    return len(raw) == 1 and raw in kinds and (part.prefix != "!" or kinds == b"@")


def expand_indirect(expansion: Expansion, part: Parameter, shown: str, span: Span) -> list[Fragment]:
    if part.operator in ("*", "@") and part.argument is not None and part.argument[0] == part.argument[1]:
        names = sorted(
            n for n, v in expansion.state.variables.items() if n.startswith(part.name) and v.value is not None
        )
        closed = expansion.evaluator.context.closed_environment
        if not closed:
            return expansion.made(part, Text.missing(Unknown("environment", shown), span))
        return join_elements(
            expansion, [Element(Text((Piece(n, span),)), span) for n in names], part, part.operator
        )
    if part.subscript is not None and not part.operator:
        raw = expansion.source.data[part.subscript[0] : part.subscript[1]]
        if raw in (b"@", b"*"):
            keys = lookup.keys(expansion, part.name)
            if keys is None:
                return expansion.made(part, Text.missing(Unknown("branches", shown), span))
            items = [Element(Text((Piece(str(key), span),)), span) for key in keys]
            return join_elements(expansion, items, part, raw.decode())
    key = expansion.subscript(part.subscript) if part.subscript is not None else None
    if key is not None:
        text: Text | None = lookup.read_element(expansion, part.name, key, shown, span)
    else:
        text, _ = lookup.read(expansion, part.name, shown, span)
    if text is None:
        raise StopError("discard")
    target = text.value
    if target is None:
        return expansion.made(part, forget((text,), shown, span))
    found = re.fullmatch(r"([A-Za-z_]\w*|\d+|[@*#?])(?:\[(.*)\])?", target, re.S)
    if found is None:
        return expansion.made(part, Text.missing(Unknown("syntax", shown), span))
    if found[2] is not None or found[1] in ("@", "*"):
        return indirect_element(expansion, part, found, shown, span)
    return expansion.parameter(part._replace(prefix="", name=found[1], subscript=None))


def indirect_element(
    expansion: Expansion, part: Parameter, found: re.Match[str], shown: str, span: Span
) -> list[Fragment]:
    subscript = found[2]
    if found[1] in ("@", "*") or subscript in ("@", "*"):
        items = lookup.elements(expansion, found[1])
        if items is None:
            return expansion.made(part, Text.missing(Unknown("branches", shown), span))
        return join_elements(expansion, items, part, subscript or found[1])
    element = lookup.read_element(expansion, found[1], Text((Piece(subscript, span),)), shown, span)
    return expansion.made(part, element) if element is not None else []


def expand_list(expansion: Expansion, part: Parameter, shown: str, span: Span) -> list[Fragment]:
    """`$@`, `$*`, `${a[@]}`, `${a[*]}` and what operators make of them."""
    kind = part.name
    if part.subscript is not None:
        kind = expansion.source.data[slice(*part.subscript)].decode()
    items = lookup.elements(expansion, part.name)
    if items is None:
        return unknown_list(expansion, part, shown, span)
    if part.prefix == "#":
        if any(item.many for item in items):
            reason = items[0].text.unknowns[0].reason if items[0].text.unknowns else "positional"
            return [Fragment((Piece(shown, span, Unknown(reason, shown)),))]
        return [Fragment((Piece(str(len(items)), span),))]
    operator = part.operator
    if operator.lstrip(":") in ("-", "=", "?", "+") and operator != ":":
        joined = Text(piece for item in items for piece in item.text.pieces)
        null = not items or (len(operator) == 2 and len(items) == 1 and joined.value == "")
        if operator[-1] == "+":
            return [] if null else expansion.argument_fragments(part)
        if null:
            if operator[-1] == "?":
                raise StopError("exit")
            return expansion.argument_fragments(part)
    elif operator == ":" and is_scalar(expansion, part.name):
        assert part.argument is not None
        items = [Element(expansion.substring(items[0].text, *part.argument, shown, span), items[0].span)]
    elif operator == ":":
        assert part.argument is not None
        sliced = slice_list(expansion, part, items, *part.argument)
        if sliced is None:
            return expansion.made(part, Text.missing(Unknown("branches", shown), span))
        items = sliced
    elif operator:
        items = [
            item if item.many else Element(expansion.change(part, item.text, shown, span), item.span)
            for item in items
        ]
    if part.subscript is not None and not part.prefix and is_nowhere(expansion, part.name):
        expansion.evaluator.remarks.note_unset(part, expansion.source, certain=not items)
    return join_elements(expansion, items, part, kind)


def is_nowhere(expansion: Expansion, name: str) -> bool:
    """Whether neither this shell assigns a name, nor the one that started it hands it over."""
    variable, source = expansion.state.variables.get(name), expansion.source
    inner = variable is not None and variable.value is None and bool(source.origins)
    return variable is None or (inner and stays_outside(name, Span(source, 0, len(source.data))))


def is_scalar(expansion: Expansion, name: str) -> bool:
    variable = expansion.state.variables.get(name)
    return variable is not None and isinstance(variable.value, Text)


def unknown_list(expansion: Expansion, part: Parameter, shown: str, span: Span) -> list[Fragment]:
    if part.name in ("@", "*"):
        unknown = Unknown("positional", shown)
    else:
        variable = expansion.state.variables.get(part.name)
        value = variable.value if variable is not None else None
        unknown = (
            value.unknowns[0] if isinstance(value, Text) and value.unknowns else Unknown("branches", shown)
        )
    if part.prefix == "#":
        return [Fragment((Piece(shown, span, unknown),))]
    return [Fragment((Piece(shown, span, unknown),), False, True, element=span, many=True)]


def slice_list(
    expansion: Expansion, part: Parameter, items: list[Element], start: int, end: int
) -> list[Element] | None:
    offset, length, given, _ = expansion.bounds(start, end)
    if offset is None or (given and length is None):
        return None
    variable = expansion.state.variables.get(part.name)
    if variable is not None and isinstance(variable.value, dict) and not variable.associative:
        keys = sorted(variable.value)
        if offset < 0:
            offset = (keys[-1] + 1 if keys else 0) + offset
        chosen = [variable.value[key] for key in keys if key >= offset] if offset >= 0 else []
    elif part.name in ("@", "*"):
        zero = Element(expansion.state.zero, Span(expansion.source, part.start, part.end))
        everything = [zero, *items]
        low = offset if offset >= 0 else len(everything) + offset
        head = everything[:low]
        if any(item.many for item in head):
            return None
        chosen = everything[low:] if low >= 0 else []
    else:
        low = offset if offset >= 0 else len(items) + offset
        chosen = items[low:] if low >= 0 else []
    if given:
        assert length is not None
        if any(item.many for item in chosen[:length]):
            return None
        chosen = chosen[:length]
    return chosen


def join_elements(expansion: Expansion, items: list[Element], part: Parameter, kind: str) -> list[Fragment]:
    out: list[Fragment] = []
    separate = kind == "@" or not part.quoted
    for number, item in enumerate(items):
        if number:
            if separate:
                out.append(BREAK)
            else:
                separator = expansion.separator()
                if separator:
                    span = Span(expansion.source, part.start, part.end)
                    out.append(Fragment((Piece(separator, span),)))
        if part.quoted and separate:
            out.append(QUOTES._replace(element=item.span))
        many = item.many and separate
        out.append(Fragment(item.text.pieces, part.quoted, not part.quoted, "text", item.span, many))
    if items and part.quoted and not separate:
        out.append(QUOTES)
    return out
