"""Mistakes that only the layout of a script shows.

In: the statements of one source.  Out: neutral remarks: flags that a missing backslash cut off, blanks behind a
backslash, comments inside a continued command, assignments that are none, line ends of Windows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from preflight.execution import Related, Remark
from preflight.patterns import pattern
from preflight.shell.lexer import DECLARATIONS
from preflight.shell.parts import Arithmetic, Assignment, Literal, Parameter, Simple, Substitution, Token
from preflight.shell.statements import (
    Background,
    Both,
    Broken,
    Function,
    Group,
    Negation,
    Pipeline,
    Redirected,
    Statement,
    Subshell,
)
from preflight.shell.syntax import Syntax
from preflight.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FLAG = pattern(r"--?[A-Za-z]|[+~]{0,2}[A-Za-z_]\w*(?:\.\w+)+=")
"""A flag, or an override in the manner of Hydra (`model.size=8`), which is no assignment of bash's."""
_BETWEEN = pattern(rb"[ \t]*\r?\n[ \t]*")
_BLANK_BEHIND = pattern(rb"\\[ \t]+(?:#[^\n]*)?\r?(?:\n|$)")
_LINE_REST = pattern(rb"[ \t]*(#[^\n]*)?\r?(?=\n|$)")
_LIST = pattern(
    rb"(?:^|[ \t])(--[a-z][\w-]*)[ \t]+(\([\[\d(][\d\[\]()*+, \t]*\))(?=[ \t\r\n)\\]|$)", re.MULTILINE
)
"""A list of numbers in parentheses behind a flag."""
_SUMS = pattern(rb"(?:\$\(|`)\s*[\w${}]+\s*[*+%/-]\s*[\w${}]+\s*(?:[*+%/-]|[)`])")
_SUM = pattern(r"[\w${}]+(?:\s*[*+%/-]\s*[\w${}]+)+")
_OPERAND = pattern(r"\d+\s*[*+%/-]|[\w${}]+[*%+]")
"""The first word of a sum, where it can be no command's name."""
_FRACTIONS = pattern(rb"\$\(\([^\n]*?(?<![\w.])\d*\.\d")
_COMPUTING = pattern(rb"#![^\n]*\b[zk]sh(?:93)?\b")
"""First lines of shells that compute with fractions."""
_FRACTION = pattern(r"(?<![\w.$}])\d*\.\d+(?![\w.])")
_BRACES = pattern(r"\$\{[^}]*\}")
_BRACKETS = pattern(rb"<[A-Za-z_][\w ./-]*>")
MAXIMUM_DEPTH = 60


def find_layout(syntax: Syntax) -> list[Remark]:
    """The remarks on one source."""
    out: list[Remark] = []
    data = syntax.source.data
    _carriage_returns(syntax, out)
    for block in blocks(syntax.block(0, len(data))):
        previous: Statement | None = None
        for statement in block:
            if isinstance(statement, Broken):
                _parenthesis(syntax, statement, out)
            first = first_simple(statement)
            if first is not None and previous is not None:
                _orphans(syntax, previous, first, out)
            for command in simple_commands(statement):
                _slips(syntax, command, out)
                _placeholders(syntax, command, out)
            previous = statement
    fractions = _FRACTIONS.search(data) is not None and _COMPUTING.match(data) is None
    if _BLANK_BEHIND.search(data) or _SUMS.search(data) or fractions:
        for token in tokens(syntax.block(0, len(data)), 0):
            _blank(syntax, token, out)
            _arithmetic(syntax, token, out)
            if fractions:
                _fraction(syntax, token, out)
    return out


def blocks(node: Any, depth: int = 0) -> Iterator[tuple[Statement, ...]]:
    """Every block of statements, from the outside in."""
    if depth > MAXIMUM_DEPTH or not isinstance(node, tuple):
        return
    if node and type(node) is tuple and isinstance(node[0], _STATEMENTS):
        yield node
    if isinstance(node, (Simple, Token)):
        return
    for part in node:
        if isinstance(part, tuple):
            yield from blocks(part, depth + 1)


_STATEMENTS = (Simple, Both, Pipeline, Background, Redirected, Group, Subshell, Negation, Function)


def tokens(node: Any, depth: int) -> Iterator[Token]:
    """Every word of the statements."""
    if isinstance(node, Token):
        yield node
    elif depth < MAXIMUM_DEPTH and isinstance(node, tuple):
        for part in node:
            if isinstance(part, tuple):
                yield from tokens(part, depth + 1)


def simple_commands(statement: Statement) -> Iterator[Simple]:
    """The simple commands of a list or pipeline, not of what they contain."""
    if isinstance(statement, Simple):
        yield statement
    elif isinstance(statement, Both):
        yield from simple_commands(statement.left)
        yield from simple_commands(statement.right)
    elif isinstance(statement, Pipeline):
        for stage in statement.stages:
            yield from simple_commands(stage)
    elif isinstance(statement, (Background, Redirected, Negation)):
        yield from simple_commands(statement.body)


def first_simple(statement: Statement) -> Simple | None:
    return next(simple_commands(statement), None)


def last_simple(statement: Statement) -> Simple | None:
    found = None
    for found in simple_commands(statement):  # noqa: B007
        pass
    return found


def head(syntax: Syntax, command: Simple) -> str:
    """How a command is called, for people."""
    if command.arguments:
        first = command.arguments[0]
        return syntax.source.span(first.start, first.end).text[:60]
    return command.assignments[-1].name if command.assignments else ""


def _orphans(syntax: Syntax, before: Statement, command: Simple, out: list[Remark]) -> None:
    """A command that begins with a flag, behind a command that it belonged to."""
    first = command.arguments[0] if command.arguments and not command.assignments else None
    last = last_simple(before)
    if not isinstance(first, Token) or last is None or not first.parts:
        return
    text = syntax.source.span(first.start, first.end).text
    if not _FLAG.match(text) or not (last.arguments or last.assignments):
        return
    data = syntax.source.data
    between = data[last.end : command.start]
    flags = [
        argument
        for argument in command.arguments
        if _FLAG.match(syntax.source.span(argument.start, argument.end).text)
    ]
    lost = syntax.source.span(first.start, command.end)
    values = {"flag": text, "count": len(flags), "command": head(syntax, last)}
    related: tuple[Related, ...] = (
        Related(
            syntax.source.span(last.start, last.start + len(head(syntax, last).encode())),
            "the command ends before",
        ),
    )
    final = last.arguments[-1] if last.arguments else None
    if isinstance(final, Token) and _is_blank(syntax, final):
        return
    if isinstance(final, Token):
        end = syntax.source.span(final.start, final.end)
        related = (*related, Related(end, f"no backslash behind {end.text[:60]}"))
    if b"#" in between:
        comment = data.index(b"#", last.end)
        newline = data.find(b"\n", comment)
        place = syntax.source.span(comment, newline if newline > 0 else len(data))
        line = data.rfind(b"\n", 0, comment) + 1
        edits: tuple[tuple[Span, str], ...] = ()
        if not data[line:comment].strip() and newline > 0:
            edits = ((syntax.source.span(line, newline + 1), ""),)
            inner = data[newline + 1 : command.start]
            if inner.strip():
                edits = ()
        out.append(
            Remark(
                "comment-in-command", place, values, (*related, Related(lost, "these flags are lost")), edits
            )
        )
        return
    mend: tuple[tuple[Span, str], ...] = ()
    if _BETWEEN.fullmatch(between):
        mend = ((syntax.source.span(last.end, last.end), " \\"),)
    out.append(Remark("orphaned-flags", lost, values, related, mend))


def _is_blank(syntax: Syntax, token: Token) -> bool:
    """A backslash followed by blanks at the end of a line."""
    part = token.parts[-1] if token.parts else None
    if (
        not isinstance(part, Literal)
        or not part.quoted
        or part.text not in (" ", "\t")
        or part.end - part.start != 2
    ):
        return False
    return _LINE_REST.match(syntax.source.data, part.end) is not None


def _blank(syntax: Syntax, token: Token, out: list[Remark]) -> None:
    if not _is_blank(syntax, token):
        return
    data, start = syntax.source.data, token.parts[-1].start
    rest = _LINE_REST.match(data, start + 2)
    end = rest.end() if rest else start + 2
    newline = data.find(b"\n", end)
    stop = data.find(b"\n", newline + 1)
    following = data[newline + 1 : stop if stop > 0 else len(data)].decode("utf-8", "replace").strip()
    comment = bool(rest and rest[1])
    edits: tuple[tuple[Span, str], ...] = ()
    if not comment:
        edits = ((syntax.source.span(start + 1, end), ""),)
    values = {"next": following.rstrip("\\").strip()[:60], "comment": comment}
    out.append(Remark("blank-after-backslash", syntax.source.span(start, end), values, (), edits))


def _arithmetic(syntax: Syntax, token: Token, out: list[Remark]) -> None:
    """`$(8 * 2)` and `$(TP*PP)`: a command of that name is looked for, and nothing is computed."""
    for part in token.parts:
        if not isinstance(part, Substitution) or part.kind not in ("$", "`"):
            continue
        inside = syntax.source.span(*part.inside).text.strip()
        if _SUM.fullmatch(inside) and _OPERAND.match(inside):
            span = syntax.source.span(part.start, part.end)
            meant = f"$(({inside}))"
            out.append(
                Remark("arithmetic-slip", span, {"name": inside, "meant": meant}, (), ((span, meant),))
            )


def _fraction(syntax: Syntax, token: Token, out: list[Remark]) -> None:
    """`$((ITERS * 0.1))`: bash computes with whole numbers only, and gives the command up."""
    for part in token.parts:
        if not isinstance(part, Arithmetic):
            continue
        inside = syntax.source.span(*part.inside).text.strip()
        found = _FRACTION.search(_BRACES.sub("", inside))
        if found is not None and not set(inside) & set("`\"'") and "$(" not in inside:
            span = syntax.source.span(part.start, part.end)
            out.append(Remark("fraction-in-arithmetic", span, {"sum": inside, "number": found.group()}))


def _parenthesis(syntax: Syntax, broken: Broken, out: list[Remark]) -> None:
    """`--moe-layer-freq ([0]*3+[1]*58)` without quotes: bash stops reading the script there."""
    data = syntax.source.data
    found = _LIST.search(data, broken.start, broken.end)
    if found is None:
        return
    before = data[broken.start : found.start()]
    if before.count(b'"') % 2 or before.count(b"'") % 2:
        return
    flag = found[1].decode()
    span = syntax.source.span(found.start(2), found.end(2))
    edits = ((span, f"'{span.text}'"),)
    out.append(Remark("unquoted-parenthesis", span, {"flag": flag, "value": span.text}, (), edits))


def _placeholders(syntax: Syntax, command: Simple, out: list[Remark]) -> None:
    """`--load <path> --save`: bash takes the brackets for redirections."""
    source = syntax.source
    flags = [argument for argument in command.arguments if source.data.startswith(b"--", argument.start)]
    for redirect in command.redirects:
        found = _BRACKETS.match(source.data, redirect.start)
        if found and any(source.data[flag.end : redirect.start].isspace() for flag in flags):
            span = source.span(*found.span())
            out.append(Remark("placeholder", span, {"placeholder": span.text, "bare": True}))


def _slips(syntax: Syntax, command: Simple, out: list[Remark]) -> None:
    """`TP = 8`, `TP =8`, `TP= 8`, `export TP = 8` and `$TP=8`."""
    arguments = [argument for argument in command.arguments if isinstance(argument, Token)]
    if not arguments or len(arguments) < len(command.arguments):
        return
    source = syntax.source
    declared = arguments[0].plain in DECLARATIONS and len(arguments) > 2
    arguments = arguments[1:] if declared else arguments
    first = arguments[0]
    name = meant = ""
    end = first.end
    if len(arguments) in (2, 3) and not command.assignments and arguments[1].plain == "=":
        name, end = first.plain or "", arguments[-1].end
        value = source.span(arguments[2].start, arguments[2].end).text if len(arguments) == 3 else ""
        meant = f"{name}={value}"
    elif len(arguments) == 2 and not command.assignments and _is_value(arguments[1]):
        name, end = first.plain or "", arguments[1].end
        meant = name + source.span(arguments[1].start, end).text
    elif command.assignments and len(arguments) == 1 and _is_empty(command.assignments[-1]):
        last = command.assignments[-1]
        if not re.fullmatch(r"\d+", first.plain or "") or first.start == last.end:
            return
        name, meant = last.name, f"{last.name}={first.plain}"
        span = source.span(last.start, first.end)
        out.append(Remark("assignment-slip", span, {"name": name, "meant": meant}, (), ((span, meant),)))
        return
    elif not command.assignments and len(arguments) == 1 and len(first.parts) > 1:
        parameter, literal = first.parts[0], first.parts[1]
        if isinstance(parameter, Parameter) and isinstance(literal, Literal) and not parameter.operator:
            if literal.quoted or not literal.text.startswith("=") or not parameter.name.isidentifier():
                return
            name = parameter.name
            meant = name + source.span(literal.start, first.end).text
    if re.fullmatch(r"[A-Za-z_]\w*", name):
        span = source.span(first.start, end)
        out.append(Remark("assignment-slip", span, {"name": name, "meant": meant}, (), ((span, meant),)))


def _is_value(token: Token) -> bool:
    """`=8`, as no command takes it."""
    return re.fullmatch(r"=[^=~].*", token.plain or "") is not None


def _is_empty(assignment: Assignment) -> bool:
    return assignment.elements is None and assignment.value is not None and not assignment.value.parts


def _carriage_returns(syntax: Syntax, out: list[Remark]) -> None:
    data = syntax.source.data
    count = data.count(b"\r\n")
    if not count:
        return
    at = data.index(b"\r\n")
    values = {"count": count, "lines": max(data.count(b"\n"), 1)}
    out.append(Remark("carriage-return", syntax.source.span(at, at + 1), values))
