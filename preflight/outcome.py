"""What a check of several files came to: the record that reports are written from.

In: nothing; these are the records between the chain and the reports.  Findings that an ignore comment or the
baseline covers stay in the list with the reason in `ignored`: reports count them and do not show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from preflight.diagnostics import SEVERITIES, Diagnostic, Severity, Undecided
from preflight.record import NamedTuple
from preflight.source import Source


class FileOutcome(NamedTuple):
    """One file: `error` says why it could not be read or checked (then nothing else holds).

    `launches` counts the launch commands, `rules` those that were looked at.  `fail_on` and `strict` are what this
    file's settings say.  `remarks` are sentences for people about a reduced check (an assumed release).
    """

    path: str
    launches: int = 0
    error: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    target: str | None = None
    rules: int = 0
    sources: tuple[Source, ...] = ()
    fail_on: Severity = "error"
    strict: bool = False
    remarks: tuple[str, ...] = ()


class RulePage(NamedTuple):
    """What a report says of a rule beyond its findings."""

    name: str
    family: str
    summary: str
    severity: str
    why: str = ""
    help: str = ""
    references: tuple[str, ...] = ()


class Outcome(NamedTuple):
    """All files of a run; `node` holds the findings about the machine itself."""

    version: str
    files: tuple[FileOutcome, ...]
    target: str | None = None
    pages: Mapping[str, RulePage] = {}
    secrets: frozenset[str] = frozenset()
    node: tuple[Diagnostic, ...] = ()
    node_error: str | None = None
    stale: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """All that count, sorted by path, position and rule."""
        return tuple(sorted((d for d in self._all() if d.ignored is None), key=order))

    @property
    def ignored(self) -> int:
        return sum(d.ignored is not None for d in self._all())

    @property
    def undecided(self) -> tuple[Undecided, ...]:
        return tuple(undecided for file in self.files for undecided in file.undecided)

    def count(self, severity: Severity) -> int:
        return sum(d.severity == severity and d.ignored is None for d in self._all())

    def _all(self) -> Iterator[Diagnostic]:
        for file in self.files:
            yield from file.diagnostics
        yield from self.node


def order(diagnostic: Diagnostic) -> tuple[str, int, int, str, str]:
    """The order of findings: by path, position, rule, message."""
    if not diagnostic.labels:
        return diagnostic.path, 0, 0, diagnostic.rule, diagnostic.message
    span = diagnostic.labels[0].span
    return span.path, span.start, span.end, diagnostic.rule, diagnostic.message


def reaches(severity: Severity, threshold: Severity) -> bool:
    """Whether a severity is at or above a threshold."""
    return SEVERITIES.index(severity) >= SEVERITIES.index(threshold)


def exit_status(outcome: Outcome) -> int:
    """0 clean, 1 findings, 3 something could not be read or checked, 4 only node findings; precedence 3, 1, 4."""
    if outcome.node_error is not None or any(file.error is not None for file in outcome.files):
        return 3
    for file in outcome.files:
        if file.strict and file.undecided:
            return 1
        if any(d.ignored is None and reaches(d.severity, file.fail_on) for d in file.diagnostics):
            return 1
    threshold: Severity = min((f.fail_on for f in outcome.files), key=SEVERITIES.index, default="error")
    if any(d.ignored is None and reaches(d.severity, threshold) for d in outcome.node):
        return 4
    return 0
