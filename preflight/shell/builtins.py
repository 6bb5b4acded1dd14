"""Commands that the shell runs itself, and that change its state.

In: a `Call`, with its words expanded.  Out: the state changed; a list of states where there may be several
(`eval`, `source`, `command`), else None.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from preflight.later import later
from preflight.patterns import pattern
from preflight.shell import lookup
from preflight.shell.call import Call
from preflight.shell.declare import unset
from preflight.shell.pieces import set_apart
from preflight.shell.rereading import read_again
from preflight.shell.state import Arguments, Element, Flow, Question, State, Variable
from preflight.source import Source, Span
from preflight.values import Piece, Text, Unknown

Builtin = Callable[[Call], "list[State] | None"]


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
        if value[0] in "-+" and len(value) > 1:
            words = words[1:]
            for letter in value[1:]:
                name: str | None = letter
                if letter == "o":
                    name = words[0].text.value if words else None
                    words = words[1:]
                if name is not None:
                    (options.add if value[0] == "-" else options.discard)(_LONG.get(name, name))
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
    from preflight.shell.tests import decide_words

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


# -------------------------------------------------------------------- text as script


def eval_(call: Call) -> list[State] | None:
    state = call.state
    words = call.words[1:]
    if not words:
        state.status = 0
        return None
    state.status = 0
    foreign = any(unknown.reason == "command" for word in words for unknown in word.text.unknowns)
    if foreign:
        shown = " ".join([word.text.display() for word in words])
        if not _SETUP.search(shown):
            state.missing = Unknown("command", shown[:80])
    path = call.expansion.source.path
    again = read_again(words, path)
    if again is not None:
        return call.evaluator.plain(*again, state)
    pieces = list(words[0].text.pieces)
    for word in words[1:]:
        pieces.append(Piece(" ", Span(word.span.source, word.span.start, word.span.start)))
        pieces.extend(word.text.pieces)
    return call.evaluator.text(set_apart(Text(pieces)), path, state)


_SETUP = pattern(r"conda|mamba|ssh-agent|lmod|module|direnv|pyenv|brew|dircolors|spack")


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
    call.evaluator.remarks.unresolved = True
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


_DIRECTIVE = pattern(rb"#[ \t]*preflight:[ \t]*source=(\S+)[^\n]*\n[ \t]*$")


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
        ask(call)
        return None
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
    cleared = False
    while words and (option := words[0].text.value or "").startswith("-"):
        cleared = cleared or "c" in option
        words = words[2:] if option == "-a" else words[1:]
    if cleared and words:
        # `exec -c` clears the environment: whoever peels wrappers has to see it.
        words = call.words
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
    "read": later("preflight.shell.reading", "read"),
    "mapfile": later("preflight.shell.reading", "mapfile"),
    "readarray": later("preflight.shell.reading", "mapfile"),
    "getopts": later("preflight.shell.reading", "getopts"),
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
