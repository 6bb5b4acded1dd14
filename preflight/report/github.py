"""The github report: workflow commands that GitHub Actions turns into annotations.

In: an outcome.  Out: one `::error ...::` line for each finding, errors first: GitHub shows only the first ten of each
level of a step; a last command says how many it will leave out.  Only the start line is given: spans that reach the end
of a file are placed wrongly there.
"""

from __future__ import annotations

from preflight.diagnostics import SEVERITIES, Diagnostic
from preflight.outcome import Outcome
from preflight.report.mask import Mask

COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
LIMIT = 10
"""Annotations that GitHub shows of one level in one step."""


def write_github(outcome: Outcome) -> str:
    mask = Mask(outcome.secrets)
    ordered = sorted(outcome.findings, key=lambda d: -SEVERITIES.index(d.severity))
    lines = [
        f"::error file={escape_property(file.path)},title=preflight::{escape(mask.text(file.error))}"
        for file in outcome.files
        if file.error is not None
    ]
    if outcome.node_error is not None:
        lines.append(f"::error title=preflight::{escape(mask.text(outcome.node_error))}")
    lines += [_command(diagnostic, mask) for diagnostic in ordered]
    dropped = sum(max(outcome.count(severity) - LIMIT, 0) for severity in SEVERITIES)
    if dropped:
        words = f"GitHub shows {LIMIT} annotations of each level; {dropped} more findings are in the log of this step"
        lines.append(f"::notice title=preflight::{words}")
    return "".join(f"{line}\n" for line in lines)


def _command(diagnostic: Diagnostic, mask: Mask) -> str:
    properties = []
    if diagnostic.labels:
        span = diagnostic.labels[0].span
        position = span.position
        properties = [
            f"file={escape_property(span.path)}",
            f"line={position.line}",
            f"col={position.column}",
        ]
    elif diagnostic.node is None:
        properties = [f"file={escape_property(diagnostic.path)}"]
    properties.append(f"title={escape_property(f'preflight: {diagnostic.rule}')}")
    message = diagnostic.message + (f"\nhelp: {diagnostic.help}" if diagnostic.help else "")
    return f"::{COMMANDS[diagnostic.severity]} {','.join(properties)}::{escape(mask.text(message))}"


def escape(text: str) -> str:
    """A message, as the runner's own toolkit writes it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    return escape(text).replace(":", "%3A").replace(",", "%2C")
