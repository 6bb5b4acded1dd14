"""Reports on their way out: several formats at once, to standard output and to files.

In: an outcome and the options.  Out: what is printed and written, and the exit status.  A machine format never has
anything else on standard output and never changes the exit status; what a reader should know beside it goes to
standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from preflight.cli.options import FORMATS, MisuseError, parse_output
from preflight.diagnostics import Severity
from preflight.outcome import Outcome, RulePage, exit_status
from preflight.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from preflight.engine.rule import RuleSet

Target = tuple[str, str | None]
SPOKEN = ("text", "concise", "github")
"""Formats in which people read on the spot what could not be checked."""
UNDECIDED = ("text", "json")
"""Formats that tell which rules could not be decided, and why."""


def read_outputs(options: Namespace, settings: Settings, formats: Sequence[str] = FORMATS) -> list[Target]:
    """The formats that are wanted, by option, PREFLIGHT_OUTPUT or config; text to standard output otherwise."""
    given = list(options.output)
    if not given and not options.isolated:
        given = os.environ.get("PREFLIGHT_OUTPUT", "").split() or list(settings.output)
    try:
        targets = [parse_output(text, formats) for text in given] or [("text", None)]
    except ValueError as error:
        raise MisuseError(str(error)) from None
    if sum(path is None for _, path in targets) > 1:
        raise MisuseError("two formats on standard output; write one of them to a file: --output FORMAT=FILE")
    return targets


def report(outcome: Outcome, targets: Sequence[Target], options: Namespace, settings: Settings) -> int:
    """Write every report; returns the exit status."""
    outcome = with_secrets(outcome)
    if any(name == "sarif" for name, _ in targets):
        outcome = outcome._replace(pages=outcome.pages or {})
    show: Severity = options.show or settings.show or "note"
    for name, path in targets:
        deliver(render(outcome, name, show, options, path), path)
    tell(outcome, options, text=any(name in SPOKEN and path is None for name, path in targets))
    status = exit_status(outcome)
    launches = sum(file.launches for file in outcome.files)
    required = options.require_launch if options.require_launch is not None else settings.require_launch
    if required and not launches and status in (0, 1, 4):
        print("preflight: no launch was found, and --require-launch asks for one", file=sys.stderr)
        status = 3
    return 0 if options.exit_zero and status in (1, 4) else status


def deliver(text: str, path: str | None) -> None:
    """Write a report to its file, or to standard output."""
    if path is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with open(path, "w", encoding="utf-8", errors="replace") as stream:
        stream.write(text)


def choose_colour(choice: str, path: str | None) -> bool:
    """Whether a report is coloured; one that goes to a file only where that is asked for."""
    from preflight.report.paint import wants_colour

    return wants_colour(choice, sys.stdout.isatty()) if path is None else choice == "always"


def render(outcome: Outcome, name: str, show: Severity, options: Namespace, path: str | None) -> str:
    """One report."""
    if name == "text":
        from preflight.report.text import write_text

        colour = choose_colour(options.color, path)
        return write_text(outcome, show, verbose=options.verbose, quiet=options.quiet, colour=colour)
    if name == "concise":
        from preflight.report.concise import write_concise

        return write_concise(outcome, show)
    if name == "json":
        from preflight.report.json import write_json

        return write_json(outcome)
    if name == "sarif":
        from preflight.report.sarif import write_sarif

        return write_sarif(outcome)
    if name == "github":
        from preflight.report.github import write_github

        return write_github(outcome)
    if name == "gitlab":
        from preflight.report.gitlab import write_gitlab

        return write_gitlab(outcome)
    from preflight.report.junit import write_junit

    return write_junit(outcome)


def with_secrets(outcome: Outcome) -> Outcome:
    """The outcome with the values that its sources give to secret names."""
    from preflight.report.mask import find_secrets

    found = set(outcome.secrets)
    seen: set[int] = set()
    for file in outcome.files:
        if not file.launches and not file.diagnostics:
            continue
        spans = [label.span for diagnostic in file.diagnostics for label in diagnostic.labels]
        for source in [*file.sources, *(span.source for span in spans)]:
            if id(source) not in seen:
                seen.add(id(source))
                found |= find_secrets(source.text)
    return outcome._replace(secrets=frozenset(found))


def tell(outcome: Outcome, options: Namespace, text: bool) -> None:
    """What a reader should know that is no finding, on standard error."""
    from preflight.report.mask import Mask

    if options.quiet:
        return
    words: dict[str, None] = {}
    saying: dict[str, list[str]] = {}
    for file in outcome.files:
        for remark in file.remarks:
            saying.setdefault(remark, []).append(file.path)
    for remark, paths in saying.items():
        others = (
            f" (and {len(paths) - 1} more files)"
            if len(paths) > 2
            else f" (and {paths[1]})"
            if paths[1:]
            else ""
        )
        words[f"{paths[0]}{others}: {remark}"] = None
    for entry in outcome.stale:
        words[
            f"the baseline has an entry that matches nothing any more: {entry}; --write-baseline drops it"
        ] = None
    if not text:
        words.update({f"{f.path}: {f.error}": None for f in outcome.files if f.error is not None})
    mask = Mask(outcome.secrets)
    for line in words:
        print(f"preflight: {mask.text(line)}", file=sys.stderr)
    if not any(file.launches for file in outcome.files) and not any(file.error for file in outcome.files):
        number = len(outcome.files)
        where = f"in {outcome.files[0].path}" if number == 1 else f"in {number} files"
        print(f"preflight: no launch found {where}; nothing was checked", file=sys.stderr)


def make_page(rules: RuleSet, name: str) -> RulePage | None:
    """A rule's page for the sarif report."""
    rule = next((each for each in rules.rules if each.name == name), None)
    if rule is None:
        return None
    prose = rules.prose(name)
    severity = rule.forms[0].severity if rule.forms else "warning"
    return RulePage(name, rule.family, prose.summary, severity, prose.why, "", prose.references)
