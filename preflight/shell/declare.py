"""Assignments and declarations: `name=value`, `name=(...)`, `declare`, `local`, `export`, `readonly`, `unset`.

In: an assignment as written, or a declaration with its words.  Out: the variables of the state.
"""

from __future__ import annotations

import re

from preflight.execution import Word
from preflight.shell import lookup
from preflight.shell.call import Call
from preflight.shell.expand import Expansion
from preflight.shell.parts import Assignment, Simple, Token
from preflight.shell.pieces import slice_text
from preflight.shell.state import Element, Variable
from preflight.source import Span
from preflight.values import Piece, Text


def apply_assignment(expansion: Expansion, assignment: Assignment, *, exported: bool = False) -> None:
    """`name=value` in front of a command or alone."""
    state = expansion.state
    span = Span(expansion.source, assignment.start, assignment.end)
    if assignment.elements is not None:
        memory = expansion.evaluator.memory
        found = memory.recall(
            assignment, expansion.syntax, state, lambda: array_elements(expansion, assignment)
        )
        lookup.assign_array(expansion, assignment.name, found, span, append=assignment.append)
        return
    assert assignment.value is not None
    written = assignment.value
    value: Text = expansion.evaluator.memory.recall(
        assignment, expansion.syntax, state, lambda: expansion.single(written, assignment=True)
    )
    key = expansion.subscript(assignment.subscript) if assignment.subscript is not None else None
    lookup.assign(expansion, assignment.name, key, value, span, append=assignment.append, exported=exported)


def array_elements(expansion: Expansion, assignment: Assignment) -> list[tuple[Text | None, bool, Element]]:
    """The elements of `name=(...)`: (subscript, append, element)."""
    found: list[tuple[Text | None, bool, Element]] = []
    plain: list[Token] = []

    def flush() -> None:
        words = expansion.words(plain)
        found.extend((None, False, Element(word.text, word.span, word.many)) for word in words)
        plain.clear()

    for key, append, token in assignment.elements or ():
        if key is None:
            plain.append(token)
            continue
        flush()
        span = Span(expansion.source, token.start, token.end)
        text = expansion.single(token)
        found.append((expansion.single(key), append, Element(text, span)))
    flush()
    return found


def declare(expansion: Expansion, command: Simple) -> None:
    """`declare`, `typeset`, `local`, `export`, `readonly`."""
    state = expansion.state
    head, *rest = command.arguments
    assert isinstance(head, Token)
    kind = head.plain or ""
    flags: set[str] = set()
    off: set[str] = set()
    options = True
    for argument in rest:
        if isinstance(argument, Token):
            for word in expansion.words([argument]):
                text = word.text.value
                if text is not None and options and re.fullmatch(r"[-+][A-Za-z]+", text):
                    (flags if text[0] == "-" else off).update(text[1:])
                elif text == "--":
                    options = False
                else:
                    _declare_word(expansion, kind, flags, off, word)
        elif "f" not in flags and "F" not in flags:
            _declare_one(expansion, kind, flags, off, argument.name, argument)
    state.snapshot = None


def _declare_word(expansion: Expansion, kind: str, flags: set[str], off: set[str], word: Word) -> None:
    pieces = word.text.pieces
    if {"f", "F", "p"} & flags:
        return
    first = next((n for n, piece in enumerate(pieces) if piece.unknown is not None), len(pieces))
    head = Text(pieces[:first])
    found = re.match(r"([A-Za-z_]\w*)(\+?=)?", head.value or "")
    if found is None or (found[2] is None and (not word.text.known or found[0] != word.text.value)):
        return
    _declare_one(expansion, kind, flags, off, found[1], None)
    if found[2] is not None:
        rest = slice_text(head, found.end(), len(head.value or "")).joined(Text(pieces[first:]))
        lookup.assign(expansion, found[1], None, rest, word.span, append=found[2] == "+=")


def _declare_one(
    expansion: Expansion, kind: str, flags: set[str], off: set[str], name: str, assignment: Assignment | None
) -> None:
    state = expansion.state
    local = bool(state.locals) and (kind == "local" or (kind in ("declare", "typeset") and "g" not in flags))
    old = state.variables.get(name)
    new: Text | None = None
    found = None
    span = Span(expansion.source, assignment.start, assignment.end) if assignment else None
    shape = Variable(None, associative="A" in flags)
    if assignment is not None and assignment.elements is not None:
        found = array_elements(expansion, assignment)
    elif assignment is not None and assignment.value is not None:
        new = expansion.single(assignment.value, assignment=True)
    if local and name not in state.locals[-1]:
        state.locals[-1][name] = old
        base = shape
    else:
        base = old if old is not None else shape
        if "A" in flags and not base.associative:
            base = base._replace(associative=True, value=None)
    exported = kind == "export" or "x" in flags
    if kind == "export" and "n" in flags:
        state.put(name, base._replace(exported=False))
        return
    if assignment is None and old is None and not local and not ({"a", "A", "i", "l", "u", "n"} & flags):
        if exported:
            state.facts["export", name] = True
        return
    if "n" in flags and kind != "export":
        state.put(name, base._replace(reference=(new.value or "") if new is not None else ""))
        return
    letters = "l" if "l" in flags else "u" if "u" in flags else base.letters
    if ("a" in flags or "A" in flags) and base.value is None and (assignment is None or found is not None):
        base = base._replace(value={} if assignment is None and "A" in flags else base.value)
    state.put(
        name,
        base._replace(
            exported=(base.exported or exported or ("a" in state.options and not local)) and "x" not in off,
            integer="i" in flags or (base.integer and "i" not in off),
            letters=letters,
            associative=base.associative or "A" in flags,
            readonly=False,
        ),
    )
    if found is not None and assignment is not None and span is not None:
        lookup.assign_array(expansion, name, found, span, append=assignment.append, associative="A" in flags)
    elif new is not None and assignment is not None and span is not None:
        key = expansion.subscript(assignment.subscript) if assignment.subscript is not None else None
        lookup.assign(expansion, name, key, new, span, append=assignment.append)
    if kind == "readonly" or "r" in flags:
        state.put(name, state.variables[name]._replace(readonly=True))


def unset(call: Call) -> None:
    state = call.state
    functions = False
    for word in call.words[1:]:
        value = word.text.value
        if value in ("-f", "-v", "-n"):
            functions = value == "-f"
        elif value is not None:
            _unset_one(call, value, functions)
    state.status = 0


def _unset_one(call: Call, value: str, functions: bool) -> None:
    state = call.state
    found = re.fullmatch(r"([A-Za-z_]\w*)\[(.*)\]", value, re.S)
    if functions:
        state.functions.pop(value, None)
    elif found:
        variable = state.variables.get(found[1])
        if variable is not None and isinstance(variable.value, dict):
            index = lookup.subscript(call.expansion, variable, Text((Piece(found[2], call.span),)))
            if isinstance(index, int) and index < 0:
                index += max(variable.value, default=-1) + 1
            items = {key: item for key, item in variable.value.items() if key != index}
            state.put(found[1], variable._replace(value=items))
    elif value in state.variables or value.isidentifier():
        if value in state.functions and value not in state.variables:
            state.functions.pop(value, None)
        state.put(value, Variable(None))
