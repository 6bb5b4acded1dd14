"""`preflight explain NAME`: one rule, offline: what, why, what to do, and examples.

In: the name of a rule or a family.  Out: text or JSON.  Refused, with the nearest name: what is neither.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from preflight.cli import options as shared
from preflight.cli.options import MisuseError
from preflight.cli.session import Session, check_names
from preflight.cli.sheet import Sheet
from preflight.engine.rule import Rule, RuleSet, choose_rules
from preflight.examples import BASE

FORMATS = ("text", "json")


def make_sheet() -> Sheet:
    """The options of `explain`."""
    sheet = shared.new_sheet(
        "explain",
        "Say what a rule is about, why it matters, and what it finds.",
        ["preflight explain heads-not-divisible-by-tp"],
        usage="preflight explain [OPTIONS] NAME ...",
    )
    sheet.add_argument("names", nargs="+", metavar="NAME", help="rules or families")
    sheet.add_argument("--output", choices=FORMATS, default="text", help="text or json")
    shared.add_config_options(sheet)
    return sheet


def run(words: list[str]) -> int:
    """The command."""
    options = make_sheet().parse_args(words)
    try:
        session = Session(options)
        rules = session.rules_of(session.here)
        check_names(options.names, rules)
    except MisuseError as error:
        print(f"preflight explain: {error}", file=sys.stderr)
        return 2
    described = [describe_rule(rules, rule) for rule in choose_rules(rules, options.names, ())]
    if options.output == "json":
        print(json.dumps({"schema": 1, "rules": described}, indent=2, ensure_ascii=False))
    else:
        print("\n\n".join(write_page(each) for each in described))
    return 0


def describe_rule(rules: RuleSet, rule: Rule) -> dict[str, Any]:
    """All that a rule's file says, for programs and for the page."""
    prose = rules.prose(rule.name)
    family = rules.families.get(rule.family)
    return {
        "name": rule.name,
        "family": rule.family,
        "family_title": family.title if family else rule.family,
        "summary": prose.summary,
        "why": prose.why,
        "remark": rule.remark,
        "forms": [
            {
                "targets": targets,
                "severity": form.severity,
                "fails_at": form.fails_at,
                "when": condition[0],
                "require": condition[1],
            }
            for form, targets, condition in zip(rule.forms, prose.targets, prose.conditions, strict=True)
        ],
        "references": list(prose.references),
        "tags": list(prose.tags),
        "fix": prose.fix["title"] if prose.fix else None,
        "examples": [
            {
                "expect": e["expect"],
                "title": e.get("title", ""),
                "script": (BASE if e.get("base") else "") + e["script"].lstrip("\n"),
                "fixed": e.get("fixed"),
                "gpu": e.get("gpu"),
                "node": e.get("node"),
            }
            for e in prose.examples
        ],
    }


def write_page(rule: dict[str, Any]) -> str:
    """A rule for people."""
    lines = [f"{rule['name']}: {rule['summary']}", ""]
    for form in rule["forms"]:
        when = f"releases {form['targets']}" if form["targets"] else "all releases"
        shows = f", shows at {form['fails_at']}" if form["fails_at"] else ""
        lines.append(f"{form['severity']} in {when}{shows}")
        if form["when"]:
            lines.append(f"  when     {form['when']}")
        if form["require"]:
            lines.append(f"  require  {form['require']}")
    lines += ["", rule["why"].strip()]
    if rule["fix"]:
        lines += ["", f"fix: {rule['fix']}"]
    if rule["references"]:
        lines += ["", "references:", *(f"  {reference}" for reference in rule["references"])]
    for example in rule["examples"]:
        title = f": {example['title']}" if example["title"] else ""
        lines += ["", f"example that gives {_VERDICTS[example['expect']]}{title}"]
        lines += [f"    # {name}: {example[name]}" for name in ("gpu", "node") if example[name]]
        script = example["script"].replace(BASE, "# BASE: a minimal command line that is valid on 8 GPUs\n")
        lines += [f"    {line}" for line in script.strip("\n").splitlines()]
    lines += ["", f"family: {rule['family']} ({rule['family_title']})"]
    lines.append(f"ignore one finding with a comment: # preflight: ignore[{rule['name']}] reason")
    return "\n".join(lines)


_VERDICTS = {"fail": "a finding", "pass": "none", "undecided": "no verdict"}
