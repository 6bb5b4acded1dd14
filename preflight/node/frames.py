"""A node's digest as short lines that survive thousands of tasks printing at once, and their way back.

In: a digest; or the lines of a stream with anything between them.  Out: frames of at most `LONGEST` bytes; or digests,
one for each host.  `srun` cuts and mixes lines of 1,024 bytes and more, so each frame is shorter, is written by a
single call, and carries its number and a checksum: a frame that arrives damaged is no frame.
"""

from __future__ import annotations

import base64
import os
import re
import zlib
from collections.abc import Iterable

from preflight.node.digest import Digest, DigestError, read_digest, write_digest
from preflight.record import NamedTuple

MARK = "@PF1"
LONGEST = 880
"""Bytes of a frame with its line end."""
LARGEST = 1 << 20
"""Bytes that a digest may unpack to; one that claims more is damaged or hostile."""
KEPT_LINES = 200

_FRAME = re.compile(r"@PF1 (\S{1,255}) ([0-9a-f]{6}) (\d{1,4})/(\d{1,4}) ([0-9a-f]{8}) ([A-Za-z0-9+/=]+)")
_TROUBLE = re.compile(r"error|fail|cannot|timed out|unreachable|refused", re.IGNORECASE)


def make_frames(digest: Digest) -> list[bytes]:
    """The lines to print, each with its line end."""
    host = re.sub(r"\s", "_", digest.host)[:255] or "unknown"
    payload = base64.b64encode(zlib.compress(write_digest(digest).encode(), 9)).decode()
    token = os.urandom(3).hex()
    room = LONGEST - len(f"{MARK} {host} {token} 9999/9999 00000000 \n".encode())
    chunks = [payload[at : at + room] for at in range(0, len(payload), room)]
    return [
        f"{MARK} {host} {token} {number}/{len(chunks)} {zlib.crc32(chunk.encode()):08x} {chunk}\n".encode()
        for number, chunk in enumerate(chunks, 1)
    ]


def print_frames(digest: Digest, descriptor: int) -> None:
    """Write each frame by one call."""
    for frame in make_frames(digest):
        written = 0
        while written < len(frame):
            written += os.write(descriptor, frame[written:])


class Collection(NamedTuple):
    """What a stream held: digests by host, hosts of which only a part arrived, and what people should see."""

    digests: dict[str, Digest]
    partial: dict[str, tuple[int, int]]
    repeated: dict[str, int]
    damaged: int
    lines: tuple[str, ...]


class Collector:
    """Takes lines as they come; frames may be labelled (`srun --label`), indented or among other output."""

    def __init__(self) -> None:
        self.digests: dict[str, Digest] = {}
        self.reports: dict[str, set[str]] = {}
        self.pending: dict[tuple[str, str], dict[int, str]] = {}
        self.sizes: dict[tuple[str, str], int] = {}
        self.damaged = 0
        self.lines: list[str] = []

    def feed(self, line: str) -> str | None:
        """One line; returns the host whose digest it completes."""
        if MARK not in line:
            if len(self.lines) < KEPT_LINES and _TROUBLE.search(line):
                self.lines.append(line.strip()[:400])
            return None
        completed = None
        for match in _FRAME.finditer(line):
            completed = self._take(*match.groups()) or completed
        if not _FRAME.search(line):
            self.damaged += 1
        return completed

    def _take(self, host: str, token: str, number: str, count: str, checksum: str, chunk: str) -> str | None:
        if f"{zlib.crc32(chunk.encode()):08x}" != checksum:
            self.damaged += 1
            return None
        key = host, token
        parts = self.pending.setdefault(key, {})
        parts[int(number)] = chunk
        self.sizes[key] = int(count)
        if len(parts) < int(count) or any(at not in parts for at in range(1, int(count) + 1)):
            return None
        payload = "".join(parts[at] for at in range(1, int(count) + 1))
        del self.pending[key]
        digest = unpack(payload)
        if digest is None:
            self.damaged += 1
            return None
        self.add(host, digest, token)
        return host

    def add(self, host: str, digest: Digest, token: str) -> None:
        """The last complete digest of a host counts."""
        self.digests[host] = digest
        self.reports.setdefault(host, set()).add(token)

    def finish(self) -> Collection:
        partial = {
            host: (len(parts), self.sizes[host, token])
            for (host, token), parts in self.pending.items()
            if host not in self.digests
        }
        repeated = {host: len(tokens) for host, tokens in self.reports.items() if len(tokens) > 1}
        return Collection(self.digests, partial, repeated, self.damaged, tuple(self.lines))


def unpack(payload: str) -> Digest | None:
    """The digest of a whole payload, or None where it is damaged."""
    try:
        engine = zlib.decompressobj()
        data = engine.decompress(base64.b64decode(payload, validate=True), LARGEST)
        return read_digest(data) if engine.eof else None
    except (ValueError, zlib.error, DigestError):
        return None


def collect(lines: Iterable[str]) -> Collection:
    """Everything that a finished stream holds."""
    collector = Collector()
    for line in lines:
        collector.feed(line)
    return collector.finish()
