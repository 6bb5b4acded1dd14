"""The text report: findings in frames, and a last line that says what was looked at and what was not decided.

In: an outcome.  Out: rows for `paint`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from preflight.diagnostics import Diagnostic, Severity, Undecided
from preflight.execution import Condition
from preflight.outcome import Outcome, reaches
from preflight.report.frame import Row, draw_frames, printable
from preflight.report.mask import Mask
from preflight.report.paint import paint

FLAGS_SHOWN = 3
"""Flags that are named of those that the rest of a command line is assumed not to give."""


def write_text(
    outcome: Outcome,
    show: Severity = "note",
    *,
    verbose: bool = False,
    quiet: bool = False,
    colour: bool = False,
) -> str:
    """Everything, for people; `show` is the mildest severity that is drawn."""
    rows: list[Row] = []
    mask = Mask(outcome.secrets)
    for diagnostic in outcome.findings:
        if reaches(diagnostic.severity, show):
            rows += draw_finding(diagnostic, mask)
            rows.append([])
    if verbose:
        rows += list_undecided(outcome.undecided, mask)
    for file in outcome.files:
        if file.error is not None:
            rows.append(
                [("error", "error"), (f": {printable(file.path)}: {printable(file.error)}", "message")]
            )
    if outcome.node_error is not None:
        rows.append([("error", "error"), (f": {printable(outcome.node_error)}", "message")])
    if not quiet:
        rows.append(summarise(outcome))
    return paint(rows, colour)


def draw_finding(diagnostic: Diagnostic, mask: Mask) -> list[Row]:
    """One finding: headline, frames, and what there is to say below."""
    message = diagnostic.message.replace("\n", " ")
    rows: list[Row] = [
        [
            (f"{diagnostic.severity}[{diagnostic.rule}]", diagnostic.severity),
            (f": {printable(mask.text(message))}", "message"),
        ]
    ]
    labels = [label._replace(text=mask.text(label.text)) for label in diagnostic.labels]
    frames = draw_frames(labels, mask.line)
    if not frames:
        where = f"node {diagnostic.node}" if diagnostic.node else diagnostic.path
        rows.append([("  -->", "line"), (f" {printable(where)}", "plain")])
    rows += [
        [(text, diagnostic.severity if role == "primary" else role) for text, role in row] for row in frames
    ]
    numbers = [label.span.position.line for label in diagnostic.labels if not label.hidden]
    gutter = " " * max((len(str(number)) for number in numbers), default=1)
    for title, text in _footers(diagnostic):
        rows.append([(f"{gutter} = ", "line"), (f"{title}: ", "help"), (printable(mask.text(text)), "plain")])
    return rows


def _footers(diagnostic: Diagnostic) -> Iterable[tuple[str, str]]:
    if diagnostic.conditions:
        yield "when", describe_conditions(diagnostic.conditions, diagnostic.path)
    if diagnostic.help:
        yield "help", diagnostic.help.replace("\n", " ")
    for note in diagnostic.notes:
        yield "note", note
    if diagnostic.releases and " " in diagnostic.releases:
        yield "releases", diagnostic.releases
    if diagnostic.fix is not None:
        option = "--fix" if diagnostic.fix.safety == "safe" else "--fix --unsafe-fixes"
        yield "fix", f"{diagnostic.fix.title} ({option})"
    named = {assumption.name: assumption for assumption in diagnostic.assumptions}
    rest: dict[str, list[str]] = {}
    for assumption in named.values():
        if assumption.name.isidentifier():
            hint = f"try another value with --env {assumption.name}=..."
            yield "assumes", f"{assumption.name} is not set by the caller; {hint}"
        elif assumption.name.startswith("--"):
            rest.setdefault(assumption.span.resolve().text, []).append(assumption.name)
        else:
            yield "assumes", f"{assumption.name} is {assumption.value}"
    for text, flags in rest.items():
        more = f" and {len(flags) - FLAGS_SHOWN} more" if len(flags) > FLAGS_SHOWN else ""
        yield "assumes", f"{text} does not give {', '.join(flags[:FLAGS_SHOWN])}{more}"


def list_undecided(undecided: Sequence[Undecided], mask: Mask) -> Iterable[Row]:
    """Every undecided rule with what would decide it."""
    for each in undecided:
        where = f"{each.path}:{each.span.resolve().position.line}" if each.span else each.path
        yield [
            (f"undecided[{each.rule}]", "note"),
            (f": {mask.text(blame([each], limit=8))}", "plain"),
            (f" ({where})", "dim"),
        ]


def describe_conditions(conditions: Sequence[Condition], path: str = "") -> str:
    """`$SIZE = 7B holds (line 32)`, joined by `and`."""
    parts = []
    for condition in conditions:
        span = condition.span.resolve()
        where = f"line {span.position.line}" if span.path == path else f"{span.path}:{span.position.line}"
        words = " ".join(condition.text.split())
        parts.append(f"{words} {'holds' if condition.taken else 'does not hold'} ({where})")
    return " and ".join(parts)


def count(number: int, word: str) -> str:
    """`1 error`, `2 errors`."""
    if number != 1:
        word += "es" if word.endswith("ch") else "s"
    return f"{number} {word}"


def summarise(outcome: Outcome) -> Row:
    """The last line: what was found, looked at, ignored, and not decided."""
    errors, warnings, notes = (outcome.count(s) for s in ("error", "warning", "note"))
    launches = sum(file.launches for file in outcome.files)
    found = f"{count(errors, 'error')}, {count(warnings, 'warning')}"
    if notes:
        found += f", {count(notes, 'note')}"
    found += f" in {count(launches, 'launch')}"
    if len(outcome.files) != 1:
        found += f" of {count(len(outcome.files), 'file')}"
    rest = []
    if outcome.ignored:
        rest.append(f"{outcome.ignored} ignored")
    checked = max((file.rules for file in outcome.files), default=0)
    if checked:
        undecided = {(u.rule, u.path) for u in outcome.undecided}
        words = f"{count(checked, 'rule')} checked"
        if undecided:
            words += f", {len(undecided)} undecided ({blame(outcome.undecided)})"
        rest.append(words)
    role = "error" if errors else "warning" if warnings else "good"
    words = "".join(f"; {part}" for part in rest)
    return [(found, role), (Mask(outcome.secrets).text(words), "plain")]


_SENTENCES = {
    "environment": "comes from the environment",
    "positional": "is an argument of the script",
    "command": "is the output of a command",
    "syntax": "stands in syntax that is not understood",
    "file": "is in a file that was not read",
    "branches": "depends on too many branches",
    "code": "is computed by the program's code",
    "scheduler": "is decided by the scheduler",
    "node": "is a property of the node",
    "rest": "may hold further flags",
    "program": "is up to the program",
}


def blame(undecided: Sequence[Undecided], limit: int = 3) -> str:
    """What would decide the undecided rules, the most often named first."""
    tally: dict[tuple[str, str, str | None], int] = {}
    for each in undecided:
        for fact, reason, text, remedy in each.blocked_by:
            words = " ".join(text.split())[:60] or fact
            if words.startswith("not said"):
                words = f"{fact.replace('_', ' ')} is {words}"
            key = (reason, words, remedy)
            tally[key] = tally.get(key, 0) + 1
    ranked = sorted(tally, key=lambda key: (-tally[key], key[1]))
    parts = []
    for reason, text, remedy in ranked[:limit]:
        if reason in ("node", "scheduler") and ";" in text:
            parts.append(text)
            continue
        name = text.removeprefix("$").strip("{}") if reason in ("environment", "positional") else text
        part = f"{printable(name)} {_SENTENCES.get(reason, 'is not known')}"
        parts.append(part + (f": give {remedy}" if remedy else ""))
    if len(ranked) > limit:
        parts.append(f"and {len(ranked) - limit} more")
    return "; ".join(parts)
