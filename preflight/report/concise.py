"""The concise report: one line for each finding, as compilers print them.

In: an outcome.  Out: `path:line:column: severity[rule] message`, and the summary as the last line.
"""

from __future__ import annotations

from preflight.diagnostics import Diagnostic, Severity
from preflight.outcome import Outcome, reaches
from preflight.report.frame import printable
from preflight.report.mask import Mask


def write_concise(outcome: Outcome, show: Severity = "note") -> str:
    mask = Mask(outcome.secrets)
    lines = [line_of(d) for d in outcome.findings if reaches(d.severity, show)]
    lines += [f"{file.path}: error: {file.error}" for file in outcome.files if file.error is not None]
    if outcome.node_error is not None:
        lines.append(f"node: error: {outcome.node_error}")
    return "".join(f"{printable(mask.text(line))}\n" for line in lines)


def line_of(diagnostic: Diagnostic) -> str:
    """One finding on one line."""
    if diagnostic.labels:
        span = diagnostic.labels[0].span
        position = span.position
        where = f"{span.path}:{position.line}:{position.column}"
    else:
        where = f"node {diagnostic.node}" if diagnostic.node else diagnostic.path
    message = " ".join(diagnostic.message.split())
    return f"{where}: {diagnostic.severity}[{diagnostic.rule}] {message}"
