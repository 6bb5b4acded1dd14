"""The evaluator for tests: a script's launches as plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from preflight.execution import Context, Execution, Script
from preflight.shell import read_script
from preflight.source import Files, Source
from tests.shell.bash import LAUNCHERS


def evaluate(
    script: str | bytes,
    folder: Path | None = None,
    *,
    arguments: Sequence[str] | None = None,
    environment: Mapping[str, str] = {},
    closed: bool = False,
    strict: bool = False,
    name: str = "script.sh",
    source_paths: tuple[str, ...] = (),
) -> Script:
    """Read a script as if it lay in a folder; arguments None: not known."""
    data = script.encode("utf-8", "surrogateescape") if isinstance(script, str) else script
    where = str(folder or "/nonexistent")
    context = Context(
        Files(where, (where,)),
        environment,
        closed,
        strict,
        dict(enumerate(arguments or (), 1)),
        arguments is not None,
        source_paths,
    )
    return read_script(Source(name, data), context)


def launches(script: Script) -> list[Execution]:
    """The executions of launchers, in order."""
    return [e for e in script.executions if e.words and e.words[0].text.value in LAUNCHERS]


def known_words(execution: Execution) -> list[str | None]:
    """The words of a command; None for unknown ones."""
    return [word.text.value for word in execution.words]


def shown(execution: Execution) -> list[str]:
    """The words of a command, with `?` in front of unknown and `?*` in front of any number of words."""
    return [("" if w.text.known else "?*" if w.many else "?") + w.text.display() for w in execution.words]


def agrees(words: Sequence[tuple[str | None, bool]], truth: Sequence[str]) -> bool:
    """Whether words (None: unknown; the flag: any number of words) can be this command line."""
    reachable = {0}
    for value, many in words:
        if value is not None:
            reachable = {at + 1 for at in reachable if at < len(truth) and truth[at] == value}
        elif many:
            reachable = set(range(min(reachable), len(truth) + 1)) if reachable else set()
        else:
            reachable = {at + 1 for at in reachable if at < len(truth)}
    return len(truth) in reachable
