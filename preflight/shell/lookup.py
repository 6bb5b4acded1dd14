"""Reading and writing variables: special parameters, the environment, arrays, attributes.

In: a name and the expansion that asks.  Out: a text (known or not), or None for known to be unset.
"""

from __future__ import annotations

import os

from preflight.shell.pieces import EMPTY, forget, rewrite
from preflight.shell.state import Array, Element, Variable
from preflight.source import Span
from preflight.values import Piece, Reason, Text, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from preflight.shell.expand import Expansion

_NODE = frozenset(("HOSTNAME", "UID", "EUID", "GROUPS", "OSTYPE", "HOSTTYPE", "MACHTYPE", "COLUMNS", "LINES"))
_CHANGING = frozenset(
    (
        "RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME", "BASHPID", "PPID", "LINENO", "SHLVL",
        "BASH_VERSION", "BASH_VERSINFO", "PIPESTATUS", "SHELLOPTS", "BASHOPTS", "DIRSTACK", "BASH", "BASH_COMMAND",
        "BASH_SUBSHELL", "BASH_LINENO", "_", "COMP_WORDBREAKS",
    )
)  # fmt: skip
_ALWAYS_SET = frozenset(("HOME", "PATH", "SHELL", "TERM", "PS4"))
IS_SPECIAL = _NODE | _CHANGING | {"PWD", "OLDPWD", "BASH_SOURCE", "FUNCNAME"}
"""Names that do not just stand for what was assigned to them."""


def read(expansion: Expansion, name: str, shown: str, span: Span) -> tuple[Text | None, bool]:
    """A scalar, and whether it is unknown only because the caller may set it."""
    state = expansion.state
    variable = state.variables.get(name)
    if variable is not None:
        if variable.reference:
            return read(expansion, variable.reference, shown, span)
        if isinstance(variable.value, dict) and not variable.associative and variable.scalar is None:
            if any(e.many for e in variable.value.values()):
                return forget((next(iter(variable.value.values())).text,), shown, span), False
            return None, False
        return variable.scalar, False
    if not (name[0].isalpha() or name[0] == "_"):
        return _special(expansion, name, shown, span)
    special = _named(expansion, name, shown, span)
    if special is not None:
        return special, False
    return absent(expansion, name, shown, span)


def absent(expansion: Expansion, name: str, shown: str, span: Span) -> tuple[Text | None, bool]:
    """A variable that the script has not set."""
    state = expansion.state
    if expansion.evaluator.context.closed_environment and name not in _ALWAYS_SET:
        if state.missing is not None:
            return Text.missing(Unknown(state.missing.reason, shown, name), span), False
        return None, False
    if state.missing is not None:
        return Text.missing(Unknown(state.missing.reason, shown, name), span), False
    return Text.missing(Unknown("environment", f"${name}", name), span), True


def _special(expansion: Expansion, name: str, shown: str, span: Span) -> tuple[Text | None, bool]:
    state = expansion.state
    if name.isdigit():
        number = int(name[:9])
        if number == 0:
            return state.zero, False
        return positional(expansion, number, shown, span)
    if name == "#":
        if state.arguments.certain:
            return Text((Piece(str(len(state.arguments.items)), span),)), False
        return Text.missing(Unknown("positional", shown, "#"), span), False
    if name == "?":
        if state.status is not None:
            return Text((Piece(str(state.status), span),)), False
        return Text.missing(Unknown("command", shown), span), False
    return Text.missing(Unknown("command", shown), span), False


def positional(expansion: Expansion, number: int, shown: str, span: Span) -> tuple[Text | None, bool]:
    """A positional argument."""
    arguments = expansion.state.arguments
    before = arguments.items[:number]
    if any(item is not None and item.many for item in before):
        first = next(item for item in before if item is not None and item.many)
        return forget((first.text,), shown, span), False
    if number <= len(arguments.items):
        item = arguments.items[number - 1]
        if item is not None:
            return item.text, False
    elif not arguments.open:
        return None, False
    original = str(number + arguments.base)
    return Text.missing(Unknown("positional", f"${original}", original), span), True


def _named(expansion: Expansion, name: str, shown: str, span: Span) -> Text | None:
    state = expansion.state
    if name == "PWD":
        return state.directory if state.directory is not None else Text.missing(Unknown("node", shown), span)
    if name == "BASH_SOURCE":
        return Text((Piece(state.stack[-1][1], span),)) if state.stack else EMPTY
    if name == "FUNCNAME":
        return Text((Piece(state.stack[-1][0], span),)) if state.stack and state.stack[-1][0] else None
    reason: Reason | None = "node" if name in _NODE else "command" if name in _CHANGING else None
    return Text.missing(Unknown(reason, shown), span) if reason else None


def read_element(expansion: Expansion, name: str, key: Text, shown: str, span: Span) -> Text | None:
    """`${name[key]}`; None for unset (or not an array of the script)."""
    state = expansion.state
    variable = state.variables.get(name)
    if variable is not None and variable.reference:
        return read_element(expansion, variable.reference, key, shown, span)
    if variable is None:
        return _unassigned_element(expansion, name, key, shown, span)
    index = subscript(expansion, variable, key)
    if index is None:
        return forget((key,), shown, span)
    if not isinstance(variable.value, dict):
        if variable.associative and variable.value is not None and not variable.value.known:
            return forget((variable.value,), shown, span)
        return variable.value if index in (0, "0") else None
    items = variable.value
    if not variable.associative:
        if index < 0:
            if any(e.many for e in items.values()):
                return forget((next(e.text for e in items.values() if e.many),), shown, span)
            index += max(items, default=-1) + 1
        doubtful = [k for k, e in items.items() if e.many and k <= index]
        if doubtful:
            return forget((items[doubtful[0]].text,), shown, span)
    element = items.get(index)
    return element.text if element is not None else None


def _unassigned_element(expansion: Expansion, name: str, key: Text, shown: str, span: Span) -> Text | None:
    stack = expansion.state.stack
    if name in ("BASH_SOURCE", "FUNCNAME", "BASH_LINENO"):
        value, _ = expansion.calculate(key)
        column = 1 if name == "BASH_SOURCE" else 0
        if value is None or name == "BASH_LINENO":
            return Text.missing(Unknown("command", shown), span)
        if 0 <= value < len(stack):
            found = stack[-1 - value][column] or "main"
            return Text((Piece(found, span),))
        if value == -1 and stack:
            return Text((Piece(stack[0][column] or "main", span),))
        return None
    if name in _CHANGING or name in _NODE:
        return Text.missing(Unknown("command", shown), span)
    return None


def read_absent_element(expansion: Expansion, name: str, shown: str, span: Span) -> tuple[Text | None, bool]:
    """An element of a variable that the script never made an array: only its element 0 may be set."""
    if name in expansion.state.variables or name in ("BASH_SOURCE", "FUNCNAME"):
        return None, False
    return absent(expansion, name, shown, span)


def subscript(expansion: Expansion, variable: Variable | None, key: Text) -> Any:
    """An array index: a number, or a string for associative arrays; None where unknown."""
    if variable is not None and variable.associative:
        return key.value
    value, _ = expansion.calculate(key)
    return value


def elements(expansion: Expansion, name: str) -> list[Element] | None:
    """All elements of `name[@]` or of the positional arguments; None where not even a list is known."""
    state = expansion.state
    if name in ("@", "*"):
        arguments = state.arguments
        if arguments.open or None in arguments.items:
            known = [item for item in arguments.items if item is not None]
            if len(known) != len(arguments.items) or not known:
                return None
            source = expansion.source
            span = Span(source, 0, 0)
            rest = Text.missing(Unknown("positional", '"$@"'), span)
            return [*known, Element(rest, known[-1].span, True)]
        return [item for item in arguments.items if item is not None]
    variable = state.variables.get(name)
    if variable is None:
        if name == "BASH_SOURCE":
            span = Span(expansion.source, 0, 0)
            return [Element(Text((Piece(path, span),)), span) for _, path in reversed(state.stack)]
        if name in ("FUNCNAME", "BASH_LINENO", "PIPESTATUS", "DIRSTACK", "GROUPS"):
            return None
        span = Span(expansion.source, 0, 0)
        text, _ = absent(expansion, name, f"${name}", span)
        many = (
            state.missing is not None
        )  # the file that was not read may make it an array; the environment cannot
        return [] if text is None else [Element(text, span, many)]
    if variable.reference:
        return elements(expansion, variable.reference)
    if isinstance(variable.value, dict):
        if variable.associative:
            return (
                list(_associative_order(variable.value))
                if len(variable.value) < 2
                else _unordered(variable.value)
            )
        return [variable.value[key] for key in sorted(variable.value)]
    if variable.value is None:
        return []
    return [Element(variable.value, _span_of(variable.value, expansion))]


def _unordered(items: Array) -> list[Element] | None:
    """The order of an associative array is bash's hash order."""
    from preflight.shell.hashing import hash_order

    return [items[key] for key in hash_order(list(items))]


def _associative_order(items: Array) -> list[Element]:
    return list(items.values())


def _span_of(text: Text, expansion: Expansion) -> Span:
    return text.pieces[0].span if text.pieces else Span(expansion.source, 0, 0)


def keys(expansion: Expansion, name: str) -> list[Any] | None:
    variable = expansion.state.variables.get(name)
    if variable is None or variable.value is None:
        return [] if variable is not None or expansion.evaluator.context.closed_environment else None
    if variable.associative and not isinstance(variable.value, dict):
        return ["0"] if variable.value.known else None
    if isinstance(variable.value, dict):
        if variable.associative:
            from preflight.shell.hashing import hash_order

            return hash_order(list(variable.value))
        if any(e.many for e in variable.value.values()):
            return None
        return sorted(variable.value)
    return [0]


# -------------------------------------------------------------------- writing


def assign(
    expansion: Expansion,
    name: str,
    key: Text | None,
    value: Text,
    span: Span,
    *,
    append: bool = False,
    exported: bool = False,
) -> None:
    """`name=value`, `name[key]=value`, `name+=value`."""
    state = expansion.state
    old = state.variables.get(name)
    if old is not None and old.reference:
        assign(expansion, old.reference, key, value, span, append=append, exported=exported)
        return
    if old is not None and old.readonly:
        return
    if key is not None or (old is not None and isinstance(old.value, dict)):
        _assign_element(expansion, name, key, value, span, append)
        return
    known = old if old is not None else Variable(None, exported=_inherited(expansion, name))
    if append:
        before, _ = read(expansion, name, f"${name}", span)
        if known.integer:
            value = _sum(expansion, before or EMPTY, value, span)
        elif before is not None:
            value = before.joined(value)
    elif known.integer:
        value = _sum(expansion, EMPTY, value, span)
    exported = exported or known.exported
    if known[2:] == _PLAIN:
        state.put(name, expansion.evaluator.memory.variable(value, exported, state))
    else:
        state.put(name, known._replace(value=_lettered(known, value, span), exported=exported))


_PLAIN = Variable(None)[2:]
"""A variable that no declaration gave attributes."""


def _inherited(expansion: Expansion, name: str) -> bool:
    """`export NAME` before the assignment, or `set -a`."""
    return "a" in expansion.state.options or ("export", name) in expansion.state.facts


def _lettered(variable: Variable, value: Text, span: Span) -> Text:
    if not variable.letters:
        return value
    text = value.value
    if text is None:
        return forget((value,), value.display(), span)
    return rewrite(text.upper() if variable.letters == "u" else text.lower(), value, span)


def _sum(expansion: Expansion, before: Text, value: Text, span: Span) -> Text:
    left, _ = expansion.calculate(before)
    right, used = expansion.calculate(value)
    if left is None or right is None:
        return forget((before, value, *used), value.display(), span)
    return rewrite(str(left + right), value, span)


def _assign_element(
    expansion: Expansion, name: str, key: Text | None, value: Text, span: Span, append: bool
) -> None:
    state = expansion.state
    old = state.variables.get(name) or Variable(None)
    items: Array = dict(old.value) if isinstance(old.value, dict) else {}
    index: Any = "0" if old.associative else 0
    if isinstance(old.value, Text):
        if old.associative and not old.value.known:
            return
        items[index] = Element(old.value, span)
    if key is not None:
        index = subscript(expansion, old, key)
    if index is None:
        unknown = Unknown("branches", f"${{{name}[@]}}")
        state.put(name, old._replace(value=Text.missing(unknown, span)))
        return
    if not old.associative:
        if index < 0:
            index += max(items, default=-1) + 1
        if index < 0 or any(e.many and k <= index for k, e in items.items()):
            state.put(name, old._replace(value=Text.missing(Unknown("branches", f"${{{name}[@]}}"), span)))
            return
    before = items.get(index)
    if append and before is not None:
        value = _sum(expansion, before.text, value, span) if old.integer else before.text.joined(value)
    elif old.integer:
        value = _sum(expansion, EMPTY, value, span)
    items[index] = Element(_lettered(old, value, span), span)
    state.put(name, old._replace(value=items))


def assign_array(
    expansion: Expansion,
    name: str,
    found: list[tuple[Text | None, bool, Element]],
    span: Span,
    *,
    append: bool = False,
    associative: bool = False,
) -> None:
    """`name=(...)`, with (subscript, append, element) for each."""
    state = expansion.state
    old = state.variables.get(name) or Variable(None)
    if old.readonly:
        return
    if old.reference:
        assign_array(expansion, old.reference, found, span, append=append, associative=associative)
        return
    old = old._replace(associative=old.associative or associative)
    items: Array = {}
    if append and isinstance(old.value, dict):
        items = dict(old.value)
    elif append and isinstance(old.value, Text):
        if not old.value.known and "[@]" in old.value.display():
            return
        items[0] = Element(old.value, _span_of(old.value, expansion))
    state.put(name, old._replace(value=items))
    if old.associative and found and all(key is None for key, _, _ in found):
        pairs = [element for _, _, element in found]
        for number in range(0, len(pairs), 2):
            word = pairs[number].text.value
            if word is None or pairs[number].many:
                state.put(
                    name, old._replace(value=Text.missing(Unknown("branches", f"${{{name}[@]}}"), span))
                )
                return
            items[word] = pairs[number + 1] if number + 1 < len(pairs) else Element(EMPTY, span)
        return
    at = max(items, default=-1) + 1 if not old.associative else 0
    for key, added, element in found:
        index: Any = at if key is None else subscript(expansion, old, key)
        if index is None or (isinstance(index, int) and index < 0 and not old.associative):
            state.put(name, old._replace(value=Text.missing(Unknown("branches", f"${{{name}[@]}}"), span)))
            return
        text = element.text
        if added and index in items:
            text = items[index].text.joined(text)
        if old.integer:
            text = _sum(expansion, EMPTY, text, span)
        items[index] = Element(_lettered(old, text, span), element.span, element.many)
        if not old.associative:
            at = index + 1


def normal_path(path: str) -> str:
    """A path as `cd` and `pwd` write it."""
    normal = os.path.normpath(path)
    return normal[1:] if normal.startswith("//") else normal
