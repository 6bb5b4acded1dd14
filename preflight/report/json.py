"""The json report, schema 1: everything that a check found, for programs.

In: an outcome.  Out: one JSON document.  Lines and columns count from 1, in characters; edits are byte offsets.  Fields
may be added; none changes its meaning within a schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from preflight.diagnostics import Diagnostic, Fix, Undecided
from preflight.execution import Condition
from preflight.outcome import Outcome
from preflight.report.mask import Mask
from preflight.source import Span
from preflight.values import Assumption

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA = 1


def write_json(outcome: Outcome) -> str:
    document = Mask(outcome.secrets).all(describe_outcome(outcome))
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def describe_outcome(outcome: Outcome) -> dict[str, Any]:
    """The document, before masking."""
    return {
        "schema": SCHEMA,
        "tool": f"preflight {outcome.version}",
        "target": outcome.target,
        "files": [
            {"path": f.path, "launches": f.launches, "error": f.error, "target": f.target}
            for f in outcome.files
        ],
        "findings": [describe_finding(diagnostic) for diagnostic in outcome.findings],
        "undecided": [describe_undecided(undecided) for undecided in outcome.undecided],
        "node_error": outcome.node_error,
        "summary": {
            "errors": outcome.count("error"),
            "warnings": outcome.count("warning"),
            "notes": outcome.count("note"),
            "undecided": len(outcome.undecided),
            "ignored": outcome.ignored,
        },
    }


def describe_finding(diagnostic: Diagnostic) -> dict[str, Any]:
    first = diagnostic.labels[0].span if diagnostic.labels else None
    return {
        "rule": diagnostic.rule,
        "family": diagnostic.family,
        "severity": diagnostic.severity,
        "fails_at": diagnostic.fails_at,
        "path": first.path if first else diagnostic.path,
        "script": diagnostic.path,
        "launch": diagnostic.launch,
        "configuration": diagnostic.configuration,
        "node": diagnostic.node,
        "releases": diagnostic.releases,
        **(_place(first) if first else dict.fromkeys(("line", "column", "end_line", "end_column"))),
        "message": diagnostic.message,
        "help": diagnostic.help,
        "notes": list(diagnostic.notes),
        "labels": [
            {"path": label.span.path, **_place(label.span), "text": label.quoted, "primary": label.primary}
            for label in diagnostic.labels
            if not label.hidden
        ],
        "when": describe_conditions(diagnostic.conditions),
        "assumptions": [describe_assumption(assumption) for assumption in diagnostic.assumptions],
        "facts": {name: plain(value) for name, value in diagnostic.facts.items()},
        "fix": describe_fix(diagnostic.fix) if diagnostic.fix else None,
        "fingerprint": diagnostic.fingerprint,
    }


def describe_undecided(undecided: Undecided) -> dict[str, Any]:
    return {
        "rule": undecided.rule,
        "path": undecided.path,
        "line": undecided.span.position.line if undecided.span else None,
        "launch": undecided.launch,
        "blocked_by": [
            {"fact": fact, "reason": reason, "text": text, "remedy": remedy}
            for fact, reason, text, remedy in undecided.blocked_by
        ],
    }


def describe_conditions(conditions: Sequence[Condition]) -> list[dict[str, Any]]:
    described = []
    for condition in conditions:
        span = condition.span.resolve()
        described.append(
            {"path": span.path, "line": span.position.line, "text": condition.text, "taken": condition.taken}
        )
    return described


def describe_assumption(assumption: Assumption) -> dict[str, Any]:
    span = assumption.span.resolve()
    return {
        "name": assumption.name,
        "value": assumption.value,
        "path": span.path,
        "line": span.position.line,
    }


def describe_fix(fix: Fix) -> dict[str, Any]:
    return {
        "title": fix.title,
        "safety": fix.safety,
        "edits": [
            {"path": edit.span.path, "start": edit.span.start, "end": edit.span.end, "text": edit.text}
            for edit in fix.edits
        ],
    }


def plain(value: object) -> Any:
    """A fact's value as JSON has it; numbers that JSON lacks become text."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Sequence):
        return [plain(each) for each in value]
    return str(value)


def _place(span: Span) -> dict[str, int]:
    start, end = span.position, span.end_position
    return {"line": start.line, "column": start.column, "end_line": end.line, "end_column": end.column}
