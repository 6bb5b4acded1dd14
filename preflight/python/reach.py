"""Whether a function or class that was imported, but not read, may start training: by the text of its module.

In: a name and the file that it is imported from.  Out: yes or no.  The text of the definition is searched, and those
of all that it names, through imports too; that costs little, where following them costs many times what a file does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache

from preflight.execution import Context
from preflight.python.modules import find_module
from preflight.python.signs import sets_sizes, starts_program, words_launch
from preflight.source import Refusal, Source

LARGEST_MODULE = 400_000
"""Largest imported module whose text is looked at, in bytes."""

LEAST_READ = 60_000
"""Bytes of modules that are divided, at least."""

MOST_READ = 4
"""How many times the length of a file itself may be divided."""

LEAST_SEARCHED = 12_000
"""Bytes of definitions that are searched, at least."""

MOST_SEARCHED = 2
"""How many times the length of a file itself may be searched."""

MAXIMUM_HOPS = 2
"""Imports that are followed one after the other."""

MAXIMUM_SECTIONS = 100
"""Definitions whose text is searched."""

_BEGIN = re.compile(rb"\n(?:async[ \t]+def|def|class)[ \t]+(\w+)")
_END = re.compile(rb"\n[A-Za-z_@]")
_IMPORT = re.compile(rb"\n[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_REMARK = re.compile(rb"#[^\n'\"]*(?=\n)|\A(?:async[ \t]+)?def[^\n]*:\n\s*(?:\"\"\"[^\"]*\"\"\"|'''[^']*''')")
_SIGNATURE = re.compile(rb"(?:async[ \t]+)?def[ \t]+\w+[ \t]*\((.*?)\)[ \t]*(?:->[^\n]*)?:", re.DOTALL)
_STARTED = re.compile(
    rb"(?:system|[pP]open|run|call|check_call|check_output|exec\w*|spawn\w*|shell|command|cmd|job)\w*\(([^)]*)"
)
_GIVEN = re.compile(rb"(?<![\w{.'\"])([A-Za-z_]\w*)(?!\s*=[^=])")
_CALL = re.compile(rb"(?<![.\w])([A-Za-z_]\w*+)[ \t]*+[(,)]")


class Text:
    """A module's definitions, by name, and where its other names are imported from."""

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        data = b"\n" + data
        self.sections: dict[bytes, bytes] = {}
        for match in _BEGIN.finditer(data):
            end = _END.search(data, match.end())
            self.sections[match[1]] = data[match.start() + 1 : end.start() if end is not None else len(data)]
        self.imports: dict[bytes, bytes] = {}
        for module, names in _IMPORT.findall(data):
            for name in _WORD.findall(names):
                self.imports.setdefault(name, module)


@lru_cache(maxsize=64)
def divide(data: bytes) -> Text:
    return Text(data)


Used = tuple[str, str]
"""A name, and the file that it is imported from."""


def reaches_training(used: list[Used], script: Source, context: Context) -> bool:
    """Whether what names of files stand for may start training.

    A definition does that starts a program and has words of a launch; so does a function that starts what it is given,
    where the words stand in the script or in another function.
    """
    sections = [_REMARK.sub(b"", section) for section in reached(used, script, context)]
    starting = [section for section in sections if starts_program(section)]
    if any(map(words_launch, starting)):
        return True
    if not any(map(_starts_what_is_given, starting)):
        return False
    return words_launch(script.data) or any(words_launch(s) for s in sections if not s.startswith(b"class"))


def _starts_what_is_given(section: bytes) -> bool:
    """Whether a function starts what one of its parameters is, rather than a program of its own."""
    signature = _SIGNATURE.match(section)
    if signature is None:
        return False
    parameters = set(_WORD.findall(signature[1]))
    started = b" ".join(_STARTED.findall(section, signature.end()))
    return not parameters.isdisjoint(_GIVEN.findall(started))


def reaches_settings(used: Used, script: Source, context: Context) -> bool:
    """Whether a function builds a configuration; a class may hold one for many other reasons."""
    sections = reached([used], script, context)
    first = next(sections, b"class")
    return not first.startswith(b"class") and (sets_sizes(first) or any(map(sets_sizes, sections)))


def reached(used: list[Used], script: Source, context: Context) -> Iterator[bytes]:
    """The texts of definitions and of those that they name."""
    seen: set[tuple[bytes, str]] = set()
    read: set[str] = set()
    left = max(LEAST_READ, MOST_READ * len(script.data))
    searched = max(LEAST_SEARCHED, MOST_SEARCHED * len(script.data))
    waiting = [(name.encode(), place, 0) for name, place in used]
    while waiting and len(seen) < MAXIMUM_SECTIONS:
        word, at, hops = waiting.pop()
        if (word, at) in seen:
            continue
        seen.add((word, at))
        text = _read(at, context)
        if text is None:
            continue
        if at not in read:
            read.add(at)
            left -= text.size
            if left < 0:
                return
        section = text.sections.get(word)
        if section is not None and len(section) > searched:
            continue
        if section is None:
            names = {word}
        else:
            searched -= len(section)
            yield section
            names = set(_CALL.findall(section))
            waiting += [(other, at, hops) for other in sorted(names & text.sections.keys())]
        if hops < MAXIMUM_HOPS:
            here = os.path.dirname(at)
            for other in sorted(names & text.imports.keys()):
                module = text.imports[other]
                dots = len(module) - len(module.lstrip(b"."))
                found = find_module(module[dots:].decode(), dots, here, script.path, context.files)
                if found is not None:
                    waiting.append((other, found, hops + 1))


def _read(place: str, context: Context) -> Text | None:
    if context.files.kind(place) != "file":
        return None
    source = context.files.read(place)
    if isinstance(source, Refusal) or len(source.data) > LARGEST_MODULE:
        return None
    return divide(source.data)
