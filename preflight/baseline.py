"""The baseline: findings that are known and accepted, so that a gate can be adopted without mending everything first.

In: a file of fingerprints, or the findings of a run.  Out: the findings, known ones marked; the entries that nothing
matches any more; or the file.  It is sorted and has a line for each finding, so that its changes read well in a review.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence

from preflight.diagnostics import Diagnostic
from preflight.record import NamedTuple

SCHEMA = 1


class Entry(NamedTuple):
    """One accepted finding; the message is for people."""

    path: str
    rule: str
    fingerprint: str
    message: str = ""


class BaselineError(Exception):
    """A baseline that cannot be used."""


def read_baseline(path: str) -> tuple[Entry, ...]:
    """The entries of a baseline file."""
    try:
        with open(path, "rb") as stream:
            document = json.loads(stream.read())
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise BaselineError(
                f"{path}: not a baseline of schema {SCHEMA}; write it anew with --write-baseline"
            )
        return tuple(
            Entry(str(e["path"]), str(e["rule"]), str(e["fingerprint"]), str(e.get("message", "")))
            for e in document["findings"]
        )
    except FileNotFoundError:
        raise BaselineError(f"{path}: no such baseline; write it with --write-baseline {path}") from None
    except OSError as error:
        raise BaselineError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise BaselineError(f"{path}: not a baseline; write it anew with --write-baseline {path}") from None


def apply_baseline(
    diagnostics: Sequence[Diagnostic], entries: Iterable[Entry]
) -> tuple[list[Diagnostic], list[Entry]]:
    """Mark the known findings; returns them and the entries that were of no use."""
    left = Counter(entry.fingerprint for entry in entries)
    marked = []
    for diagnostic in diagnostics:
        if diagnostic.ignored is None and left[diagnostic.fingerprint] > 0:
            left[diagnostic.fingerprint] -= 1
            diagnostic = diagnostic._replace(ignored="baseline")
        marked.append(diagnostic)
    stale = []
    for entry in entries:
        if left[entry.fingerprint] > 0:
            left[entry.fingerprint] -= 1
            stale.append(entry)
    return marked, stale


def write_baseline(path: str, diagnostics: Iterable[Diagnostic], place: str) -> int:
    """Write the findings that no comment covers; returns how many. `place` is the root of the paths."""
    entries = sorted(
        Entry(os.path.relpath(os.path.abspath(d.path), place), d.rule, d.fingerprint, d.message)
        for d in diagnostics
        if d.ignored in (None, "baseline")
    )
    lines = ",\n".join("  " + json.dumps(entry._asdict(), ensure_ascii=False) for entry in entries)
    body = (
        f'{{"schema": {SCHEMA}, "findings": [\n{lines}\n]}}\n'
        if entries
        else f'{{"schema": {SCHEMA}, "findings": []}}\n'
    )
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(body)
    return len(entries)
