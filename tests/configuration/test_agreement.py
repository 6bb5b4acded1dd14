"""Binding against what Megatron's own parser says of recorded command lines."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from preflight.configuration.bind import bind_launch
from preflight.targets.table import load_table
from tests.configuration.launches import make_launch

ROWS = Path(__file__).parents[2] / "fixtures" / "oracle"
RELEASES = ("0.12.0", "0.15.3", "0.17.1", "0.19.0")
MILD = {"repeated-flag", "unchecked-flags"}
ELSEWHERE = ("yaml_arguments.py", "arguments.py:parse_args")
"""Refusals inside `parse_args` that do not come from the flags: a YAML file that is absent, a missing package."""


@cache
def read_rows(release: str) -> list[dict[str, Any]]:
    with gzip.open(ROWS / f"{release}.jsonl.gz", "rt") as stream:
        return [json.loads(line) for line in stream]


def list_kinds(row: dict[str, Any]) -> set[str]:
    (configuration,) = bind_launch(make_launch(row["argv"]), load_table(row["version"]))
    return {problem.kind for problem in configuration.problems} - MILD


@pytest.mark.parametrize("release", RELEASES)
def test_what_the_parser_refuses_is_told_and_nothing_else(release: str) -> None:
    missed, wrong, refused = [], [], 0
    for row in read_rows(release):
        at_parser = row.get("stage") == "argparse"
        if at_parser and any(place in row["site"] for place in ELSEWHERE):
            continue
        kinds = list_kinds(row)
        refused += at_parser
        if at_parser and not kinds:
            missed.append((row["id"], row["site"]))
        if kinds and not at_parser:
            wrong.append((row["id"], kinds))
    assert not missed
    assert not wrong
    assert refused > 50


def test_probes_of_all_releases_are_told_at_the_parser_and_nowhere_else() -> None:
    with gzip.open(ROWS / "probes.jsonl.gz", "rt") as stream:
        rows = [json.loads(line) for line in stream]
    wrong = [
        (row["version"], row["probe"], row.get("stage"))
        for row in rows
        if bool(list_kinds(row)) != (row.get("stage") == "argparse")
    ]
    assert not wrong
    assert len({row["version"] for row in rows}) == 16
