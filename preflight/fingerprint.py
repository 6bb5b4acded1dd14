"""Fingerprints: what makes a finding the same finding in the next run.

In: findings and the project root.  Out: the findings with a fingerprint of rule, path and evidence; never of line
numbers, so that it survives moved lines.  Equal ones in a file get an ordinal, since servers show only one of each.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from preflight.diagnostics import Diagnostic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Hash(Protocol):
        """What a hash function gives."""

        def hexdigest(self) -> str: ...


def stamp(diagnostics: Iterable[Diagnostic], root: str) -> tuple[Diagnostic, ...]:
    """Give each finding its fingerprint; they come in the order of the file."""
    seen: dict[str, int] = {}
    places: dict[str, str] = {}
    stamped = []
    for diagnostic in diagnostics:
        path = diagnostic.path
        if path not in places:
            places[path] = place(path, root)
        basis = digest(diagnostic.rule, places[path], *evidence(diagnostic))
        number = seen[basis] = seen.get(basis, 0) + 1
        stamped.append(diagnostic._replace(fingerprint=basis if number == 1 else digest(basis, str(number))))
    return tuple(stamped)


def place(path: str, root: str) -> str:
    """A path as it is from the root, whatever the working directory is."""
    return os.path.relpath(os.path.abspath(path), root) if path else ""


def evidence(diagnostic: Diagnostic) -> Sequence[str]:
    """What the finding rests on: the facts and their values, or else its words."""
    facts = [f"{name}={value}" for name, value in sorted(diagnostic.facts.items())]
    who = [word for word in (diagnostic.configuration, diagnostic.node) if word]
    branches = [f"{condition.text}={condition.taken}" for condition in diagnostic.conditions]
    return [*who, *branches, *(facts or [diagnostic.message])]


def digest(*parts: str) -> str:
    """32 hexadecimal digits."""
    return load_sha256()("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


@lru_cache(maxsize=1)
def load_sha256() -> Callable[[bytes], Hash]:
    """The interpreter's own function; hashlib would load OpenSSL for it, which costs more than all fingerprints."""
    for name in ("_sha2", "_sha256"):
        try:
            __import__(name)
        except ImportError:
            continue
        found: Callable[[bytes], Hash] = sys.modules[name].sha256
        return found
    from hashlib import sha256

    return sha256
