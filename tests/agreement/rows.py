"""Recorded command lines, and the way from one of them to findings.

In: `fixtures/oracle/*.jsonl.gz`, each row a command line with the verdict of Megatron's own validators.  Out: for a row
its configuration, facts and findings.  A row gives argv, environment and GPU, so the launch is built directly.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from preflight.configuration.bind import bind_launch
from preflight.configuration.model import Configuration
from preflight.diagnostics import Diagnostic
from preflight.engine.load import load_rules
from preflight.engine.rule import RuleSet
from preflight.engine.run import Failure, Subject, run_rules
from preflight.engine.shipped import CHECKOUT_RULES
from preflight.execution import Word
from preflight.facts.catalogue import fact_types
from preflight.facts.derive import Facts, derive_facts
from preflight.facts.surroundings import Profile, Surroundings
from preflight.launch.model import Launch, Launcher, Number
from preflight.source import Source, Span
from preflight.targets.table import load_table
from preflight.values import Text

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "oracle"
RELEASES = ("0.12.0", "0.15.3", "0.17.1", "0.19.0")

Row = Mapping[str, Any]


class Answer(NamedTuple):
    """What preflight says of a row: its configuration, facts and findings."""

    configuration: Configuration
    facts: Facts
    findings: tuple[Diagnostic, ...]
    failures: tuple[Failure, ...]

    @property
    def errors(self) -> list[Diagnostic]:
        """Errors that say the launch cannot start."""
        return [f for f in self.findings if f.severity == "error" and f.fails_at == "start"]

    @property
    def later(self) -> list[Diagnostic]:
        """Errors that show after start-up."""
        return [f for f in self.findings if f.severity == "error" and f.fails_at != "start"]


def read_rows(name: str) -> Iterator[Row]:
    """The rows of a file: a version, or `probes`."""
    with gzip.open(FOLDER / f"{name}.jsonl.gz", "rt", encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)


@cache
def shipped_rules() -> RuleSet:
    """The rules of the checkout; those that cannot be read are named and left out."""
    rules, errors = load_rules([Path(CHECKOUT_RULES)], fact_types())
    for error in errors:
        print(str(error).splitlines()[0], file=sys.stderr)
    return rules


def build_launch(argv: list[str], environment: Mapping[str, str]) -> Launch:
    """`python pretrain_gpt.py ARGV` with this environment, and nothing else set."""
    words = ["python", "pretrain_gpt.py", *argv]
    lines = [f"{word}\n".encode() for word in words]
    source = Source("row", b"".join(lines))
    placed, at = [], 0
    for word, line in zip(words, lines, strict=True):
        span = Span(source, at, at + len(line) - 1)
        placed.append(Word(Text.literal(word, span), span))
        at += len(line)
    nothing = Number(None, "default")
    launcher = Launcher("python", nothing, nothing, nothing, {}, placed[0].span)
    head = placed[0].span
    exported = {name: Text.literal(value, head) for name, value in environment.items()}
    return Launch(
        source,
        Span(source, 0, max(at - 1, 0)),
        launcher,
        tuple(placed),
        placed[1],
        tuple(placed[2:]),
        exported,
        (),
        closed_environment=True,
    )


def answer_row(row: Row) -> Answer:
    """Run the chain from the launch on."""
    launch = build_launch([str(word) for word in row["argv"]], row.get("env", {}))
    (configuration,) = bind_launch(launch, load_table(row["version"]))
    major, minor = row.get("capability") or (9, 0)
    gpu = Profile("row", (major, minor), 80, 8, 8)
    facts = derive_facts(
        configuration, Surroundings(gpu=gpu, te=row.get("te_version"), exists=os.path.exists)
    )
    subject = Subject(facts, configuration.problems, configuration.release, "row", launch.span)
    outcome = run_rules(shipped_rules(), subject)
    return Answer(configuration, facts, outcome.findings, outcome.failures)
