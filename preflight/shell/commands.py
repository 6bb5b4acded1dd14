"""External commands whose output follows from their arguments and input: one table.

In: a `Call` of such a command.  Out: its output written to the state, and its status.  Whatever it cannot do
exactly stays unknown, with the command named.  Also here: which other commands can be taken to succeed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from preflight.execution import Word
from preflight.patterns import pattern
from preflight.shell.escapes import unescape
from preflight.shell.filters import FILTERS
from preflight.shell.pieces import EMPTY, assume, forget, rewrite, slice_text
from preflight.shell.state import Question
from preflight.source import Refusal
from preflight.values import Piece, Text, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from preflight.shell.call import Call

FILES = frozenset(
    (
        "mkdir", "rm", "cp", "mv", "touch", "chmod", "chown", "ln", "rmdir", "sleep", "sync", "clear", "rsync",
        "mkfifo", "chgrp", "install", "truncate", "stty",
    )
)  # fmt: skip
"""Commands on files: nothing that a launch is made of; they are not noted."""

ASSUMED = FILES | frozenset(
    (
        "pip", "pip3", "git", "apt", "apt-get", "yum", "conda", "mamba", "module", "ml", "wget", "curl", "unzip",
        "tar", "pkill", "kill", "killall", "ray", "nvidia-cuda-mps-control", "tmux", "screen", "huggingface-cli",
        "hf", "modelscope",
    )
)  # fmt: skip
"""Commands whose success a script counts on."""

SILENT = FILES | frozenset(("kill", "pkill", "killall", "module", "ml"))


def is_pure(words: list[Word]) -> bool:
    """Whether a command is modelled here; `xargs` only with a command that is."""
    name = words[0].text.value
    if name == "xargs":
        given = [word.text.value for word in words[1:]]
        return given in ([], ["-n1"], ["-n", "1"]) or (given[0] != "xargs" and is_pure(words[1:]))
    if name == "git":
        return [word.text.value for word in words[1:]] == ["rev-parse", "--show-toplevel"]
    return name is not None and (name in _TEXT or name in FILTERS or name in FILES)


def names_in(text: str) -> list[str]:
    """Variables that a text that cannot be read seems to assign."""
    return list(dict.fromkeys(re.findall(r"(?:^|[\s;(])([A-Za-z_]\w*)\+?=", text)))


def exports_in(text: str) -> list[str]:
    """Variables that the text behind what cannot be read exports: the parser may have taken those lines for others."""
    return list(dict.fromkeys(re.findall(r"^[ \t]*export[ \t]+([A-Za-z_]\w*)=", text, re.MULTILINE)))


def run(call: Call) -> None:
    """Run a modelled command."""
    state = call.state
    name = call.words[0].text.value or ""
    state.status = 0
    if name in FILES:
        _touch_files(call, name)
        return
    if name == "xargs" and len(call.words) > 1 and (call.values[0] or "-")[0] != "-" and _hands_on(call):
        return
    if name == "sed" and any((value or "").startswith(("-i", "--in-place")) for value in call.values):
        edited = {value for value in call.values if value is not None} & state.files.keys()
        changed = {value: Text.missing(Unknown("file", value), call.span) for value in edited}
        state.files = {**state.files, **changed}
    modelled = _TEXT.get(name)
    output = modelled(call) if modelled is not None else _filter(call, name)
    if output is None:
        shown = " ".join(call.span.text.split())[:80]
        basis = [word.text for word in call.words]
        if state.input is not None:
            basis.append(state.input)
        state.write(_unknown(basis, shown, call))
        if name in ASSUMED:
            return
        state.status = None
        state.question = Question(call.span, shown)
    else:
        state.write(output)


def _hands_on(call: Call) -> bool:
    """`xargs COMMAND`: run the command with the words of the input, where these are known."""
    given = call.state.input
    if given is None or given.value is None or re.search(r"[\\'\"]", given.value):
        return False
    handed = [
        Word(assume(rewrite(word, given, call.span), [given]), call.span) for word in given.value.split()
    ]
    run(call._replace(words=[*call.words[1:], *handed]))
    return True


def _unknown(basis: list[Text], shown: str, call: Call) -> Text:
    if any(not text.known for text in basis):
        return forget(basis, shown, call.span)
    return Text.missing(Unknown("command", shown), call.span)


def _touch_files(call: Call, name: str) -> None:
    """Files that the script wrote itself go with `rm` and `mv`."""
    state = call.state
    if name in ("rm", "mv", "truncate", "cp"):
        values = [value for value in call.values if value is not None]
        if any(value in state.files for value in values):
            if name == "cp" and len(values) == 2 and values[0] in state.files:
                state.files = {**state.files, values[1]: state.files[values[0]]}
            elif name == "mv" and len(values) == 2:
                kept = {k: v for k, v in state.files.items() if k != values[0]}
                state.files = {**kept, values[1]: state.files.get(values[0], EMPTY)}
            else:
                state.files = {k: v for k, v in state.files.items() if k not in values}


def _filter(call: Call, name: str) -> Text | None:
    """A command on strings: all of its arguments and its input must be known."""
    values = call.values
    given = call.state.input
    arguments = [value for value in values if value is not None]
    if len(arguments) < len(values) or any(word.many for word in call.words):
        return None
    if given is not None and not given.known:
        given = None
    result = FILTERS[name](arguments, given.value if given is not None else None, _reader(call))
    if result is None:
        return None
    text, call.state.status = result
    basis = [word.text for word in call.words[1:]]
    if given is not None:
        basis.insert(0, given)
    first = next((t for t in basis if t.pieces), EMPTY)
    return assume(rewrite(text, first, call.span), basis)


def _reader(call: Call) -> Callable[[str], str | None]:
    def read(path: str) -> str | None:
        call.evaluator.burn()
        span = call.span
        return call.evaluator.read_file(call.expansion, Text((Piece(path, span),))).value

    return read


# -------------------------------------------------------------------- text in, text out


def _newline(call: Call) -> Text:
    return Text((Piece("\n", call.span),))


def echo(call: Call) -> Text:
    words = call.words[1:]
    newline, escapes = True, False
    while words and re.fullmatch(r"-[neE]+", words[0].text.value or ""):
        letters = words[0].text.value or ""
        newline = newline and "n" not in letters
        escapes = "e" in letters if re.search("[eE]", letters) else escapes
        words = words[1:]
    out: list[Text] = []
    for number, word in enumerate(words):
        if number:
            out.append(Text((Piece(" ", call.span),)))
        out.append(_escaped(word.text) if escapes else word.text)
    if newline:
        out.append(_newline(call))
    return EMPTY.joined(*out)


def _escaped(text: Text) -> Text:
    pieces = []
    for piece in text.pieces:
        if piece.unknown is None and "\\" in piece.text:
            value = unescape(re.sub(r"\\0([0-7]{1,3})", r"\\\1", piece.text))
            pieces.append(piece._replace(text=value))
        else:
            pieces.append(piece)
    return Text(pieces)


_FORMAT = pattern(r"%(?:(%)|([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?([a-zA-Z]))")


def printf(call: Call) -> Text | None:
    words = call.words[1:]
    variable = None
    if words and words[0].text.value == "-v" and len(words) > 1:
        variable, words = words[1].text.value, words[2:]
    if words and words[0].text.value == "--":
        words = words[1:]
    made = _print(call, words)
    if variable is not None:
        from preflight.shell import lookup

        shown = " ".join(call.span.text.split())[:80]
        text = made if made is not None else forget([w.text for w in words], shown, call.span)
        found = re.fullmatch(r"(\w+)\[(.*)\]", variable)
        key = Text((Piece(found[2], call.span),)) if found else None
        lookup.assign(call.expansion, found[1] if found else variable, key, text, call.span)
        return EMPTY
    return made


def _print(call: Call, words: list[Word]) -> Text | None:
    if not words or words[0].text.value is None:
        return None
    template, arguments = words[0].text, [word.text for word in words[1:]]
    if any(word.many for word in words[1:]):
        return None
    value = template.value or ""
    out: list[Text] = []
    used = 0
    while True:
        at, took = 0, False
        for found in _FORMAT.finditer(value):
            out.append(_escaped(slice_text(template, at, found.start())))
            at = found.end()
            if found[1]:
                out.append(Text((Piece("%", call.span),)))
                continue
            if any(size == "*" or len(size or "") > 4 for size in (found[3], found[4])):
                return None
            argument = arguments[used] if used < len(arguments) else None
            used += 1
            took = True
            made = _conversion(found, argument, call)
            if made is None:
                return None
            out.append(made)
        out.append(_escaped(slice_text(template, at, len(value))))
        if used >= len(arguments) or not took or len(out) > 5000:
            return EMPTY.joined(*out)


def _conversion(found: re.Match[str], argument: Text | None, call: Call) -> Text | None:
    flags, width, precision, letter = found[2], found[3], found[4], found[5]
    if letter in "sb" and not width and not precision:
        text = argument if argument is not None else EMPTY
        return _escaped(text) if letter == "b" else text
    value = argument.value if argument is not None else ""
    if value is None:
        return None
    basis = argument if argument is not None else EMPTY
    if letter == "q":
        from preflight.shell.parameters import printf_quote

        return rewrite(printf_quote(value), basis, call.span)
    specification = f"%{flags}{width or ''}{'.' + precision if precision else ''}"
    if letter in "sb":
        return rewrite((specification + "s") % value, basis, call.span)
    if letter == "c":
        return rewrite(value[:1], basis, call.span)
    if letter in "diuxXo":
        number = value.strip()
        if not re.fullmatch(r"[-+]?(0[xX][0-9a-fA-F]+|\d+)?", number):
            return None
        size = int(number, 0) if number and not re.fullmatch(r"[-+]?0\d+", number) else int(number or "0", 8)
        return rewrite((specification + ("d" if letter in "iu" else letter)) % size, basis, call.span)
    if letter in "feEgG":
        try:
            return rewrite((specification + letter) % float(value or 0), basis, call.span)
        except ValueError:
            return None
    return None


def cat(call: Call) -> Text | None:
    paths = [
        word
        for word in call.words[1:]
        if not (word.text.value or "").startswith("-") or word.text.value == "-"
    ]
    if any((word.text.value or "").startswith("-") and word.text.value != "-" for word in call.words[1:]):
        return None
    if not paths:
        return call.state.input
    out = []
    for word in paths:
        given = (
            call.state.input
            if word.text.value == "-"
            else call.evaluator.read_file(call.expansion, word.text)
        )
        if given is None:
            return None
        out.append(given)
    return EMPTY.joined(*out)


def tee(call: Call) -> Text | None:
    for value in call.values:
        if value is not None and not value.startswith("-") and call.state.input is not None:
            call.state.files = {**call.state.files, value: call.state.input}
    call.state.status = 0
    return call.state.input


def pwd(call: Call) -> Text:
    directory = call.state.directory
    if directory is None:
        return Text.missing(Unknown("branches", "$(pwd)"), call.span)
    return directory.joined(_newline(call))


def dirname(call: Call) -> Text | None:
    words = [word for word in call.words[1:] if word.text.value != "--"]
    if len(words) != 1:
        return None
    text = words[0].text
    if not text.known:
        last = text.pieces[-1]
        if last.unknown is None and "/" in last.text.rstrip("/"):
            at = last.text.rstrip("/").rindex("/")
            if at > 0 or len(text.pieces) > 1:
                kept = slice_text(Text((last,)), 0, at)
                return Text(text.pieces[:-1]).joined(kept, _newline(call))
        return None
    value = text.value or ""
    stripped = value.rstrip("/")
    if not stripped:
        return rewrite("/" if value else ".", text, call.span).joined(_newline(call))
    head = stripped[: stripped.rfind("/") + 1].rstrip("/") if "/" in stripped else "."
    if "/" in stripped and not head:
        head = "/"
    made = (
        slice_text(text, 0, len(head))
        if value.startswith(head) and head != "."
        else rewrite(head, text, call.span)
    )
    return made.joined(_newline(call))


def basename(call: Call) -> Text | None:
    words = [word for word in call.words[1:] if word.text.value != "--"]
    suffix = ""
    if words and words[0].text.value == "-s" and len(words) > 2:
        suffix, words = words[1].text.value or "", words[2:]
    if len(words) == 2:
        if words[1].text.value is None:
            return None
        suffix = words[1].text.value
    elif len(words) != 1:
        return None
    text = words[0].text
    if not text.known:
        last = text.pieces[-1]
        stripped = last.text.rstrip("/")
        if last.unknown is not None or "/" not in stripped or not stripped.rsplit("/", 1)[1]:
            return None
        text = Text((last,))
    value = text.value or ""
    stripped = value.rstrip("/") or value[:1]
    start = stripped.rfind("/") + 1 if stripped != "/" else 0
    end = len(stripped)
    if suffix and stripped[start:].endswith(suffix) and len(stripped) - start > len(suffix):
        end -= len(suffix)
    return slice_text(text, start, end).joined(_newline(call))


def realpath(call: Call) -> Text | None:
    """`realpath` and `readlink -f`: where no symbolic link is in the way, or it stays inside."""
    name = call.words[0].text.value
    options = [v for v in call.values if v is not None and v.startswith("-")]
    words = [w for w in call.words[1:] if not (w.text.value or "").startswith("-")]
    if len(words) != 1 or words[0].text.value is None:
        return None
    if name == "readlink" and not any("f" in o or "m" in o or "e" in o for o in options):
        return None
    if any(o not in ("-f", "-m", "-e", "-q", "-s", "-z", "--canonicalize") for o in options):
        return None
    directory = call.state.directory.value if call.state.directory is not None else None
    if directory is None and not words[0].text.value.startswith("/"):
        return None
    real = call.evaluator.context.files.locate(words[0].text.value, directory)
    if isinstance(real, Refusal) or not os.path.isdir(os.path.dirname(real)):
        return None
    return rewrite(real, words[0].text, call.span).joined(_newline(call))


def git(call: Call) -> Text | None:
    """`git rev-parse --show-toplevel`, as far as the folders above may be looked at."""
    directory = call.state.directory.value if call.state.directory is not None else None
    files = call.evaluator.context.files
    folder = files.locate(directory) if directory is not None else None
    while isinstance(folder, str):
        if files.kind(f"{folder}/.git") in ("folder", "file"):
            return rewrite(folder, EMPTY, call.span).joined(_newline(call))
        above = os.path.dirname(folder)
        folder = files.locate(above) if above != folder else None
    return None


def node(call: Call) -> Text:
    """A question to the machine that the script runs on."""
    shown = " ".join(call.span.text.split())[:80]
    return Text.missing(Unknown("node", shown), call.span)


_TEXT: dict[str, Callable[[Call], Text | None]] = {
    "echo": echo,
    "printf": printf,
    "cat": cat,
    "tee": tee,
    "pwd": pwd,
    "dirname": dirname,
    "basename": basename,
    "realpath": realpath,
    "readlink": realpath,
    "git": git,
    "hostname": node,
    "nproc": node,
    "uname": node,
    "whoami": node,
    "id": node,
    "nvidia-smi": node,
    "lscpu": node,
    "free": node,
    "df": node,
}
