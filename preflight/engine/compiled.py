"""Rules as one JSON file: what the wheel carries, so that a check reads no TOML.

In: a `RuleSet`.  Out: two JSON texts, one with what every check needs, one with the prose by name that only findings
and `explain` read; and back.  The round trip is exact.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from preflight.engine.rule import Family, Form, Prose, Rule, RuleSet

RULES, PROSE = "rules.json", "prose.json"
SCHEMA = 1


def compile_rules(rules: RuleSet) -> tuple[str, str]:
    """The two JSON texts."""
    hot = {
        "schema": SCHEMA,
        "families": [list(family) for family in rules.families.values()],
        "rules": [[*rule[:4], [list(form) for form in rule.forms], "", 0] for rule in rules.rules],
    }
    cold = {rule.name: list(rules.prose(rule.name)) for rule in rules.rules}
    return (json.dumps(hot, separators=(",", ":")), json.dumps(cold, separators=(",", ":")))


def write_compiled(rules: RuleSet, folder: Path) -> None:
    for name, text in zip((RULES, PROSE), compile_rules(rules), strict=True):
        (folder / name).write_text(text, "utf-8")


def read_compiled(folder: Path) -> RuleSet | None:
    """The rules that the build compiled into a folder; None where there are none."""
    try:
        data = json.loads((folder / RULES).read_bytes())
    except FileNotFoundError:
        return None
    rules = tuple(restore_rule(entry) for entry in data["rules"])
    families = {entry[0]: Family(*entry) for entry in data["families"]}
    return RuleSet(rules, families, LazyProse(folder / PROSE))


def restore_rule(entry: list[Any]) -> Rule:
    name, family, remark, point_at, forms, path, line = entry
    restored = tuple(Form(freeze(form[0]), *form[1:]) for form in forms)
    return Rule(name, family, remark, tuple(point_at), restored, path, line)


def freeze(value: Any) -> Any:
    return tuple(freeze(part) for part in value) if isinstance(value, list) else value


class LazyProse:
    """Prose by rule name, read from its file at the first call."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data: Mapping[str, list[Any]] | None = None

    def __call__(self, name: str) -> Prose:
        if self.data is None:
            self.data = json.loads(self.path.read_bytes())
        summary, why, references, tags, targets, messages, helps, fix, examples, conditions = self.data[name]
        return Prose(
            summary, why, tuple(references), tuple(tags), tuple(targets), tuple(messages), tuple(helps), fix,
            tuple(examples), freeze(conditions),
        )  # fmt: skip
