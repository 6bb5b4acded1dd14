"""Source text and places in it: the first stage of the chain.

In: bytes, from a file below an allowed folder, from standard input, or derived from known values
(the text of an `eval`, of `bash -c`, of a here-document).  Out: `Source` and `Span`, with byte offsets
that turn into 1-based lines and columns.  `Files` is the only door to the file system; it refuses what
lies outside its folders, what is not a regular file, and what is too large.
"""

from __future__ import annotations

import os
import stat
from bisect import bisect_left, bisect_right

from preflight.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAXIMUM_SIZE = 16 * 1024 * 1024
"""Largest file that is read, in bytes."""
DEEPEST = 100
"""So many folders of a path are looked at one by one."""


class Position(NamedTuple):
    """A place for people: line and column count from 1, columns in characters."""

    line: int
    column: int


class Source:
    """A text and where it came from.

    `origins` is empty for a file.  For derived text it maps byte ranges of `data` to the spans that they
    were copied from: sorted tuples (start, end, span).  A range whose length equals its span's length maps
    byte by byte; any other range maps as a whole.  `carried` is what else derived text takes along, for the
    stage that made it: sorted tuples (start, end, anything).
    """

    __slots__ = ("_starts", "carried", "data", "origins", "path")

    def __init__(
        self,
        path: str,
        data: bytes,
        origins: tuple[tuple[int, int, Span], ...] = (),
        carried: tuple[tuple[int, int, Any], ...] = (),
    ) -> None:
        self.path = path
        self.data = data
        self.origins = origins
        self.carried = carried
        self._starts: list[int] | None = None

    def __repr__(self) -> str:
        return f"Source({self.path!r}, {len(self.data)} bytes)"

    @property
    def text(self) -> str:
        """The whole text; bytes that are not UTF-8 become the replacement character."""
        return self.data.decode("utf-8", "replace")

    @property
    def line_starts(self) -> list[int]:
        """Byte offsets at which the lines begin."""
        if self._starts is None:
            starts, at = [0], self.data.find(b"\n")
            while at >= 0:
                starts.append(at + 1)
                at = self.data.find(b"\n", at + 1)
            self._starts = starts
        return self._starts

    def position(self, offset: int) -> Position:
        """The line and column of a byte offset."""
        starts = self.line_starts
        line = bisect_right(starts, offset)
        before = self.data[starts[line - 1] : offset]
        return Position(line, len(before.decode("utf-8", "replace")) + 1)

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its line end."""
        starts = self.line_starts
        end = starts[number] - 1 if number < len(starts) else len(self.data)
        return self.data[starts[number - 1] : end].decode("utf-8", "replace").rstrip("\r")

    def span(self, start: int, end: int) -> Span:
        return Span(self, start, end)

    def carried_at(self, start: int, end: int) -> list[Any]:
        """What a range of derived text takes along."""
        first = max(bisect_right(self.carried, start, key=_begin) - 1, 0)
        behind = bisect_left(self.carried, end, key=_begin)
        return [content for _, stop, content in self.carried[first:behind] if stop > start]


class Span(NamedTuple):
    """A byte range of a source."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.data[self.start : self.end].decode("utf-8", "replace")

    @property
    def path(self) -> str:
        return self.source.path

    @property
    def position(self) -> Position:
        return self.source.position(self.start)

    @property
    def end_position(self) -> Position:
        return self.source.position(self.end)

    def resolve(self) -> Span:
        """The span in a file that this one stands for: itself, unless its source is derived text."""
        origins = self.source.origins
        if not origins:
            return self
        first_at = bisect_right(origins, self.start, key=_begin) - 1
        if first_at < 0 or origins[first_at][1] <= self.start:
            first_at += 1
        inside = origins[first_at : bisect_left(origins, max(self.end, self.start + 1), key=_begin)]
        if not inside:
            nearest = min(origins, key=lambda entry: abs(entry[0] - self.start))
            return nearest[2].resolve()
        first = _inner(inside[0], self.start, self.end)
        if first.path.startswith("<"):
            # Given by the caller, not written in a file: what stands behind it may be.
            later = (_inner(entry, self.start, self.end) for entry in inside[1:])
            first = next((span for span in later if not span.path.startswith("<")), first)
        last = _inner(inside[-1], self.start, self.end)
        if first.source is not last.source or last.end < first.start:
            return first
        return Span(first.source, first.start, last.end)


def _begin(entry: tuple[int, int, Any]) -> int:
    return entry[0]


def _inner(entry: tuple[int, int, Span], start: int, end: int) -> Span:
    begin, stop, span = entry
    if stop - begin != span.end - span.start:
        return span.resolve()
    low, high = max(start, begin) - begin, min(max(end, start), stop) - begin
    return Span(span.source, span.start + low, span.start + high).resolve()


class Refusal(NamedTuple):
    """Why a file was not read, in words for the user."""

    path: str
    message: str
    absent: bool = False


class Files:
    """Read access to the folders that a check may look into, and to nothing else.

    `directory` is the working directory of the script (preflight's own); relative paths start there.
    `folders` are the project root and the script's own folder.  Symbolic links are followed only as long as
    they stay inside.
    """

    def __init__(self, directory: str, folders: tuple[str, ...]) -> None:
        self.directory = os.path.realpath(directory)
        self.folders = tuple(os.path.realpath(folder) for folder in folders)
        self._read: dict[str, Source | Refusal] = {}
        self._located: dict[tuple[str, str | None], str | Refusal] = {}
        self._folders: dict[str, str] = {}

    def locate(self, path: str, directory: str | None = None) -> str | Refusal:
        """The real path, or why it may not be looked at."""
        key = (path, directory)
        if key not in self._located:
            self._located[key] = self._locate(path, directory)
        return self._located[key]

    def _locate(self, path: str, directory: str | None) -> str | Refusal:
        if "\0" in path or len(path) > 4096:
            return Refusal(path[:80], "not a usable path")
        real = self._follow(os.path.join(directory or self.directory, path))
        if any(real == f or real.startswith(f.rstrip("/") + "/") for f in self.folders):
            return real
        return Refusal(path, "outside the project root and the script's own folder; --root widens it")

    def _follow(self, path: str) -> str:
        """`os.path.realpath`, which asks the disk anew for every folder on the way; here each is asked for once."""
        folder, _, name = path.rpartition("/")
        if not path.startswith("/") or name in ("", ".", "..") or path.count("/") > DEEPEST:
            return os.path.realpath(path)
        if folder and folder not in self._folders:
            self._folders[folder] = self._follow(folder)
        above = self._folders[folder].rstrip("/") if folder else ""
        real = f"{above}/{name}"
        try:
            os.readlink(real)
        except OSError:
            return real
        return os.path.realpath(real)

    def kind(self, path: str, directory: str | None = None) -> str | None:
        """`file`, `folder`, `absent`, or None where looking is not allowed (then it is unknown)."""
        real = self.locate(path, directory)
        if isinstance(real, Refusal):
            return None
        try:
            mode = os.stat(real).st_mode
        except (OSError, ValueError):
            return "absent"
        return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "absent"

    def read(self, path: str, directory: str | None = None) -> Source | Refusal:
        """A file below the allowed folders; the path of the source is as given."""
        real = self.locate(path, directory)
        if isinstance(real, Refusal):
            return real
        if real not in self._read:
            self._read[real] = read_file(real, shown=self.shown(real))
        return self._read[real]

    def preload(self, path: str, data: bytes) -> None:
        """Let a file have other contents than the disk has: a fix that is tried before it is written."""
        real = os.path.realpath(os.path.join(self.directory, path))
        self._read[real] = Source(self.shown(real), data)

    def shown(self, real: str) -> str:
        """How a path is written for the user: relative to the working directory where that is shorter."""
        relative = os.path.relpath(real, self.directory)
        return relative if not relative.startswith("../..") else real


def read_file(path: str, shown: str | None = None) -> Source | Refusal:
    """Read a regular file of at most `MAXIMUM_SIZE` bytes."""
    shown = shown or path
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return Refusal(shown, "not a regular file")
        if status.st_size > MAXIMUM_SIZE:
            return Refusal(shown, f"larger than {MAXIMUM_SIZE // 2**20} MiB")
        with open(path, "rb") as stream:
            return Source(shown, stream.read())
    except FileNotFoundError:
        return Refusal(shown, "no such file", absent=True)
    except OSError as error:
        return Refusal(shown, (error.strerror or str(error)).lower())
