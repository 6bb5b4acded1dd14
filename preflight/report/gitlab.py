"""The gitlab report: a Code Quality artifact.

In: an outcome.  Out: a JSON list.  GitLab shows only the first of two findings with one fingerprint and takes the
difference between branches by it, so it is the finding's own, which survives moved lines and is unique.
"""

from __future__ import annotations

import json

from preflight.diagnostics import Diagnostic
from preflight.outcome import Outcome
from preflight.report.mask import Mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LEVELS = {"error": "critical", "warning": "minor", "note": "info"}


def write_gitlab(outcome: Outcome) -> str:
    entries = [_entry(diagnostic) for diagnostic in outcome.findings]
    entries += [_fault(file.path, file.error) for file in outcome.files if file.error is not None]
    if outcome.node_error is not None:
        entries.append(_fault("node", outcome.node_error))
    document = Mask(outcome.secrets).all(entries)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _entry(diagnostic: Diagnostic) -> dict[str, Any]:
    span = diagnostic.labels[0].span if diagnostic.labels else None
    lines = {"begin": 1}
    if span is not None:
        lines = {"begin": span.position.line, "end": max(span.end_position.line, span.position.line)}
    return {
        "description": diagnostic.message,
        "check_name": diagnostic.rule,
        "fingerprint": diagnostic.fingerprint,
        "severity": LEVELS[diagnostic.severity],
        "location": {"path": span.path if span else diagnostic.path or "node", "lines": lines},
    }


def _fault(path: str, message: str) -> dict[str, Any]:
    from preflight.fingerprint import digest

    return {
        "description": message,
        "check_name": "unreadable",
        "fingerprint": digest("unreadable", path, message),
        "severity": "blocker",
        "location": {"path": path, "lines": {"begin": 1}},
    }
