"""The recorded command lines: facts equal Megatron's own values, and "error" is what Megatron refuses.

Run as part of the tests; `python -m tests.agreement.table` prints the same as a table.
"""

from __future__ import annotations

import random

import pytest

from preflight.configuration.model import Configuration
from preflight.diagnostics import Diagnostic
from preflight.engine.run import Subject, find_form, run_fact_rule
from preflight.facts.derive import derive_facts
from preflight.facts.surroundings import Profile, Surroundings
from preflight.targets.releases import parse_release
from preflight.values import Unknown
from tests.agreement.effective import compare_effective
from tests.agreement.rows import RELEASES, Row, answer_row, read_rows, shipped_rules
from tests.agreement.table import Case, judge

LEAST = 99.5


@pytest.fixture(scope="module", params=RELEASES)
def cases(request: pytest.FixtureRequest) -> list[Case]:
    return judge(request.param)


def test_no_launch_that_megatron_starts_has_a_start_error(cases: list[Case]) -> None:
    wrong = [
        (case.row["id"], [f"{finding.rule}: {finding.message}" for finding in case.answer.errors])
        for case in cases
        if case.called_wrong and not case.refused
    ]
    assert wrong == []


def test_nearly_every_verdict_agrees(cases: list[Case]) -> None:
    missed = sorted(case.site for case in cases if case.refused and not case.called_wrong)
    agreement = 100 * sum(case.agrees for case in cases) / len(cases)
    assert agreement >= LEAST, f"{agreement:.2f} %; missed: {missed}"


def test_facts_equal_the_values_that_megatron_computes(cases: list[Case]) -> None:
    different = [
        (case.row["id"], name, theirs, ours)
        for case in cases
        if case.row["verdict"] == "accept"
        for name, theirs, ours in compare_effective(case.row, case.answer.facts)
    ]
    assert different == []


def test_no_rule_breaks_on_a_recorded_command_line(cases: list[Case]) -> None:
    assert {str(failure) for case in cases for failure in case.answer.failures} == set()


def test_probes_agree_at_all_sixteen_releases() -> None:
    found = [(row, answer_row(row)) for row in read_rows("probes")]
    assert len({row["version"] for row, _ in found}) == 16
    different = [
        (row["probe"], row["version"], [finding.rule for finding in answer.errors])
        for row, answer in found
        if bool(answer.errors) != (row["startup_verdict"] == "reject")
    ]
    assert different == []


def hide(configuration: Configuration, names: list[str]) -> Configuration:
    """The configuration as it is when the caller decides some of its settings."""
    unknown = Unknown("environment", "$X", "X")
    values = {name: configuration.values[name] for name in configuration.values}
    for name in names:
        values[name] = values[name]._replace(unknown=unknown)
    return configuration._replace(values=values)


def verdicts(row: Row, configuration: Configuration) -> dict[str, str]:
    major, minor = row["capability"]
    surroundings = Surroundings(gpu=Profile("row", (major, minor), 80, 8, 8), te=row["te_version"])
    facts = derive_facts(configuration, surroundings)
    subject = Subject(facts, (), configuration.release, "row", None)
    rules = shipped_rules()
    found: dict[str, str] = {}
    release = parse_release(configuration.release)
    for rule in rules.rules:
        form = find_form(rule, release)
        if form is not None and rule.remark is None:
            verdict = run_fact_rule(rules, rule, form, subject)
            found[rule.name] = (
                "fail" if isinstance(verdict, Diagnostic) else "undecided" if verdict is not None else "pass"
            )
    return found


def test_deciding_an_unknown_never_turns_a_verdict() -> None:
    choice = random.Random(20)
    rows = [row for name in RELEASES for row in read_rows(name) if row.get("stage") != "argparse"]
    for row in choice.sample(rows, 120):
        configuration = answer_row(row).configuration
        given = [name for name in configuration.values if configuration.values[name].given]
        hidden = hide(configuration, choice.sample(given, min(3, len(given))))
        full, partial = verdicts(row, configuration), verdicts(row, hidden)
        turned = {
            name: (verdict, full[name])
            for name, verdict in partial.items()
            if verdict != "undecided" and verdict != full[name]
        }
        assert turned == {}, row["id"]
