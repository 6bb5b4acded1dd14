"""Explains flags that a release does not know, from the program's own code and a checkout beside it.

In: a launch and what may be read.  Out: further options, and why the program counts as a fork.  It is asked only when
a flag is unknown, since it reads and parses files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from preflight.launch.model import Launch
from preflight.record import NamedTuple
from preflight.source import Files, Refusal
from preflight.targets.origin import FORK_SIGNS
from preflight.targets.releases import parse_version
from preflight.targets.table import Option, Program, Table
from preflight.targets.version import read_version

CHECKOUT_NAMES = ("", "Megatron-LM", "megatron-lm", "third_party/Megatron-LM", "3rdparty/Megatron-LM")
"""Where a checkout may lie, seen from a folder at or above the script."""

CHECKOUT_SIGNS = ("core/__init__.py", "training/arguments.py", "arguments.py")
"""Files by which one knows it, below its folder `megatron`."""

FIRST = (0, 5)
"""The first version that there is a flag table for."""

PYTHON_MINORS = range(8, 16)

LEVELS = 6
"""So many folders from the script's upwards, as far as they may be read: scripts are often started from above."""

_programs: dict[tuple[str, tuple[str, ...]], Program | None] = {}
_checkouts: dict[tuple[str, tuple[str, ...]], str | None] = {}
_parsers: dict[str, tuple[Option, ...]] = {}


class Explained(NamedTuple):
    """Options beyond the table's, the program whose file was found, and what says that a fork runs."""

    options: tuple[Option, ...] = ()
    fork: str = ""
    program: Program | None = None
    changed: tuple[Option, ...] = ()
    """Options of the table that the checkout defines in its own way."""


def explain_flags(
    launch: Launch, table: Table, flags: tuple[str, ...], files: Files, refused: frozenset[str] = frozenset()
) -> Explained:
    """Look for the definition of flags; `refused` are known ones whose values the table does not take."""
    folders = tuple(list_folders(launch, files))
    options: list[Option] = []
    fork = ""
    program = None
    path = locate_program(launch, files, folders)
    if path is not None:
        key = (path, folders)
        if key not in _programs:
            from preflight.targets.modules import Modules
            from preflight.targets.program import read_program

            _programs[key] = read_program(path, Modules(files, (os.path.dirname(path), *folders)))
        program = _programs[key]
        if program is not None:
            options += program.options
        fork = read_fork_sign(path, files)
    known = {text for option in options for text in option.strings} | table.flags.keys()
    if not any(flag not in known or flag in refused for flag in flags):
        return Explained(tuple(options), fork, program)
    changed: tuple[Option, ...] = ()
    checkout = find_checkout(launch, files)
    if checkout is not None:
        if checkout not in _parsers:
            from preflight.targets.checkout import read_parser
            from preflight.targets.modules import Modules

            parser = read_parser(Modules(files, (checkout,)))
            _parsers[checkout] = tuple(parser.options) if parser is not None else ()
        more = [option for option in _parsers[checkout] if not known.intersection(option.strings)]
        if any(flag in option.strings for option in more for flag in flags):
            options += more
            fork = fork or "the checkout beside it has flags of its own"
        changed = tuple(option for option in _parsers[checkout] if refused.intersection(option.strings))
    return Explained(tuple(options), fork, program, changed)


def list_folders(launch: Launch, files: Files) -> Iterator[str]:
    """Folders where the program and its imports may lie: its directory, the script's, PYTHONPATH, the root."""
    seen: set[str] = set()
    directory = launch.directory.value if launch.directory is not None else None
    script = os.path.dirname(os.path.join(files.directory, launch.source.path))
    path = launch.environment.get("PYTHONPATH")
    listed = path.display().split(":") if path is not None else []
    above = [script]
    while len(above) < LEVELS and os.path.dirname(above[-1]) != above[-1]:
        above.append(os.path.dirname(above[-1]))
    for folder in (directory, *listed, *above, files.directory, *files.folders):
        if not folder or "$" in folder:
            continue
        real = files.locate(folder)
        if isinstance(real, str) and real not in seen:
            seen.add(real)
            yield real


def locate_program(launch: Launch, files: Files, folders: tuple[str, ...]) -> str | None:
    """The file of the program, where it can be found and read."""
    if launch.program is None or launch.program.text.value is None:
        return None
    name = launch.program.text.value
    if not name.endswith(".py"):
        if not name or "/" in name:
            return None
        name = name.replace(".", "/") + ".py"
    for folder in folders:
        path = os.path.normpath(os.path.join(folder, name))
        if files.kind(path) == "file":
            return path
    return None


def read_fork_sign(path: str, files: Files) -> str:
    """What the program's text says of a fork."""
    source = files.read(path)
    if isinstance(source, Refusal):
        return ""
    data = source.data.lower()
    sign = next((sign for sign in FORK_SIGNS if sign in data), None)
    return f"the program speaks of {sign.decode().strip('_')}" if sign else ""


def find_checkout(launch: Launch, files: Files) -> str | None:
    """A Megatron checkout beside the program or script, or above them, as far as files may be read."""
    for start in list_folders(launch, files):
        found = climb(start, files)
        if found is not None:
            return found
    return None


def find_old_checkout(launch: Launch, files: Files) -> str:
    """What says that a Megatron from before core 0.5, or a fork of one, lies beside the script."""
    checkout = find_checkout(launch, files)
    if checkout is None:
        return ""
    version = parse_version(read_version(checkout, files) or "")
    if version is None and files.kind(f"{checkout}/megatron/arguments.py") != "file":
        return ""
    return "" if version and version >= FIRST else "the checkout beside it is older than Megatron core 0.5"


def climb(folder: str, files: Files) -> str | None:
    """The first checkout beside a folder or above it."""
    while True:
        key = (folder, files.folders)
        if key not in _checkouts:
            _checkouts[key] = look_beside(folder, files)
        if _checkouts[key] is not None:
            return _checkouts[key]
        above = os.path.dirname(folder)
        if above == folder or isinstance(files.locate(above), Refusal):
            return None
        folder = above


def look_beside(folder: str, files: Files) -> str | None:
    """A checkout or an installed Megatron right in a folder."""
    for name in CHECKOUT_NAMES:
        path = os.path.join(folder, name) if name else folder
        if files.kind(f"{path}/megatron") != "folder":
            continue
        if any(files.kind(f"{path}/megatron/{sign}") == "file" for sign in CHECKOUT_SIGNS):
            return path
    return find_installed(folder, files)


def find_installed(folder: str, files: Files) -> str | None:
    """Megatron's package in a virtual environment of the folder."""
    for name in (".venv", "venv"):
        if files.kind(f"{folder}/{name}") != "folder":
            continue
        for minor in PYTHON_MINORS:
            path = f"{folder}/{name}/lib/python3.{minor}/site-packages"
            if files.kind(f"{path}/megatron/core/package_info.py") == "file":
                return path
    return None
