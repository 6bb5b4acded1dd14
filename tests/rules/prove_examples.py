"""Hold the rules' start-up examples against Megatron's own validators: a tool for rule authors, not a test.

usage: python -m tests.rules.prove_examples TREE... --validator 'PYTHON VALIDATOR'

TREE is a Megatron-LM source tree whose folder is named after its release (`core_v0.19.0`, `main`).  VALIDATOR is a
program that gets the tree as its argument, reads one JSON request for each line (`id`, `argv`, `env`, `capability`,
`te_version`) and answers each with `verdict` (accept, reject), `late` (checks that fire later in start-up), `site` and
`message`.  Each example is tried at every tree, whatever its target, so that ranges are proved from both sides.
Printed are errors that Megatron does not raise, and refusals that no rule tells of.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from preflight.chain import resolve
from preflight.engine.rule import Rule, RuleSet
from preflight.examples import Example, list_examples
from preflight.facts.surroundings import find_profile
from preflight.ruling import check_source
from preflight.source import Source
from preflight.trial import make_request
from tests.rules.test_examples import read_rules

DEFAULT_GPU = "h100"


class Trial(NamedTuple):
    """An example at a release: what the validator is asked, and the rules that say it cannot start."""

    example: Example
    request: Mapping[str, Any]
    errors: tuple[str, ...]


def list_trials(rules: RuleSet, chosen: Sequence[Rule], release: str, folder: str) -> Iterator[Trial]:
    """Failing and passing examples of start-up rules as requests."""
    for rule in chosen:
        if not any(form.severity == "error" and form.fails_at == "start" for form in rule.forms):
            continue
        for number, example in enumerate(list_examples(rules, rule, [release])):
            if example.expect == "undecided":
                continue
            placed = example._replace(release=release, data={"gpu": DEFAULT_GPU, **example.data})
            trial = try_at(rules, placed, f"{rule.name}#{number}", folder)
            if trial is not None:
                yield trial


def try_at(rules: RuleSet, example: Example, name: str, folder: str) -> Trial | None:
    """Resolve and check an example's script; None where its launch is not fully known."""
    request = make_request(rules, example, folder)._replace(closed_environment=True)
    source = Source(example.name, example.script.encode())
    resolved = resolve(source, request)
    launches = () if resolved is None else resolved.launches
    if len(launches) != 1 or len(launches[0].configurations) != 1:
        return None
    launch, ((_, facts),) = launches[0]
    argv = [word.text.value for word in launch.argv]
    world = facts["world_size"].value
    if None in argv or not isinstance(world, int):
        return None
    environment = {
        name: text.value for name, text in launch.environment.items() if text is not None and text.value
    }
    ranks = {"WORLD_SIZE": str(world), "RANK": "0", "LOCAL_RANK": "0"}
    profile = find_profile(str(example.data["gpu"]))
    asked = {
        "id": name,
        "argv": argv,
        "env": {**environment, **ranks},
        "capability": list(profile.capability) if profile else [9, 0],
        "te_version": example.data.get("te"),
    }
    found = check_source(source, request).diagnostics
    errors = {d.rule for d in found if d.severity == "error" and d.fails_at == "start"}
    return Trial(example, asked, tuple(sorted(errors)))


def ask(
    validator: Sequence[str], tree: Path, trials: Sequence[Trial]
) -> Iterator[tuple[Trial, Mapping[str, Any]]]:
    """The validator's answers, trial by trial."""
    requests = "".join(json.dumps({**t.request, "id": n}) + "\n" for n, t in enumerate(trials))
    done = subprocess.run(
        [*validator, str(tree)], input=requests, text=True, capture_output=True, check=False
    )
    if done.returncode != 0 and not done.stdout:
        sys.exit(f"{tree.name}: the validator failed: {done.stderr[-400:]}")
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        yield trials[answer["id"]], answer


def compare(trial: Trial, answer: Mapping[str, Any]) -> str | None:
    """A sentence where the two disagree."""
    refused = answer["verdict"] == "reject" or bool(answer.get("late"))
    where = f"{trial.example.rule} ({trial.example.expect})"
    if refused and not trial.errors:
        late = [entry.get("site") for entry in answer.get("late") or ()]
        return f"{where}: refused at {answer.get('site') or late}, and no rule says so: {answer.get('message', '')}"
    if not refused and trial.errors:
        return f"{where}: accepted, although {', '.join(trial.errors)} say it cannot start"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--validator", required=True, type=shlex.split)
    parser.add_argument("--family", action="append", help="only the rules of these families")
    options = parser.parse_args()
    rules = read_rules()
    chosen = [rule for rule in rules.rules if not options.family or rule.family in options.family]
    totals: Counter[str] = Counter()
    for tree in options.trees:
        trials = list(list_trials(rules, chosen, tree.name, str(Path.cwd())))
        for trial, answer in ask(options.validator, tree, trials):
            complaint = compare(trial, answer)
            totals["agree" if complaint is None else "disagree"] += 1
            if complaint is not None:
                print(f"{tree.name}: {complaint}")
    print(f"{totals['agree']} agree, {totals['disagree']} disagree")
    return 1 if totals["disagree"] else 0


if __name__ == "__main__":
    sys.exit(main())
