"""A rule's own examples, tried: what `preflight rules test` and the project's tests run.

In: a rule, one of its examples, and a function that checks a script.  Out: complaints; none means that the example
holds.  A failing example fires its rule and no other error; a passing one gives no error at all; an undecided one
leaves the rule undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from preflight.diagnostics import Diagnostic, Undecided
from preflight.engine.releases import holds
from preflight.engine.rule import Rule, RuleSet
from preflight.record import NamedTuple
from preflight.targets.releases import parse_release

BASE = (
    "BASE=(--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 "
    "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --bf16 --train-iters 100 "
    "--lr 1e-4 --tokenizer-type NullTokenizer --vocab-size 32000 --mock-data)\n"
)
"""A command line that every release accepts on 8 GPUs: what `base = true` puts in front of an example's script."""

CONNECTIONS = "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
"""What it takes beside, unless the example is about that variable."""


class Example(NamedTuple):
    """One example at one release, with the script as it is checked."""

    rule: str
    title: str
    expect: str
    release: str
    script: str
    data: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The file name that the script has."""
        return str(
            self.data.get("name") or ("train.py" if self.data.get("language") == "python" else "train.sh")
        )


class Answer(NamedTuple):
    """What a check said: findings, undecided rules, and the script after safe and unsafe fixes of the rule."""

    findings: tuple[Diagnostic, ...]
    undecided: tuple[Undecided, ...]
    fixed: str | None = None


Check = Callable[[Example], Answer]


def list_examples(rules: RuleSet, rule: Rule, releases: Iterable[str]) -> list[Example]:
    """The examples of a rule at every given release for which they are meant.

    An example with a `target` is tried there alone; one without, at each release for which the rule has a form.
    """
    found: list[Example] = []
    inside = [
        name for name in releases if any(holds(form.targets, parse_release(name)) for form in rule.forms)
    ]
    for number, data in enumerate(rules.prose(rule.name).examples, 1):
        script = data["script"].lstrip("\n")
        script = put_base(script) if data.get("base") else script
        title = data.get("title") or f"example {number}"
        found += [
            Example(rule.name, title, data["expect"], release, script, data)
            for release in ([data["target"]] if "target" in data else inside)
        ]
    return found


def put_base(script: str) -> str:
    """The script with the base flags, behind the comments at its top: a scheduler's directives must stay first."""
    lines = script.splitlines(keepends=True)
    top = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    connections = "" if "MAX_CONNECTION" in script else CONNECTIONS
    return "".join((*lines[:top], connections, BASE, *lines[top:]))


def try_example(example: Example, check: Check) -> list[str]:
    """Check one example; returns what is wrong with it."""
    answer = check(example)
    own = [finding for finding in answer.findings if finding.rule == example.rule]
    allowed = {example.rule, *example.data.get("also", ())} if example.expect == "fail" else set()
    others = [f for f in answer.findings if f.severity == "error" and f.rule not in allowed and f not in own]
    complaints = [f"also fires {finding.rule}: {finding.message}" for finding in others]
    if example.expect == "fail":
        return complaints + judge_failing(example, own, answer)
    complaints += [f"fires although it should {example.expect}: {finding.message}" for finding in own]
    waiting = any(entry.rule == example.rule for entry in answer.undecided)
    if waiting != (example.expect == "undecided"):
        complaints.append("is undecided" if waiting else "should be undecided and is not")
    return complaints


def judge_failing(example: Example, own: list[Diagnostic], answer: Answer) -> list[str]:
    if not own:
        return ["does not fire"]
    complaints: list[str] = []
    data = example.data
    if "message" in data and all(data["message"] not in finding.message for finding in own):
        complaints.append(f"says {own[0].message!r}, not {data['message']!r}")
    covered = {label.span.resolve().text for finding in own for label in finding.labels if not label.hidden}
    complaints += [
        f"no label covers {mark!r}; labels cover {', '.join(map(repr, sorted(covered)))}"
        for mark in data.get("marks", ())
        if mark not in covered
    ]
    if "fixed" in data and answer.fixed is not None:
        wanted = data["fixed"].lstrip("\n")
        wanted = put_base(wanted) if data.get("base") else wanted
        if answer.fixed != wanted:
            complaints.append(f"its fix gives {answer.fixed!r}")
    return complaints
