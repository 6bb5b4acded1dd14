"""Which files a run looks at.

In: paths as typed; folders are walked.  Out: `Found` files with the reason why each is a candidate, and those that were
left out.  In folders: `*.sh *.bash *.slurm *.sbatch`, Python files that may hold a launch, and files without an
ending whose first line names a shell; what `.gitignore` or `exclude` names is left out.  A file that is named
itself is always taken, unless `force-exclude` says otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from preflight.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHELL_ENDINGS = (".sh", ".bash", ".slurm", ".sbatch")
SKIPPED = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".mypy_cache"}
)
SHELLS = (b"bash", b"sh", b"dash", b"ksh", b"zsh")


class Found(NamedTuple):
    """A candidate: its path as shown, and why it is one. `named`: the user typed it."""

    path: str
    reason: str
    named: bool = False


def discover(
    paths: Sequence[str], excluded: Callable[[str], bool], force_exclude: bool = False
) -> Iterator[Found]:
    """The files below the paths, each once, folders in the order of their names."""
    seen: set[str] = set()
    for path in paths:
        candidates: Iterable[Found]
        if path == "-":
            candidates = [Found("-", "standard input", True)]
        elif os.path.isdir(path):
            candidates = walk(path, excluded)
        elif force_exclude and excluded(path):
            continue
        else:
            candidates = [Found(os.path.normpath(path), "named", True)]
        for found in candidates:
            key = os.path.realpath(found.path) if found.path != "-" else "-"
            if key not in seen:
                seen.add(key)
                yield found


def walk(folder: str, excluded: Callable[[str], bool]) -> Iterator[Found]:
    """The candidates below a folder."""
    ignored = GitIgnore(folder)
    for at, folders, files in os.walk(folder):
        ignored.enter(at)
        folders[:] = sorted(
            name
            for name in folders
            if name not in SKIPPED
            and not ignored(os.path.join(at, name), True)
            and not excluded(os.path.join(at, name))
        )
        for name in sorted(files):
            path = os.path.normpath(os.path.join(at, name))
            reason = classify(path)
            if reason and not ignored(path, False) and not excluded(path):
                yield Found(path, reason)


def classify(path: str) -> str | None:
    """Why a file of a folder is a candidate, or None."""
    ending = os.path.splitext(path)[1]
    if ending in SHELL_ENDINGS:
        return f"ends in {ending}"
    if ending == ".py":
        from preflight.python.signs import may_hold_launch

        data = _head(path, 1 << 24)
        return "Python that may hold a launch" if data and may_hold_launch(data) else None
    if ending:
        return None
    first = _head(path, 128).partition(b"\n")[0]
    return f"first line names {shell.decode()}" if (shell := shebang_shell(first)) else None


def shebang_shell(line: bytes) -> bytes | None:
    """The shell that a `#!` line names."""
    if not line.startswith(b"#!"):
        return None
    for word in line[2:].split()[:3]:
        name = word.rpartition(b"/")[2]
        if name in SHELLS:
            return name
    return None


def _head(path: str, size: int) -> bytes:
    try:
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as stream:
            return stream.read(size)
    except OSError:
        return b""


class GitIgnore:
    """What the `.gitignore` files from the repository's root downwards leave out."""

    def __init__(self, folder: str) -> None:
        self.specs: dict[str, Any] = {}
        top = os.path.abspath(folder)
        above = []
        while not os.path.exists(os.path.join(top, ".git")):
            parent = os.path.dirname(top)
            if parent == top:
                return
            above.append(parent)
            top = parent
        self._read(top, os.path.join(top, ".git", "info", "exclude"))
        for each in reversed(above):
            self.enter(each)

    def enter(self, folder: str) -> None:
        self._read(os.path.abspath(folder), os.path.join(folder, ".gitignore"))

    def _read(self, folder: str, path: str) -> None:
        try:
            with open(path, encoding="utf-8", errors="replace") as stream:
                lines = stream.read().splitlines()
        except OSError:
            return
        from pathspec import GitIgnoreSpec

        old = self.specs.get(folder)
        spec = GitIgnoreSpec.from_lines(lines)
        self.specs[folder] = spec if old is None else old + spec

    def __call__(self, path: str, folder: bool) -> bool:
        """Whether git would leave the path out; the deepest file that says anything decides."""
        if not self.specs:
            return False
        full = os.path.abspath(path)
        at = os.path.dirname(full)
        while True:
            spec = self.specs.get(at)
            if spec is not None:
                verdict = spec.check_file(os.path.relpath(full, at) + ("/" if folder else "")).include
                if verdict is not None:
                    return bool(verdict)
            above = os.path.dirname(at)
            if above == at:
                return False
            at = above
