"""Commands that the shell runs itself, and that change its state.

In: a `Call`, with its words expanded.  Out: the state changed; a list of states where there may be several
(`eval`, `source`, `command`), else None.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from preflight.execution import Word
from preflight.shell import lookup
from preflight.shell.expand import Expansion, Stop
from preflight.shell.lexer import Assignment, Simple, Token
from preflight.shell.pieces import EMPTY, split_lines
from preflight.shell.state import Arguments, Element, Flow, Question, State, Variable
from preflight.shell.tests import decide_words
from preflight.source import Refusal, Source, Span
from preflight.values import Piece, Text, Unknown

if TYPE_CHECKING:
    from preflight.shell.evaluate import Evaluator


class Call(NamedTuple):
    """A command about to run. `given`: what its redirections put on standard input."""

    evaluator: Evaluator
    expansion: Expansion
    words: list[Word]
    command: Simple
    span: Span
    given: Text | None

    @property
    def state(self) -> State:
        return self.expansion.state

    @property
    def values(self) -> list[str | None]:
        """The arguments as strings; None for unknown ones."""
        return [word.text.value for word in self.words[1:]]


Builtin = Callable[[Call], "list[State] | None"]


# -------------------------------------------------------------------- assignments


def apply_assignment(expansion: Expansion, assignment: Assignment, *, exported: bool = False) -> None:
    """`name=value` in front of a command or alone."""
    state = expansion.state
    span = Span(expansion.source, assignment.start, assignment.end)
    if assignment.elements is not None:
        found = array_elements(expansion, assignment, state.variables.get(assignment.name))
        lookup.assign_array(expansion, assignment.name, found, span, append=assignment.append)
        return
    assert assignment.value is not None
    value = expansion.single(assignment.value, assignment=True)
    key = expansion.subscript(assignment.index) if assignment.index is not None else None
    lookup.assign(expansion, assignment.name, key, value, span, append=assignment.append, exported=exported)


def array_elements(
    expansion: Expansion, assignment: Assignment, variable: Variable | None
) -> list[tuple[Text | None, bool, Element]]:
    """The elements of `name=(...)`: (subscript, append, element)."""
    found: list[tuple[Text | None, bool, Element]] = []
    plain: list[Token] = []

    def flush() -> None:
        for word in expansion.words(plain):
            found.append((None, False, Element(word.text, word.span, word.many)))
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
    if not pieces or pieces[0].unknown is not None or "f" in flags or "F" in flags or "p" in flags:
        return
    found = re.match(r"([A-Za-z_]\w*)(\+?=)?", pieces[0].text)
    if found is None or (found[2] is None and (not word.text.known or found[0] != word.text.value)):
        return
    _declare_one(expansion, kind, flags, off, found[1], None)
    if found[2] is not None:
        rest = Text((pieces[0]._replace(text=pieces[0].text[found.end() :]), *pieces[1:]))
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
        found = array_elements(expansion, assignment, old)
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
        key = expansion.subscript(assignment.index) if assignment.index is not None else None
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


# -------------------------------------------------------------------- state of the shell


def set_(call: Call) -> None:
    state = call.state
    options = set(state.options)
    words = call.words[1:]
    state.status = 0
    while words:
        value = words[0].text.value
        if value is None:
            break
        if value == "--":
            words = words[1:]
            break
        if value in ("-", "+"):
            words = words[1:]
            if not words:
                state.options = frozenset(options)
                return
            break
        if value in ("-o", "+o") or (re.fullmatch(r"[-+][a-zA-Z]*o", value) and len(words) > 1):
            change = options.add if value[0] == "-" else options.discard
            for letter in value[1:-1]:
                change(letter)
            name = words[1].text.value if len(words) > 1 else None
            if name is not None:
                change(_LONG.get(name, name))
            words = words[2:]
        elif value[0] in "-+" and len(value) > 1:
            for letter in value[1:]:
                (options.add if value[0] == "-" else options.discard)(letter)
            words = words[1:]
        else:
            break
    else:
        state.options = frozenset(options)
        if not any(word.text.value == "--" for word in call.words[1:]):
            return
    state.options = frozenset(options)
    state.arguments = Arguments(tuple(Element(word.text, word.span, word.many) for word in words))


_LONG = {"errexit": "e", "nounset": "u", "noglob": "f", "allexport": "a", "xtrace": "x"}


def shopt(call: Call) -> None:
    state = call.state
    values = call.values
    names = [value for value in values if value and not value.startswith("-")]
    if "-s" in values:
        state.options = state.options | frozenset(names)
    elif "-u" in values:
        state.options = state.options - frozenset(names)
    state.status = 0


def shift(call: Call) -> None:
    state = call.state
    value = call.values[0] if call.values else "1"
    state.status = 0
    if value is None or not value.isdigit():
        state.arguments = Arguments((), True, state.arguments.base)
        return
    count = int(value[:9])
    arguments = state.arguments
    known = list(arguments.items)
    if any(item is not None and item.many for item in known[:count]):
        state.arguments = Arguments((), True, arguments.base)
    elif count <= len(known) or arguments.open:
        state.arguments = arguments.shifted(count)
    else:
        state.status = 1


def change_directory(call: Call) -> None:
    state = call.state
    words = [w for w in call.words[1:] if not re.fullmatch(r"-[LPe@]+|--", w.text.value or "")]
    old = state.directory
    state.status = 0
    if not words:
        home, _ = lookup.read(call.expansion, "HOME", "$HOME", call.span)
        _enter(call, home if home is not None else Text.missing(Unknown("node", "~"), call.span))
    elif words[0].text.value == "-":
        back = state.variables.get("OLDPWD")
        target = back.scalar if back is not None and back.scalar is not None else None
        _enter(call, target if target is not None else Text.missing(Unknown("node", "$OLDPWD"), call.span))
    else:
        _enter(call, words[0].text)
    if old is not None and state.directory is not old:
        state.put("OLDPWD", Variable(old, exported=True))


def _enter(call: Call, path: Text) -> None:
    """Where the folder exists it is entered; otherwise it may exist where the script runs."""
    state = call.state
    value = path.value
    if value == "":
        return
    base = state.directory.value if state.directory is not None else None
    if value is not None and (value.startswith("/") or base is not None):
        target = lookup.normal_path(value if value.startswith("/") else f"{base}/{value}")
        kind = call.evaluator.context.files.kind(target)
        if kind == "folder":
            where = path.pieces[0].span if path.pieces else call.span
            state.directory = Text((Piece(target, where),))
            return
        if kind == "file":
            state.status = 1
            return
    shown = path.display()
    state.directory = Text.missing(
        Unknown("file" if value is not None else path.unknowns[0].reason, shown), call.span
    )


def exit_(call: Call) -> None:
    _leave(call, "exit")


def return_(call: Call) -> None:
    _leave(call, "return")


def _leave(call: Call, kind: str) -> None:
    state = call.state
    if call.values:
        value = call.values[0]
        state.status = int(value[-9:]) & 255 if value is not None and value.isdigit() else None
    state.flow = Flow(kind)


def break_(call: Call) -> None:
    _jump(call, "break")


def continue_(call: Call) -> None:
    _jump(call, "continue")


def _jump(call: Call, kind: str) -> None:
    value = call.values[0] if call.values else "1"
    count = int(value[:4]) if value is not None and value.isdigit() else 1
    call.state.status = 0
    call.state.flow = Flow(kind, max(count, 1))


def true(call: Call) -> None:
    call.state.status = 0


def false(call: Call) -> None:
    call.state.status = 1


# -------------------------------------------------------------------- tests, arithmetic


def test(call: Call) -> None:
    words = call.words[1:]
    span = call.span
    if call.words[0].text.value == "[":
        if not words or words[-1].text.value != "]":
            call.state.status = 2
            return
        span = (
            Span(span.source, span.start, words[-1].span.end)
            if words[-1].span.source is span.source
            else span
        )
        text = span.text
        inner = text[1:].removesuffix("]").strip()
        words = words[:-1]
    else:
        inner = span.text
    verdict = decide_words(call.expansion, words)
    if verdict.wrong and any(not word.text.known for word in words):
        verdict = verdict._replace(wrong=False, outcome=None)
    call.evaluator.answer(call.state, verdict.outcome, verdict.claim, span, wrong=verdict.wrong)
    question = call.state.question
    if question is not None:
        short = " ".join(inner.split())
        call.state.question = question._replace(text=short if len(short) <= 80 else short[:77] + "...")


def let(call: Call) -> None:
    value: int | None = 0
    for word in call.words[1:]:
        value, _ = call.expansion.calculate(word.text)
    outcome = None if value is None else value != 0
    call.evaluator.answer(call.state, outcome, None, call.span)


# -------------------------------------------------------------------- input


def read(call: Call) -> None:
    """`read`: from known text where there is some, else unknown."""
    state = call.state
    names, flags, array = _read_options(call)
    given = call.given if call.given is not None else state.input
    targets = names or ["REPLY"]
    if given is None:
        for name in targets if array is None else [array]:
            text = Text.missing(Unknown("command", f"read {name}"), call.span)
            lookup.assign(call.expansion, name, None, text, call.span)
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
        for name in targets if array is None else [array]:
            text = Text.missing(Unknown(unknown.reason, unknown.text), call.span)
            lookup.assign(call.expansion, name, None, text, call.span)
        state.status = None
        state.question = Question(call.span, "read succeeds")
        return
    _spread(call, line, targets, array, raw="r" in flags, single=not names)
    state.status = 0 if ended else 1
    if not line.known:
        state.status = None
        state.question = Question(call.span, "read succeeds")


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
            from preflight.shell.pieces import cut

            head.append(cut(piece, 0, at))
            rest = [cut(piece, at + 1, len(piece.text))] if at + 1 < len(piece.text) else []
            return Text(head), Text((*rest, *text.pieces[number + 1 :])), True
        head.append(piece)
    return Text(head), EMPTY, False


def _spread(call: Call, line: Text, names: list[str], array: str | None, *, raw: bool, single: bool) -> None:
    from preflight.shell.pieces import rewrite, slice_text

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
            from preflight.shell.pieces import slice_text

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


# -------------------------------------------------------------------- text as script


def eval_(call: Call) -> list[State] | None:
    state = call.state
    words = call.words[1:]
    if not words:
        state.status = 0
        return None
    text = words[0].text
    for word in words[1:]:
        blank = Text((Piece(" ", Span(word.span.source, word.span.start, word.span.start)),))
        text = text.joined(blank, word.text)
    state.status = 0
    if not text.known and any(p.unknown and p.unknown.reason == "command" for p in text.pieces):
        if not _SETUP.search(text.display()):
            state.missing = Unknown("command", text.display()[:80])
    return call.evaluator.text(text, call.expansion.source.path, state)


_SETUP = re.compile(r"conda|mamba|ssh-agent|lmod|module|direnv|pyenv|brew|dircolors|spack")


def source(call: Call) -> list[State] | None:
    state = call.state
    words = call.words[1:]
    if words and words[0].text.value == "--":
        words = words[1:]
    if not words:
        state.status = 2
        return None
    path = words[0].text
    arguments = tuple(Element(word.text, word.span, word.many) for word in words[1:])
    value = path.value
    if value == "/dev/null":
        state.status = 0
        return None
    if value is not None and value in state.files:
        return call.evaluator.text(state.files[value], value, state)
    found = find_source(call, value)
    if found is not None:
        return call.evaluator.source(found, state, arguments)
    shown = path.display()
    name = shown.rsplit("/", 1)[-1]
    state.status = 0
    state.question = None
    if name in _HARMLESS or shown.startswith(("/etc/profile", "/opt/intel", "/usr/share/modules")):
        return None
    state.missing = Unknown("file", f"source {shown}")
    return None


_HARMLESS = frozenset(
    (
        ".bashrc", ".bash_profile", ".profile", "profile", "bashrc", "activate", "conda.sh", "modules.sh", "bash.sh",
        "setvars.sh", "set_env.sh", "env.sh~", ".bash_aliases", "bash_completion", "lmod.sh", "nvm.sh", "module.sh",
    )
)  # fmt: skip


def find_source(call: Call, value: str | None) -> Source | None:
    """The file of a `source`: as written, as a directive above says, or in the given folders."""
    files = call.evaluator.context.files
    directory = call.state.directory.value if call.state.directory is not None else None
    if value is not None and (directory is not None or value.startswith("/")):
        found = files.read(value, directory)
        if isinstance(found, Source):
            return found
    directive = _directive(call)
    if directive is not None:
        base = call.expansion.source.path.rpartition("/")[0] or "."
        for folder in (files.directory, base):
            found = files.read(directive, folder)
            if isinstance(found, Source):
                return found
    name = (value if value is not None else call.words[1].text.display()).rsplit("/", 1)[-1]
    for path in call.evaluator.context.source_paths:
        for candidate in (path, f"{path}/{name}") if path.rsplit("/", 1)[-1] == name else (f"{path}/{name}",):
            found = files.read(candidate)
            if isinstance(found, Source):
                return found
    return None


_DIRECTIVE = re.compile(rb"#[ \t]*preflight:[ \t]*source=(\S+)[^\n]*\n[ \t]*$")


def _directive(call: Call) -> str | None:
    data = call.expansion.source.data
    start = data.rfind(b"\n", 0, call.span.start) + 1
    before = data[max(0, start - 500) : start]
    found = _DIRECTIVE.search(before)
    return found[1].decode("utf-8", "replace") if found else None


def command(call: Call) -> list[State] | None:
    """`command NAME ...` runs NAME; `command -v NAME` asks whether it exists."""
    words = call.words[1:]
    state = call.state
    if words and words[0].text.value in ("-v", "-V"):
        name = words[1].text.value if len(words) > 1 else None
        if name in state.functions or name in BUILTINS:
            state.write(words[1].text.joined(Text((Piece("\n", call.span),))))
            state.status = 0
            return None
        return ask(call)
    if words and words[0].text.value in ("-p", "--"):
        words = words[1:]
    if not words:
        state.status = 0
        return None
    return call.evaluator.dispatch(call.command, call.expansion, words)


def ask(call: Call) -> None:
    """What the machine would have to answer."""
    state = call.state
    text = " ".join(call.span.text.split())[:80]
    state.write(Text.missing(Unknown("node", text), call.span))
    state.status = None
    state.question = Question(call.span, text)


def exec_(call: Call) -> list[State] | None:
    state = call.state
    words = call.words[1:]
    while words and (words[0].text.value or "").startswith("-"):
        words = words[2:] if words[0].text.value == "-a" else words[1:]
    if not words:
        state.status = 0
        if call.given is not None:
            state.input = call.given
        return None
    states = call.evaluator.external(call._replace(words=words))
    for each in states:
        each.flow = Flow("exit")
        each.status = None
    return states


def stop_unset(call: Call) -> None:
    raise Stop("exit")


BUILTINS: dict[str, Builtin] = {
    ":": true,
    "true": true,
    "false": false,
    "[": test,
    "test": test,
    "let": let,
    "cd": change_directory,
    "unset": unset,
    "set": set_,
    "shopt": shopt,
    "shift": shift,
    "exit": exit_,
    "return": return_,
    "break": break_,
    "continue": continue_,
    "read": read,
    "mapfile": mapfile,
    "readarray": mapfile,
    "getopts": getopts,
    "eval": eval_,
    "source": source,
    ".": source,
    "command": command,
    "builtin": command,
    "exec": exec_,
    "type": ask,
    "which": ask,
    "hash": true,
    "trap": true,
    "wait": true,
    "ulimit": true,
    "umask": true,
    "alias": true,
    "unalias": true,
    "disown": true,
    "enable": true,
    "complete": true,
    "history": true,
    "jobs": true,
    "times": true,
}

__all__ = ["BUILTINS", "Call", "Refusal", "apply_assignment", "declare"]
