"""The public API over the commands' own machinery, so that both always say the same.

In: paths and what the command line's options say, as Python values.  Out: the documents of the json reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def make_words(
    paths: str | Iterable[str], target: str | None, env: Mapping[str, str] | None, options: Sequence[str]
) -> list[str]:
    """The words of the command line that say the same."""
    named = [paths] if isinstance(paths, str) else [str(path) for path in paths]
    words = [*options]
    words += ["--target", target] if target else []
    for name, value in (env or {}).items():
        words += ["--env", f"{name}={value}"]
    return [*words, *named]


def check_paths(
    paths: str | Iterable[str],
    target: str | None,
    env: Mapping[str, str] | None,
    arguments: Sequence[str] | None,
    options: Sequence[str],
) -> dict[str, Any]:
    """The document of `check --output json`."""
    from preflight.cli.check import make_sheet
    from preflight.cli.output import with_secrets
    from preflight.cli.session import Session
    from preflight.report.json import describe_outcome
    from preflight.report.mask import Mask

    parsed = make_sheet().parse_args(make_words(paths, target, env, options))
    session = Session(parsed, tuple(arguments) if arguments is not None else None)
    outcome = session.conclude([session.check_file(found) for found in session.find(parsed.paths)])
    outcome = with_secrets(outcome)
    document: dict[str, Any] = Mask(outcome.secrets).all(describe_outcome(outcome))
    return document


def trace_paths(
    paths: str | Iterable[str],
    target: str | None,
    env: Mapping[str, str] | None,
    arguments: Sequence[str] | None,
    options: Sequence[str],
) -> dict[str, Any]:
    """The document of `trace --output json`."""
    import json

    from preflight.cli.session import Session
    from preflight.cli.trace import gather_secrets, make_sheet, trace_file
    from preflight.report.trace import write_trace_json

    parsed = make_sheet().parse_args(make_words(paths, target, env, options))
    session = Session(parsed, tuple(arguments) if arguments is not None else None)
    traced = [trace_file(session, found) for found in session.find(parsed.paths)]
    document: dict[str, Any] = json.loads(write_trace_json(traced, gather_secrets(session, traced)))
    return document
