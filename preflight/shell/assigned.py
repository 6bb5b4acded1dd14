"""Which variables a stretch of script may assign.

In: statements.  Out: names; `@` stands for the positional arguments.  Used where a loop runs an unknown number
of times: all of these are then unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from preflight.patterns import pattern
from preflight.shell.parts import Assignment, Parameter, Simple, Token
from preflight.shell.statements import Compute, Count, For
from preflight.shell.syntax import Syntax

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_READERS = frozenset(("read", "mapfile", "readarray", "getopts", "unset", "let", "printf"))
_WRITES = pattern(
    rb"([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*(?:[-+*/%&|^]?=(?!=)|<<=|>>=|\+\+|--)|(?:\+\+|--)([A-Za-z_]\w*)"
)


def assigned_names(body: Any, syntax: Syntax, functions: Mapping[str, Any]) -> set[str]:
    """The names that statements assign, calls of functions included."""
    found: set[str] = set()
    _walk(body, syntax, functions, found, set())
    return found


def _walk(node: Any, syntax: Syntax, functions: Mapping[str, Any], found: set[str], calls: set[str]) -> None:
    if isinstance(node, Assignment):
        found.add(node.name)
        return
    if isinstance(node, Simple):
        _command(node, syntax, functions, found, calls)
    elif isinstance(node, For):
        found.add(node.name)
    elif isinstance(node, (Compute, Count)):
        low, high = node.inside if isinstance(node, Compute) else (node.header[0][0], node.header[2][1])
        for one, two in _WRITES.findall(syntax.source.data[low:high]):
            found.add((one or two).decode())
    elif isinstance(node, Parameter) and node.operator in ("=", ":="):
        found.add(node.name)
    if isinstance(node, tuple):
        for part in node:
            if isinstance(part, tuple):
                _walk(part, syntax, functions, found, calls)


def _command(
    node: Simple, syntax: Syntax, functions: Mapping[str, Any], found: set[str], calls: set[str]
) -> None:
    words = [argument for argument in node.arguments if isinstance(argument, Token)]
    name = words[0].plain if words else None
    if name is None:
        return
    if name in ("shift", "set"):
        found.add("@")
    elif name in _READERS:
        for word in words[1:]:
            text = word.plain or syntax.source.data[word.start : word.end].decode("utf-8", "replace")
            for one in re.findall(r"[A-Za-z_]\w*", text):
                found.add(one)
        if name == "read":
            found.add("REPLY")
        if name == "getopts":
            found.update(("OPTARG", "OPTIND"))
    elif name in ("eval", "source", "."):
        data = syntax.source.data[node.start : node.end]
        for one, two in _WRITES.findall(data):
            found.add((one or two).decode())
    elif name in functions and name not in calls:
        calls.add(name)
        function, inner = functions[name]
        _walk(function.body, inner, functions, found, calls)
