"""The sarif report: SARIF 2.1.0, for code scanning.

In: an outcome.  Out: one log with one run.  Paths are relative URIs, since servers match findings by them; the
way of each value to the command line is a code flow; a label is a related location; a file that could not be checked
is a notification of the invocation.  `results` is always there, even empty.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from preflight.diagnostics import Diagnostic, Label
from preflight.outcome import Outcome, RulePage
from preflight.report.mask import Mask
from preflight.source import Source, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "note": "note"}


def write_sarif(outcome: Outcome) -> str:
    document = Mask(outcome.secrets).all(describe_log(outcome))
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def describe_log(outcome: Outcome) -> dict[str, Any]:
    """The whole log, before masking."""
    names = sorted({diagnostic.rule for diagnostic in outcome.findings} | set(outcome.pages))
    index = {name: number for number, name in enumerate(names)}
    faults = [(file.path, file.error) for file in outcome.files if file.error is not None]
    if outcome.node_error is not None:
        faults.append(("", outcome.node_error))
    run = {
        "tool": {
            "driver": {
                "name": "preflight",
                "version": outcome.version,
                "semanticVersion": outcome.version,
                "rules": [_descriptor(name, outcome.pages.get(name)) for name in names],
            }
        },
        "invocations": [
            {
                "executionSuccessful": not faults,
                "toolExecutionNotifications": [_notification(path, words) for path, words in faults],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [_result(diagnostic, index) for diagnostic in outcome.findings],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _descriptor(name: str, page: RulePage | None) -> dict[str, Any]:
    if page is None:
        return {"id": name}
    help_ = "\n\n".join(part.strip() for part in (page.why, page.help and f"Remedy: {page.help}") if part)
    listed = "".join(f"\n- {reference}" for reference in page.references)
    text = (help_ or page.summary) + (f"\n\nReferences:{listed}" if listed else "")
    return {
        "id": name,
        "name": "".join(word.capitalize() for word in name.split("-")),
        "shortDescription": {"text": page.summary},
        "fullDescription": {"text": (page.why or page.summary).strip()},
        "help": {"text": text, "markdown": f"**{page.summary}**\n\n{text}"},
        "defaultConfiguration": {"level": LEVELS.get(page.severity, "warning")},
        "properties": {"tags": [page.family]},
    }


def _result(diagnostic: Diagnostic, index: dict[str, int]) -> dict[str, Any]:
    visible = [label for label in diagnostic.labels if not label.hidden]
    text = diagnostic.message + (f"\n{diagnostic.help}" if diagnostic.help else "")
    result: dict[str, Any] = {
        "ruleId": diagnostic.rule,
        "ruleIndex": index[diagnostic.rule],
        "level": LEVELS[diagnostic.severity],
        "message": {"text": text},
        "locations": [_primary(diagnostic)],
        "partialFingerprints": {"preflight/v1": diagnostic.fingerprint},
        "properties": {
            key: value
            for key, value in (
                ("failsAt", diagnostic.fails_at),
                ("release", diagnostic.releases),
                ("configuration", diagnostic.configuration),
                ("node", diagnostic.node),
                ("when", [f"{c.text} is {'true' if c.taken else 'false'}" for c in diagnostic.conditions]),
                ("assumes", [f"{a.name}={a.value}" for a in diagnostic.assumptions]),
            )
            if value
        },
    }
    related = visible[1:]
    if related:
        result["relatedLocations"] = [
            {"id": number, **_location(label.span, label.quoted)} for number, label in enumerate(related, 1)
        ]
        result["codeFlows"] = [{"threadFlows": [{"locations": _flow(visible)}]}]
    if diagnostic.fix is not None and diagnostic.fix.edits:
        result["fixes"] = [_fix(diagnostic)]
    return result


def _primary(diagnostic: Diagnostic) -> dict[str, Any]:
    if diagnostic.labels:
        return _location(diagnostic.labels[0].span)
    if diagnostic.node is not None and not diagnostic.path:
        return {"logicalLocations": [{"name": diagnostic.node, "kind": "resource"}]}
    return {"physicalLocation": {"artifactLocation": {"uri": relative_uri(diagnostic.path)}}}


def _flow(labels: Sequence[Label]) -> list[dict[str, Any]]:
    """From where the values are written to where they are used: the primary label comes last."""
    ordered = [*reversed(labels[1:]), labels[0]]
    return [{"location": _location(label.span, label.quoted or "used here")} for label in ordered]


def _location(span: Span, text: str = "") -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": relative_uri(span.path)},
            "region": _region(span),
        }
    }
    if text:
        location["message"] = {"text": text}
    return location


def _region(span: Span) -> dict[str, Any]:
    start, end = span.position, span.end_position
    return {
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
    }


def _fix(diagnostic: Diagnostic) -> dict[str, Any]:
    assert diagnostic.fix is not None
    changes: dict[str, tuple[Source, list[dict[str, Any]]]] = {}
    for edit in diagnostic.fix.edits:
        replacement = {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}}
        changes.setdefault(edit.span.path, (edit.span.source, []))[1].append(replacement)
    return {
        "description": {"text": diagnostic.fix.title},
        "artifactChanges": [
            {"artifactLocation": {"uri": relative_uri(path)}, "replacements": replacements}
            for path, (_, replacements) in changes.items()
        ],
    }


def _notification(path: str, words: str) -> dict[str, Any]:
    notification: dict[str, Any] = {"level": "error", "message": {"text": words}}
    if path:
        notification["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": relative_uri(path)}}}]
    return notification


def relative_uri(path: str) -> str:
    """A path as a URI relative to the working directory."""
    from urllib.parse import quote

    relative = os.path.relpath(path) if os.path.isabs(path) else os.path.normpath(path)
    return quote(relative)
