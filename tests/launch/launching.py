"""What the launch stage makes of a script: for the tests beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from preflight.execution import Context, Script
from preflight.launch.find import find_launches
from preflight.launch.header import read_header
from preflight.launch.model import Launch, Number
from preflight.launch.scheduler import scheduler_variables
from preflight.shell import read_script as read_shell
from preflight.source import Files, Source


def read_python(source: Source, context: Context, **state: Any) -> Script:
    from preflight.python import read_script

    return read_script(source, context, read_shell=read_shell, **state)


def launches_of(text: str, folder: Path | None = None, **context: Any) -> tuple[Launch, ...]:
    """The launches of a bash script, whose siblings lie in `folder`."""
    where = str(folder) if folder is not None else "/nonexistent"
    surroundings = Context(Files(where, (where,)), arguments={0: "train.sh"}, **context)
    source = Source("train.sh", text.encode())
    exported = scheduler_variables(read_header(source), surroundings.environment)
    script = read_shell(source, surroundings, exported=exported)
    return find_launches(script, surroundings, read_shell=read_shell, read_python=read_python)


def only(text: str, folder: Path | None = None, **context: Any) -> Launch:
    (launch,) = launches_of(text, folder, **context)
    return launch


def counts(launch: Launch) -> tuple[int | str | None, int | str | None, int | str | None]:
    """Nodes, processes per node, world size; an unknown one by its reason."""
    launcher = launch.launcher
    return (
        _count(launcher.nodes),
        _count(launcher.processes_per_node),
        _count(launcher.world_size),
    )


def _count(number: Number) -> int | str | None:
    return number.unknown.reason if number.unknown is not None else number.value


def command_of(launch: Launch) -> str:
    return " ".join(word.text.display() for word in launch.command)


def environment_of(launch: Launch) -> dict[str, str | None]:
    """What the ranks are known to see; `?` for an unknown value."""
    return {
        name: None if text is None else text.value if text.known else "?"
        for name, text in launch.environment.items()
    }
