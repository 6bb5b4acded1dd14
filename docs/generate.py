"""Write `docs/rules/`: a page for each family and for each rule, from `rules/` alone.

usage: python docs/generate.py [--check]

With `--check` nothing is written; it exits with 1 and names what is out of date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from preflight.engine.load import load_rules
from preflight.engine.rule import Prose, Rule, RuleSet
from preflight.facts.catalogue import fact_types

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "rules"
STAGES = {
    "start": "when the program starts",
    "build": "when the model is built",
    "step": "at a training step",
    "silent": "never: something else is trained than was asked for",
    None: "it does not fail",
}
TITLES = {"fail": "Fails", "pass": "Passes", "undecided": "Undecided"}


def write_page(rules: RuleSet, rule: Rule) -> str:
    prose = rules.prose(rule.name)
    lines = [f"# {rule.name}", "", f"{prose.summary[0].upper()}{prose.summary[1:]}.", ""]
    lines += ["| | |", "| --- | --- |", f"| family | [{rule.family}](index.md#{rule.family}) |"]
    lines += describe_forms(rule, prose)
    if prose.fix:
        lines.append(f"| fix | {prose.fix['title']} ({prose.fix['safety']}) |")
    lines += ["", "## Why", "", prose.why, ""]
    for example in prose.examples:
        language = "python" if example.get("language") == "python" else "bash"
        title = f": {example['title']}" if example.get("title") else ""
        lines += [
            f"## {TITLES[example['expect']]}{title}",
            "",
            f"```{language}",
            *(f"# {name}: {example[name]}" for name in ("gpu", "node") if example.get(name)),
            example["script"].strip("\n"),
            "```",
            "",
        ]
    if any(example.get("base") for example in prose.examples):
        lines += ["`BASE` stands for a small model's remaining flags (`preflight/examples.py`).", ""]
    if prose.references:
        lines += ["## References", "", *(f"- `{reference}`" for reference in prose.references), ""]
    return "\n".join(lines)


def describe_forms(rule: Rule, prose: Prose) -> list[str]:
    lines: list[str] = []
    for form in rule.forms:
        targets = prose.targets[form.prose] or "all releases"
        when, require = (text.replace("|", "\\|") for text in prose.conditions[form.prose])
        holds = (
            f"`{require}`" + (f", where `{when}`" if when else "") if require else f"remark `{rule.remark}`"
        )
        lines.append(f"| {targets} | {form.severity}, shows {STAGES[form.fails_at]}; {holds} |")
    return lines


def write_index(rules: RuleSet) -> str:
    lines = ["# Rules", "", f"{len(rules.rules)} rules in {len(rules.families)} families.", ""]
    for name in sorted(rules.families):
        family = rules.families[name]
        lines += [
            f"## {name}",
            "",
            f"{family.title}. {family.summary}",
            "",
            "| rule | severity | |",
            "| --- | --- | --- |",
        ]
        for rule in rules.rules:
            if rule.family == name:
                severities = ", ".join(dict.fromkeys(form.severity for form in rule.forms))
                lines.append(
                    f"| [{rule.name}]({rule.name}.md) | {severities} | {rules.prose(rule.name).summary} |"
                )
        lines.append("")
    return "\n".join(lines)


def build_pages() -> dict[Path, str]:
    rules, errors = load_rules([ROOT / "rules"], fact_types())
    if errors:
        raise SystemExit("\n".join(str(error) for error in errors))
    pages = {PAGES / f"{rule.name}.md": write_page(rules, rule) for rule in rules.rules}
    pages[PAGES / "index.md"] = write_index(rules)
    return pages


def find_stale(pages: dict[Path, str]) -> list[Path]:
    present = set(PAGES.glob("*.md"))
    changed = [
        path for path, text in pages.items() if path not in present or path.read_bytes() != text.encode()
    ]
    return sorted([*changed, *(present - set(pages))])


def main() -> int:
    pages = build_pages()
    stale = find_stale(pages)
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of date; run python docs/generate.py")
        return 1 if stale else 0
    PAGES.mkdir(parents=True, exist_ok=True)
    for path in stale:
        if path in pages:
            path.write_bytes(pages[path].encode())
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
