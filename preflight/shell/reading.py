"""Builtins that read: `read`, `mapfile`, `getopts`.

In: known text on standard input, or the positional arguments.  Out: variables; unknown ones where there is no
known text.
"""

from __future__ import annotations

import re

from preflight.shell import lookup
from preflight.shell.call import Call
from preflight.shell.pieces import EMPTY, cut, rewrite, slice_text, split_lines
from preflight.shell.state import Arguments, Element, Question, Variable
from preflight.values import Piece, Text, Unknown


def read(call: Call) -> None:
    """`read`: from known text where there is some, else unknown."""
    state = call.state
    names, flags, array = _read_options(call)
    given = call.given if call.given is not None else state.input
    targets = names or ["REPLY"]
    if given is None:
        _forget(call, targets, array, Unknown("command", f"read {array or targets[0]}"))
        state.status = None
        state.question = Question(call.span, "read succeeds")
        return
    line, rest, ended = _take_line(given, flags.get("d"))
    if call.given is None:
        state.input = rest
    if line is None:
        for name in targets if array is None else [array]:
            lookup.assign(call.expansion, name, None, EMPTY, call.span)
        state.status = 1
        return
    if not line.known and (len(targets) > 1 or array is not None or rest.pieces or "\n" in line.display()):
        unknown = line.unknowns[0]
        _forget(call, targets, array, Unknown(unknown.reason, unknown.text))
        state.status = None
        state.question = Question(call.span, "read succeeds")
        return
    _spread(call, line, targets, array, raw="r" in flags, single=not names and array is None)
    state.status = 0 if ended else 1
    if not line.known:
        state.status = None
        state.question = Question(call.span, "read succeeds")


def _forget(call: Call, targets: list[str], array: str | None, unknown: Unknown) -> None:
    """What is read is not known: neither the values nor, of an array, their number."""
    text = Text.missing(unknown, call.span)
    if array is not None:
        call.state.put(array, Variable({0: Element(text, call.span, True)}))
        return
    for name in targets:
        lookup.assign(call.expansion, name, None, text, call.span)


def _read_options(call: Call) -> tuple[list[str], dict[str, str | None], str | None]:
    names: list[str] = []
    flags: dict[str, str | None] = {}
    array = None
    values = call.values
    at = 0
    while at < len(values):
        value = values[at]
        if value is not None and value.startswith("-") and len(value) > 1 and not names:
            for number, letter in enumerate(value[1:], 1):
                if letter in "adinNptu":
                    argument = value[number + 1 :]
                    if not argument:
                        at += 1
                        argument = values[at] or "" if at < len(values) else ""
                    flags[letter] = argument
                    array = argument if letter == "a" else array
                    break
                flags[letter] = ""
        elif value is not None and value.isidentifier():
            names.append(value)
        at += 1
    return names, flags, array


def _take_line(text: Text, delimiter: str | None) -> tuple[Text | None, Text, bool]:
    """The first line, what is left, and whether the line had an end."""
    stop = "\n" if delimiter is None else delimiter[:1]
    if not any(piece.text or piece.unknown for piece in text.pieces):
        return None, EMPTY, False
    head: list[Piece] = []
    for number, piece in enumerate(text.pieces):
        if piece.unknown is None and stop and stop in piece.text:
            at = piece.text.index(stop)
            head.append(cut(piece, 0, at))
            rest = [cut(piece, at + 1, len(piece.text))] if at + 1 < len(piece.text) else []
            return Text(head), Text((*rest, *text.pieces[number + 1 :])), True
        head.append(piece)
    return Text(head), EMPTY, False


def _spread(call: Call, line: Text, names: list[str], array: str | None, *, raw: bool, single: bool) -> None:
    expansion = call.expansion
    variable = call.state.variables.get("IFS")
    separators = variable.scalar.value if variable is not None and variable.scalar is not None else " \t\n"
    separators = " \t\n" if separators is None else separators
    value = line.value
    if value is None or single:
        lookup.assign(expansion, names[0], None, line, call.span)
        return
    if not raw and "\\" in value:
        line = rewrite(re.sub(r"\\(.)", r"\1", value, flags=re.S), line, call.span)
        value = line.value or ""
    fields = split_fields(value, separators, 0 if array is not None else len(names))
    if array is not None:
        items = [(None, False, Element(slice_text(line, a, b), call.span)) for a, b in fields]
        lookup.assign_array(expansion, array, list(items), call.span)
        return
    for number, name in enumerate(names):
        text = slice_text(line, *fields[number]) if number < len(fields) else EMPTY
        lookup.assign(expansion, name, None, text, call.span)


def split_fields(value: str, separators: str, limit: int) -> list[tuple[int, int]]:
    """Ranges of the fields of a line as `read` splits it; with a limit the last one takes the rest."""
    white = "".join(c for c in separators if c in " \t\n")
    end = len(value)
    while end and value[end - 1] in white:
        end -= 1
    at = 0
    while at < end and value[at] in white:
        at += 1
    fields: list[tuple[int, int]] = []
    while at < end:
        if limit and len(fields) == limit - 1:
            stop = end
            if separators and value[end - 1] in separators and value[end - 1] not in white:
                inner = value[at : end - 1]
                if not any(c in separators for c in inner):
                    stop = end - 1
            fields.append((at, stop))
            break
        stop = at
        while stop < end and value[stop] not in separators:
            stop += 1
        fields.append((at, stop))
        at = stop
        hard = False
        while at < end and value[at] in separators:
            if value[at] not in white:
                if hard:
                    break
                hard = True
            at += 1
    return fields


def mapfile(call: Call) -> None:
    state = call.state
    values = call.values
    names = [v for v in values if v is not None and v.isidentifier()]
    name = names[-1] if names else "MAPFILE"
    given = call.given if call.given is not None else state.input
    state.status = 0
    if given is None or not given.known:
        reason = given.unknowns[0].reason if given is not None else "command"
        unknown = Text.missing(Unknown(reason, f"${{{name}[@]}}"), call.span)
        state.put(name, Variable({0: Element(unknown, call.span, True)}))
        return
    strip = any(v is not None and re.fullmatch(r"-[a-z]*t[a-z]*", v) for v in values)
    newline = Piece("\n", call.span)
    lines = split_lines(given)
    items = {
        n: Element(line if strip else line.joined(Text((newline,))), call.span)
        for n, line in enumerate(lines)
    }
    state.put(name, Variable(items))
    if call.given is None:
        state.input = EMPTY


def getopts(call: Call) -> None:
    state = call.state
    values = call.values
    expansion = call.expansion
    if len(values) < 2 or values[0] is None or values[1] is None:
        state.status = 2
        return
    letters, name = values[0], values[1]
    items = [Element(w.text, w.span, w.many) for w in call.words[3:]]
    arguments = Arguments(tuple(items)) if items else state.arguments
    optind = state.variables.get("OPTIND")
    index_text = optind.scalar.value if optind is not None and optind.scalar is not None else None
    if (
        not arguments.certain
        or index_text is None
        or any(i is None or not i.text.known for i in arguments.items)
    ):
        for each in (name, "OPTARG"):
            state.put(each, Variable(Text.missing(Unknown("positional", f"${each}"), call.span)))
        state.put("OPTIND", Variable(Text.missing(Unknown("positional", "$OPTIND"), call.span)))
        state.status = None
        state.question = Question(call.span, "getopts finds an option")
        return
    index = int(index_text) if index_text.isdigit() else 1
    offset = state.facts.get(("getopts", index), 0)
    options = [item.text.value or "" for item in arguments.items if item is not None]
    word = options[index - 1] if index - 1 < len(options) else ""
    if offset == 0:
        if index > len(options) or not word.startswith("-") or word == "-":
            _getopts_end(call, name, index)
            return
        if word == "--":
            _getopts_end(call, name, index + 1)
            return
        offset = 1
    letter, rest = word[offset], word[offset + 1 :]
    state.facts = {k: v for k, v in state.facts.items() if not (isinstance(k, tuple) and k[0] == "getopts")}
    at = letters.lstrip(":").find(letter)
    source = arguments.items[index - 1]
    assert source is not None
    value: Text | None = None
    if at < 0 or letter == ":":
        found = "?"
        if letters.startswith(":"):
            value = Text((Piece(letter, source.span),))
    elif letters.lstrip(":")[at + 1 : at + 2] == ":":
        found = letter
        if rest:
            value, rest = slice_text(source.text, offset + 1, len(word)), ""
        elif index < len(options):
            item = arguments.items[index]
            assert item is not None
            value = item.text
            index += 1
        else:
            found = ":" if letters.startswith(":") else "?"
            value = Text((Piece(letter, source.span),)) if letters.startswith(":") else None
    else:
        found = letter
    if rest:
        state.facts["getopts", index] = offset + 1
    else:
        index += 1
    lookup.assign(expansion, name, None, Text((Piece(found, source.span),)), call.span)
    state.put("OPTARG", Variable(value))
    state.put("OPTIND", Variable(Text((Piece(str(index), call.span),))))
    state.status = 0


def _getopts_end(call: Call, name: str, index: int) -> None:
    lookup.assign(call.expansion, name, None, Text((Piece("?", call.span),)), call.span)
    call.state.put("OPTIND", Variable(Text((Piece(str(index), call.span),))))
    call.state.put("OPTARG", Variable(None))
    call.state.status = 1
