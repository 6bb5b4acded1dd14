"""Rules as one JSON file: what the wheel carries, so that a check reads no TOML.

In: a `RuleSet`.  Out: two JSON texts, one with what every check needs, one with the prose by name that only findings
and `explain` read; and back.  The round trip is exact.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from preflight.engine.releases import parse_range
from preflight.engine.rule import Family, Form, Prose, Rule, RuleSet

if TYPE_CHECKING:
    from pathlib import Path

RULES, PROSE = "rules.json", "prose.json"
SCHEMA = 1


def compile_rules(rules: RuleSet) -> tuple[str, str]:
    """The two JSON texts."""
    hot = {
        "schema": SCHEMA,
        "families": [list(family) for family in rules.families.values()],
        "rules": [
            [*rule[:4], [[text, *form[1:]] for text, form in zip(prose.targets, rule.forms, strict=True)]]
            for rule, prose in ((rule, rules.prose(rule.name)) for rule in rules.rules)
        ],
    }
    cold = {rule.name: list(rules.prose(rule.name)) for rule in rules.rules}
    lines = (f"{json.dumps(name)}:{json.dumps(entry, separators=(',', ':'))}" for name, entry in cold.items())
    return (json.dumps(hot, separators=(",", ":")), "{\n" + ",\n".join(lines) + "\n}\n")


def write_compiled(rules: RuleSet, folder: Path) -> None:
    for name, text in zip((RULES, PROSE), compile_rules(rules), strict=True):
        (folder / name).write_text(text, "utf-8")


def read_compiled(folder: str | os.PathLike[str]) -> RuleSet | None:
    """The rules that the build compiled into a folder; None where there are none."""
    try:
        with open(os.path.join(folder, RULES), "rb") as stream:
            data = json.loads(stream.read())
    except FileNotFoundError:
        return None
    rules = tuple(restore_rule(entry) for entry in data["rules"])
    families = {entry[0]: Family(*entry) for entry in data["families"]}
    return RuleSet(rules, families, LazyProse(os.path.join(folder, PROSE)))


def restore_rule(entry: list[Any]) -> Rule:
    name, family, remark, point_at, forms = entry
    restored = tuple([Form(parse_range(form[0]), *form[1:]) for form in forms])
    return Rule(name, family, remark, tuple(point_at), restored, "", 0)


def freeze(value: Any) -> Any:
    return tuple(freeze(part) for part in value) if isinstance(value, list) else value


class LazyProse:
    """Prose by rule name, read from its file at the first call; each rule has a line, and only that is decoded."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.data: bytes | None = None

    def __call__(self, name: str) -> Prose:
        if self.data is None:
            with open(self.path, "rb") as stream:
                self.data = stream.read()
        head = f"\n{json.dumps(name)}:".encode()
        start = self.data.find(head)
        if start < 0:
            raise KeyError(name)
        start += len(head)
        line = self.data[start : self.data.index(b"\n", start)].rstrip(b",")
        summary, why, references, tags, targets, messages, helps, fix, examples, conditions = json.loads(line)
        return Prose(
            summary, why, tuple(references), tuple(tags), tuple(targets), tuple(messages), tuple(helps), fix,
            tuple(examples), freeze(conditions),
        )  # fmt: skip
