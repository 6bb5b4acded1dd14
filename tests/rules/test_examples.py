"""Every rule's examples, through the whole chain: what should fail fails with that rule alone, the rest is clean."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from preflight.engine.load import load_rules
from preflight.engine.releases import holds
from preflight.engine.rule import RuleSet
from preflight.engine.shipped import CHECKOUT_RULES
from preflight.facts.catalogue import fact_types
from preflight.targets.releases import RELEASES, parse_release
from preflight.trial import try_rules

FOLDER = Path(CHECKOUT_RULES)
TRIED = ("core_v0.5.0", "core_v0.12.0", "core_v0.15.3", "core_v0.19.0")
"""Where examples without a target are tried; those with one are tried there."""


@cache
def read_rules() -> RuleSet:
    rules, errors = load_rules([Path(CHECKOUT_RULES)], fact_types())
    assert not errors, "\n".join(map(str, errors))
    return rules


FAMILIES = sorted(path.parent.name for path in Path(CHECKOUT_RULES).glob("*/family.toml"))


@pytest.mark.parametrize("family", FAMILIES)
def test_examples_hold(family: str) -> None:
    rules = read_rules()
    chosen = [rule for rule in rules.rules if rule.family == family]
    complaints = [
        f"{example.rule} ({example.expect}, {example.release}): {'; '.join(found)}"
        for example, found in try_rules(rules, chosen, TRIED)
        if found
    ]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("family", FAMILIES)
def test_family_has_rules(family: str) -> None:
    assert any(rule.family == family for rule in read_rules().rules)


def test_every_form_is_used_by_a_release() -> None:
    """A form whose range holds no release, or only releases that an earlier form takes, is never used."""
    unused = []
    for rule in read_rules().rules:
        taken: set[str] = set()
        for number, form in enumerate(rule.forms, 1):
            held = {release for release in RELEASES if holds(form.targets, parse_release(release))}
            if not held - taken:
                unused.append(f"{rule.name}, form {number}")
            taken |= held
    assert not unused, "\n".join(unused)


def test_errors_name_the_code_that_refuses() -> None:
    """What goes wrong in Megatron or the launcher is said with the place that says so."""
    rules = read_rules()
    silent = [
        rule.name
        for rule in rules.rules
        if any(form.severity == "error" for form in rule.forms)
        and rule.remark is None
        and not rules.prose(rule.name).references
    ]
    assert not silent, "\n".join(silent)
