"""Search for command lines on which the rules and Megatron's own validators disagree: a tool for rule authors.

usage: python -m tests.rules.search_disagreements TREE... --validator 'PYTHON VALIDATOR' [--count N] [--seed N]

Accepted command lines of the fixtures are changed at random: flags of the release are added, replaced and dropped, with
values out of their choices or small numbers.  TREE and VALIDATOR are those of `prove_examples`.  Printed are, by rule
and by site, errors that Megatron does not raise and refusals that no rule tells of, each with one command line.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from preflight.targets.table import Option, load_table
from tests.agreement.rows import RELEASES, answer_row, read_rows

NUMBERS: Mapping[str, tuple[str, ...]] = {
    "int": ("0", "1", "2", "3", "4", "8", "16", "-1"),
    "float": ("0.0", "0.1", "0.5", "1.0", "2.0", "-1.0"),
}
FILES = ("path", "config", "file", "cfg", "dir", "msc")
"""Flags that name something outside of the command line are left alone."""
CAPABILITIES = ((9, 0), (9, 0), (9, 0), (8, 0), (10, 0))


@cache
def accepted_rows() -> list[Mapping[str, Any]]:
    return [row for name in RELEASES for row in read_rows(name) if row["startup_verdict"] == "accept"]


def mutate(row: Mapping[str, Any], options: Mapping[str, Option], chance: random.Random) -> list[str]:
    """A row's command line in a release's flags, with one to four of them changed."""
    groups = [group for group in split_flags(row["argv"]) if group[0] in options]
    usable = [name for name in options if not any(part in name for part in FILES)]
    for _ in range(chance.choice((1, 1, 2, 2, 3, 4))):
        name = chance.choice(usable)
        groups = [group for group in groups if options[group[0]].destination != options[name].destination]
        groups.append([name, *choose_values(options[name], chance)])
    if chance.random() < 0.2 and groups:
        groups.pop(chance.randrange(len(groups)))
    return [word for group in groups for word in group]


def split_flags(words: Sequence[str]) -> Iterator[list[str]]:
    """Each flag with its values."""
    group: list[str] = []
    for word in map(str, words):
        if word.startswith("--") and group:
            yield group
            group = []
        group.append(word)
    if group:
        yield group


def choose_values(option: Option, chance: random.Random) -> list[str]:
    """Values that the parser takes, most of the time."""
    if option.action not in ("store", "append"):
        return []
    pool = [str(choice) for choice in option.choices or () if choice is not None]
    pool = pool or list(NUMBERS.get(option.type or "", ("x", "1")))
    count = option.nargs if isinstance(option.nargs, int) else 2 if option.nargs in ("+", "*") else 1
    return [chance.choice(pool) for _ in range(max(count, 1))]


def make_requests(release: str, count: int, seed: int) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    table = load_table(release)
    options = {name: option for option in table.options for name in option.strings if option.action != "help"}
    requests = []
    for number in range(count):
        row = chance.choice(accepted_rows())
        capability = chance.choice(CAPABILITIES)
        argv = mutate(row, options, chance)
        requests.append({"id": number, "argv": argv, "env": dict(row["env"]), "capability": list(capability)})
    return requests


def search(tree: Path, validator: Sequence[str], count: int, seed: int) -> int:
    """Print the disagreements at one release; returns how many there are."""
    requests = make_requests(tree.name, count, seed)
    text = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([*validator, str(tree)], input=text, text=True, capture_output=True, check=False)
    false, missed = Counter[str](), Counter[str]()
    seen: dict[str, str] = {}
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        request = requests[answer["id"]]
        errors = [finding.rule for finding in answer_row({**request, "version": tree.name}).errors]
        late = [entry.get("site") for entry in answer.get("late") or ()]
        refused = answer["verdict"] == "reject" or bool(late)
        if refused == bool(errors):
            continue
        for name in errors or [str(answer.get("site") or late)]:
            (false if errors else missed)[name] += 1
            seen.setdefault(name, shlex.join(request["argv"]))
    for title, found in (("accepted, but", false), ("refused, and no rule tells of", missed)):
        for name, number in found.most_common():
            print(f"{tree.name}: {number} {title} {name}\n    {seen[name]}")
    return false.total() + missed.total()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--validator", required=True, type=shlex.split)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found = [search(tree, options.validator, options.count, options.seed) for tree in options.trees]
    print(f"{sum(found)} disagreements in {options.count * len(found)} command lines")
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main())
