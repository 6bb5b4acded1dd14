"""Which variables a stretch of script may assign.

In: statements.  Out: names; `@` stands for the positional arguments.  Used where a loop runs an unknown number
of times: all of these are then unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

from preflight.patterns import pattern
from preflight.shell.parts import Assignment, Parameter, Simple, Token
from preflight.shell.statements import Compute, Count, For
from preflight.shell.syntax import Syntax

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_READERS = frozenset(("read", "mapfile", "readarray", "getopts", "unset", "let", "printf"))
_WORDS = pattern(r"[A-Za-z_]\w*")
_WRITES = pattern(
    rb"([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*(?:[-+*/%&|^]?=(?!=)|<<=|>>=|\+\+|--)|(?:\+\+|--)([A-Za-z_]\w*)"
)


Summary = tuple[frozenset[str], frozenset[str]]
"""The names that a node assigns, and those of the commands that it runs."""


def assigned_names(body: Any, syntax: Syntax, functions: Mapping[str, Any]) -> set[str]:
    """The names that statements assign, calls of functions included."""
    found: set[str] = set()
    waiting: list[tuple[Any, Syntax]] = [(body, syntax)]
    called: set[str] = set()
    while waiting:
        node, inside = waiting.pop()
        names, commands = summarise(node, inside)
        found |= names
        for name in commands:
            if name in functions and name not in called:
                called.add(name)
                function, inner = functions[name]
                waiting.append((function.body, inner))
    return found


def summarise(node: Any, syntax: Syntax) -> Summary:
    """What a node assigns by itself, and the commands that it runs; kept, since loops in loops ask again and again."""
    kept = syntax.summaries.get(id(node))
    if kept is not None and kept[0] is node:
        return kept[1]
    names: set[str] = set()
    commands: set[str] = set()
    if isinstance(node, Assignment):
        names.add(node.name)
    else:
        _note(node, syntax, names, commands)
        for part in node:
            if isinstance(part, tuple) and part:
                more, others = summarise(part, syntax)
                names |= more
                commands |= others
    summary = (frozenset(names), frozenset(commands))
    if type(node) is not tuple:
        syntax.summaries[id(node)] = (node, summary)
    return summary


def _note(node: Any, syntax: Syntax, names: set[str], commands: set[str]) -> None:
    if isinstance(node, Simple):
        _command(node, syntax, names, commands)
    elif isinstance(node, For):
        names.add(node.name)
    elif isinstance(node, (Compute, Count)):
        low, high = node.inside if isinstance(node, Compute) else (node.header[0][0], node.header[2][1])
        for one, two in _WRITES.findall(syntax.source.data[low:high]):
            names.add((one or two).decode())
    elif isinstance(node, Parameter) and node.operator in ("=", ":="):
        names.add(node.name)


def _command(node: Simple, syntax: Syntax, names: set[str], commands: set[str]) -> None:
    words = [argument for argument in node.arguments if isinstance(argument, Token)]
    name = words[0].plain if words else None
    if name is None:
        return
    if name in ("shift", "set"):
        names.add("@")
    elif name in _READERS:
        for word in words[1:]:
            text = word.plain or syntax.source.data[word.start : word.end].decode("utf-8", "replace")
            names.update(_WORDS.findall(text))
        if name == "read":
            names.add("REPLY")
        if name == "getopts":
            names.update(("OPTARG", "OPTIND"))
    elif name in ("eval", "source", "."):
        data = syntax.source.data[node.start : node.end]
        for one, two in _WRITES.findall(data):
            names.add((one or two).decode())
    else:
        commands.add(name)
