"""One wrapper peeled off a command.

In: a command that begins with a wrapper of the table.  Out: `Peeled`: the inner command, or the text or batch script
that the wrapper runs.  It refuses other uses of the same name (`docker pull`, `command -v`): then nothing is left.
"""

from __future__ import annotations

import re

from preflight.execution import Context, Word
from preflight.launch.command import Command, pass_environment, take_assignments
from preflight.launch.model import Layer, Setting
from preflight.launch.options import Parsed, known_prefix, parse_options
from preflight.launch.programs import SHELLS, WRAPPERS, Wrapper
from preflight.launch.start import is_python, is_starter
from preflight.launch.subscript import join_words
from preflight.patterns import pattern
from preflight.record import NamedTuple
from preflight.source import Span
from preflight.values import Text

_SHELL = pattern(r"|\s*(?:/(?:usr/)?bin/)?(?:ba|z)?sh(?:\s+-[a-z]+|\s+--)*\s*")
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


class Peeled(NamedTuple):
    """What is left: the words of a `command`, `text` for a shell, or a `script` that a scheduler takes."""

    kind: Literal["command", "text", "script"]
    command: Command
    text: Text = Text()
    options: Parsed = Parsed((), ())


def peel_wrapper(command: Command, wrapper: Wrapper, context: Context) -> Peeled | None:
    """Behind one wrapper."""
    words = find_inner(command.words, wrapper)
    if words is None:
        return None
    parsed = parse_options(words, wrapper.grammar, is_command)
    if wrapper.kind == "command" and "describe" in parsed.settings:
        return None
    inner = command._replace(layers=(*command.layers, describe_layer(command, wrapper, parsed)))
    inner = pass_environment(inner, wrapper, parsed, context)
    rest = parsed.rest
    split = parsed.settings.get("split_string")
    if wrapper.kind == "env" and split is not None and split.text is not None:
        return Peeled("text", inner, join_words((Word(split.text, split.span), *rest)))
    if wrapper.assignments:
        rest, changed = take_assignments(rest, inner.environment)
        inner = inner._replace(environment=changed)
    rest = skip_operands(rest, wrapper.operands)
    if wrapper.kind in IMAGES and not parsed.open:
        inner, rest = pass_over_options(inner, wrapper, rest)
    if wrapper.inner == "shell":
        text = join_words(rest)
        if wrapper.kind == "ssh" and command.standard_input is not None and runs_shell(text):
            # Without a command, or with a bare shell for one, the other machine's shell reads what it is sent.
            text = command.standard_input
        return Peeled("text", inner._replace(directory=None), text)
    if wrapper.inner == "script":
        return Peeled("script", inner._replace(words=rest), options=parsed)
    if wrapper.kind == "ray" and len(rest) == 1:
        return Peeled("text", inner, rest[0].text)
    return Peeled("command", inner._replace(words=complete_words(command, wrapper, parsed, rest)))


IMAGES = frozenset({"docker", "apptainer"})
"""Wrappers whose operand is an image; what follows it is the command."""


def pass_over_options(
    inner: Command, wrapper: Wrapper, rest: tuple[Word, ...]
) -> tuple[Command, tuple[Word, ...]]:
    """Options of a container that stand behind its image, where they are taken for the command."""
    layer = inner.layers[-1]
    if (
        not rest
        or rest[0].many
        or not known_prefix(rest[0].text).startswith("-")
        or "entrypoint" in layer.options
    ):
        return inner, rest
    behind = parse_options(rest, wrapper.grammar, is_command)
    if not behind.given or not behind.rest or not is_command(behind.rest[0]) or behind.open:
        return inner, rest
    first = behind.given[0]
    if not all(given.known for given in behind.given):
        return inner, rest
    misplaced = Setting("misplaced", first.words[0].text, first.setting.span)
    layer = layer._replace(options={**layer.options, "misplaced": misplaced})
    return inner._replace(layers=(*inner.layers[:-1], layer)), behind.rest


def runs_shell(text: Text) -> bool:
    """Whether a command line is empty, or a shell that reads what it is sent."""
    return text.value is not None and _SHELL.fullmatch(text.value) is not None


def find_inner(words: tuple[Word, ...], wrapper: Wrapper) -> tuple[Word, ...] | None:
    """The words behind the name of a wrapper and its subcommand; None where it is used for something else."""
    words = words[1:]
    if wrapper.subcommands:
        at = next((i for i, w in enumerate(words) if not known_prefix(w.text).startswith("-")), len(words))
        if at == len(words) or words[at].text.value not in wrapper.subcommands:
            return None
        words = words[at + 1 :]
    if wrapper.kind == "ray":
        return words[1:] if words and words[0].text.value == "submit" else None
    if wrapper.kind == "nice" and words and re.fullmatch(r"-\d+", known_prefix(words[0].text)):
        return words[1:]
    return words


def describe_layer(command: Command, wrapper: Wrapper, parsed: Parsed) -> Layer:
    options = parsed.settings
    if wrapper.kind == "docker" and command.words[1].text.value == "exec":
        options["subcommand"] = Setting("subcommand", command.words[1].text, command.words[1].span)
    behind = len(command.words) - len(parsed.rest)
    return Layer(wrapper.kind, options, command.words[0].span, command.words[:behind])


def complete_words(
    command: Command, wrapper: Wrapper, parsed: Parsed, rest: tuple[Word, ...]
) -> tuple[Word, ...]:
    """The inner command with what the wrapper adds to it: python by `uv run FILE`, the entry point of a container."""
    module = "module" in parsed.settings
    if wrapper.kind == "uv" and rest and (known_prefix(rest[0].text).endswith(".py") or module):
        return python_words(rest, module, command.words[0].span)
    entry = parsed.settings.get("entrypoint")
    if wrapper.kind == "docker" and entry is not None and entry.text is not None:
        return (Word(entry.text, entry.span), *rest)
    if wrapper.kind == "kubectl":
        # Options may stand behind the pod; the command stands behind `--`.
        at = next((i for i, word in enumerate(rest) if word.text.value == "--"), -1)
        return rest[at + 1 :]
    return rest[1:] if rest and known_prefix(rest[0].text) == "--" else rest


def base_name(word: Word) -> str | None:
    """The name of a command without its folder; a folder need not be known."""
    tail = word.text.display() if word.text.known else _known_tail(word.text)
    if tail is None or word.many:
        return None
    return tail.rsplit("/", 1)[-1] or None


def _known_tail(text: Text) -> str | None:
    """What follows the last slash, where that is known (`$ROOT/bin/torchrun`)."""
    tail = []
    for piece in reversed(text.pieces):
        if piece.unknown is not None:
            return None
        tail.append(piece.text)
        if "/" in piece.text:
            return "".join(reversed(tail))
    return None


def is_command(word: Word) -> bool:
    """Whether a word names a launcher, a wrapper, a shell or python."""
    name = base_name(word)
    if name is None:
        return False
    return name in WRAPPERS or name in SHELLS or is_python(name) or is_starter((word,), loose=True)


def skip_operands(words: tuple[Word, ...], count: int) -> tuple[Word, ...]:
    """Leave out operands that stand in front of the inner command; one of unknown length may hold several."""
    for _ in range(count):
        if words and not is_command(words[0]):
            words = words[1:]
    return words


def python_words(words: tuple[Word, ...], module: bool, span: Span) -> tuple[Word, ...]:
    """The words of the python command that `uv run FILE` or `uv run -m MODULE` stands for."""
    python = Word(Text.literal("python", Span(span.source, span.start, span.start)), span)
    if module:
        return (python, Word(Text.literal("-m", Span(span.source, span.start, span.start)), span), *words)
    return (python, *words)
