"""The operators of `${...}` on values: defaults are elsewhere, here are the ones that change text.

In: a text, known or not, and the operator with its expanded argument.  Out: the changed text, which still
points at its origin where it is a stretch of the old one.
"""

from __future__ import annotations

import re

from preflight.shell.pattern import Characters, compile_pattern, is_cheap, translate
from preflight.shell.pieces import EMPTY, assume, forget, rewrite, slice_text
from preflight.source import Span
from preflight.values import Text

MAXIMUM_LENGTH = 200_000
MAXIMUM_SCAN = 5_000


def remove_affix(text: Text, operator: str, pattern: Characters | None, shown: str, span: Span) -> Text:
    """`#`, `##`, `%`, `%%`."""
    value = text.value
    if pattern is None or value is None or len(value) > MAXIMUM_LENGTH:
        return _partial_affix(text, operator, pattern) or forget((text,), shown, span)
    if all(quoted or not re.search(r"[*?\[\\]|[@!+]\(", stretch) for stretch, quoted in pattern):
        literal = "".join(stretch for stretch, _ in pattern)
        if operator[0] == "#":
            found = value.startswith(literal)
            return slice_text(text, len(literal), len(value)) if found else text
        found = value.endswith(literal)
        return slice_text(text, 0, len(value) - len(literal)) if found and literal else text
    simple = _cut_at_literal(text, value, operator, pattern)
    if simple is not None:
        return simple
    matcher = compile_pattern(pattern)
    size = len(value)
    if matcher is None or not is_cheap(matcher.pattern, size) or size > MAXIMUM_SCAN:
        return forget((text,), shown, span)
    ends = range(size + 1)
    if operator == "#":
        cut = next((n for n in ends if matcher.fullmatch(value, 0, n)), 0)
    elif operator == "##":
        cut = next((n for n in reversed(ends) if matcher.fullmatch(value, 0, n)), 0)
    elif operator == "%":
        cut = next((n for n in reversed(ends) if matcher.fullmatch(value, n)), size)
    else:
        cut = next((n for n in ends if matcher.fullmatch(value, n)), size)
    result = slice_text(text, cut, size) if operator[0] == "#" else slice_text(text, 0, cut)
    return assume(result, (text,))


def _cut_at_literal(text: Text, value: str, operator: str, pattern: Characters) -> Text | None:
    """`${x##*/}` and its like: a star beside characters that stand for themselves."""
    whole = "".join(stretch for stretch, _ in pattern)
    wild = "".join(stretch for stretch, quoted in pattern if not quoted)
    literal = whole[1:] if operator[0] == "#" else whole[:-1]
    star = whole[:1] if operator[0] == "#" else whole[-1:]
    if (
        star != "*"
        or wild.count("*") != 1
        or "*" in literal
        or re.search(r"[?\[\\]|[@!+]\(", wild)
        or not literal
    ):
        return None
    if operator[0] == "#":
        at = value.rfind(literal) if operator == "##" else value.find(literal)
        return text if at < 0 else assume(slice_text(text, at + len(literal), len(value)), (text,))
    at = value.find(literal) if operator == "%%" else value.rfind(literal)
    return text if at < 0 else assume(slice_text(text, 0, at), (text,))


def _partial_affix(text: Text, operator: str, pattern: Characters | None) -> Text | None:
    """The known end of a partly unknown text decides the shortest match: `${X}/a.sh` without `.sh`."""
    if pattern is None or operator not in ("%", "#") or len(text.pieces) < 2:
        return None
    matcher = compile_pattern(pattern)
    edge = text.pieces[-1] if operator == "%" else text.pieces[0]
    if matcher is None or edge.unknown is not None or len(edge.text) > MAXIMUM_SCAN:
        return None
    size = len(edge.text)
    if operator == "%":
        for cut in range(size, -1, -1):
            if matcher.fullmatch(edge.text, cut):
                return Text((*text.pieces[:-1], *slice_text(Text((edge,)), 0, cut).pieces))
        return None
    for cut in range(size + 1):
        if matcher.fullmatch(edge.text, 0, cut):
            return Text((*slice_text(Text((edge,)), cut, size).pieces, *text.pieces[1:]))
    return None


def substitute(
    text: Text, operator: str, pattern: Characters | None, replacement: Text, shown: str, span: Span
) -> Text:
    """`/`, `//`, `/#`, `/%`."""
    value, by = text.value, replacement.value
    if pattern is None or value is None or len(value) > MAXIMUM_LENGTH:
        return forget((text, replacement), shown, span)
    if not "".join(stretch for stretch, _ in pattern):
        if operator in ("/#", "/%"):
            return replacement.joined(text) if operator == "/#" else text.joined(replacement)
        return text
    expression = translate(pattern)
    if expression is None or compile_pattern(pattern) is None or not is_cheap(expression, len(value)):
        return forget((text,), shown, span)
    anchored = {"/#": r"\A(?:%s)", "/%": r"(?:%s)\Z"}.get(operator, "(?:%s)") % expression
    out: list[Text] = []
    at = 0
    for found in re.compile(anchored, re.S).finditer(value):
        start, end = found.span()
        if operator == "//" and start == end:
            continue
        out += [slice_text(text, at, start), replacement]
        at = end
        if operator != "//":
            break
    if not out:
        return text
    out.append(slice_text(text, at, len(value)))
    if by is not None and len(by) * len(out) > MAXIMUM_LENGTH:
        return forget((), shown, span)
    return assume(EMPTY.joined(*out), (text,))


def change_letters(text: Text, operator: str, pattern: Characters | None, shown: str, span: Span) -> Text:
    """`^`, `^^`, `,`, `,,`."""
    value = text.value
    if value is None or (pattern is None):
        return forget((text,), shown, span)
    matcher = compile_pattern(pattern) if pattern and pattern != (("", False),) else None

    def change(character: str) -> str:
        if matcher is not None and not matcher.fullmatch(character):
            return character
        return character.upper() if operator[0] == "^" else character.lower()

    changed = (
        "".join(change(c) for c in value)
        if len(operator) == 2
        else change(value[0]) + value[1:]
        if value
        else ""
    )
    return text if changed == value else rewrite(changed, text, span)


def quote(value: str) -> str:
    """A word that bash reads back as the value: `${x@Q}`."""
    if any(ord(c) < 32 or ord(c) == 127 for c in value):
        inner = "".join(
            {"\n": "\\n", "\t": "\\t", "\\": "\\\\", "'": "\\'", "\r": "\\r", "\x1b": "\\E"}.get(
                c, c if ord(c) >= 32 and ord(c) != 127 else f"\\{ord(c):03o}"
            )
            for c in value
        )
        return f"$'{inner}'"
    return "'" + value.replace("'", "'\\''") + "'"


def printf_quote(value: str) -> str:
    """`printf %q`."""
    if not value:
        return "''"
    if any(ord(c) < 32 or ord(c) == 127 for c in value):
        return quote(value)
    out = re.sub(r"([^A-Za-z0-9_@%+=:,./\-\x80-\U0010ffff])", r"\\\1", value)
    return "\\" + out if out[0] in "~#" and not out.startswith("\\") else out


def transform(text: Text, letter: str, shown: str, span: Span) -> Text:
    """`${x@U}` and its like."""
    value = text.value
    if value is None:
        return forget((text,), shown, span)
    if letter == "Q":
        return rewrite(quote(value), text, span)
    if letter == "U":
        return rewrite(value.upper(), text, span)
    if letter == "L":
        return rewrite(value.lower(), text, span)
    if letter == "u":
        return rewrite(value[:1].upper() + value[1:], text, span)
    if letter == "E":
        from preflight.shell.escapes import unescape

        return rewrite(unescape(value), text, span)
    if letter == "P" and "\\" not in value:
        return text
    return forget((), shown, span)
