"""The machine formats, each read by a real consumer or held against its schema."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from preflight.outcome import Outcome
from preflight.report.github import LIMIT, write_github
from preflight.report.gitlab import write_gitlab
from preflight.report.json import write_json
from preflight.report.junit import write_junit
from preflight.report.sarif import relative_uri, write_sarif

from .outcomes import CLEAN, FULL, HEADS, OUTCOMES, finding

FIXTURES = Path(__file__).parents[2] / "fixtures" / "reports"
WRITERS = (write_json, write_sarif, write_github, write_gitlab, write_junit)


def load(name: str) -> Any:
    return json.loads((FIXTURES / name).read_text())


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__)
def test_no_format_shows_a_secret_and_each_is_the_same_twice(writer: Any) -> None:
    text = writer(FULL)
    assert "abcdef123" not in text
    assert text == writer(FULL)


@pytest.mark.parametrize("name", OUTCOMES)
def test_sarif_fits_its_schema(name: str) -> None:
    document = json.loads(write_sarif(OUTCOMES[name]))
    jsonschema.validate(document, load("sarif-used.schema.json"), format_checker=jsonschema.FormatChecker())
    published = os.environ.get("SARIF_SCHEMA")
    if published:
        jsonschema.validate(document, json.loads(Path(published).read_text()))


def test_sarif_says_everything() -> None:
    run = json.loads(write_sarif(FULL))["runs"][0]
    result = next(r for r in run["results"] if r["ruleId"] == HEADS.rule)
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["id"] == HEADS.rule
    assert "Why it matters." in rule["help"]["text"] and "arguments.py:validate" in rule["help"]["markdown"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"], region["endColumn"]) == (7, 2, 34)
    related = [entry["message"]["text"] for entry in result["relatedLocations"]]
    assert related[:2] == ["8 comes from this default", "--num-attention-heads 30"]
    assert related[2].endswith(": 32 layers")
    flow = [
        step["location"]["message"]["text"] for step in result["codeFlows"][0]["threadFlows"][0]["locations"]
    ]
    assert flow[-1].endswith("$TP: resolves to 8") and len(flow) == 4
    assert result["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"] == "6"
    assert result["partialFingerprints"]["preflight/v1"] == HEADS.fingerprint
    assert run["invocations"][0]["executionSuccessful"] is False
    assert "ignored" not in json.dumps(run["results"])


def test_sarif_results_are_there_even_when_empty() -> None:
    assert json.loads(write_sarif(CLEAN))["runs"][0]["results"] == []


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a b/ü.sh", "a%20b/%C3%BC.sh"),
        ("./x.sh", "x.sh"),
        (f"{os.getcwd()}/x#y.sh", "x%23y.sh"),
        ("a/../b.sh", "b.sh"),
    ],
)
def test_sarif_uris_are_relative(path: str, uri: str) -> None:
    assert relative_uri(path) == uri


def test_sarif_tools_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "report.sarif"
    path.write_text(write_sarif(FULL))
    command = [sys.executable, "-m", "sarif", "summary", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "error: 2" in done.stdout
    assert "heads-not-divisible-by-tp" in done.stdout
    csv = tmp_path / "report.csv"
    command = [sys.executable, "-m", "sarif", "csv", str(path), "-o", str(csv)]
    subprocess.run(command, capture_output=True, text=True, check=True)
    assert "train.sh" in csv.read_text()


def test_json_has_the_contracts_fields() -> None:
    document = json.loads(write_json(FULL))
    assert document["schema"] == 1 and document["target"] == "core_v0.19.0"
    assert document["summary"] == {"errors": 2, "warnings": 1, "notes": 2, "undecided": 1, "ignored": 1}
    found = next(f for f in document["findings"] if f["rule"] == HEADS.rule)
    expected = {
        "family": "attention", "severity": "error", "fails_at": "start", "path": "train.sh", "launch": 0,
        "configuration": None, "node": None, "releases": "core_v0.19.0", "line": 7, "column": 2, "end_line": 7,
        "end_column": 34, "facts": {"num_attention_heads": 30, "tensor_model_parallel_size": 8},
    }  # fmt: skip
    assert {key: found[key] for key in expected} == expected
    assert found["when"] == [{"path": "train.sh", "line": 5, "text": "$SIZE = 7B", "taken": True}]
    assert found["assumptions"] == [{"name": "TP", "value": "8", "path": "train.sh", "line": 3}]
    assert [label["path"] for label in found["labels"]] == [
        "train.sh",
        "train.sh",
        "train.sh",
        "lib/common.sh",
    ]
    assert found["fix"]["edits"] == [{"path": "train.sh", "start": 38, "end": 39, "text": "6"}]
    blocked = {"fact": "nnodes", "reason": "environment", "text": "$NNODES", "remedy": "--env NNODES=..."}
    assert document["undecided"][0]["blocked_by"] == [blocked]
    assert document["files"][1]["error"] == "no such file"


COMMAND = re.compile(r"^::(error|warning|notice) ((?:[a-z]+=[^,:]*(?:,|(?=::)))*)::(.*)$")


def test_github_commands_have_their_form() -> None:
    lines = write_github(FULL).splitlines()
    found = [COMMAND.match(line) for line in lines]
    assert all(found)
    levels = [match[1] for match in found if match]
    assert levels == sorted(levels, key=["error", "warning", "notice"].index)
    secret = next(line for line in lines if "secret-seen" in line)
    assert "100%25 sure%0Asecond line" in secret
    heads = next(line for line in lines if HEADS.rule in line)
    assert (
        heads.startswith("::error file=train.sh,line=7,col=2,title=preflight%3A heads")
        or "line=7,col=2" in heads
    )


def test_github_says_what_it_will_not_show() -> None:
    many = tuple(finding(f"r{n}", "error", f"finding {n}") for n in range(LIMIT + 3))
    crowded = CLEAN._replace(files=(CLEAN.files[0]._replace(diagnostics=many),))
    assert "3 more findings" in write_github(crowded).splitlines()[-1]
    assert "more findings" not in write_github(FULL)


@pytest.mark.parametrize("name", OUTCOMES)
def test_gitlab_fits_its_schema_and_fingerprints_are_unique(name: str) -> None:
    document = json.loads(write_gitlab(OUTCOMES[name]))
    jsonschema.validate(document, load("gitlab-code-quality.schema.json"))
    fingerprints = [entry["fingerprint"] for entry in document]
    assert len(set(fingerprints)) == len(fingerprints)


@pytest.mark.parametrize("name", OUTCOMES)
def test_junit_is_xml_whose_numbers_add_up(name: str) -> None:
    outcome: Outcome = OUTCOMES[name]
    root = ElementTree.fromstring(write_junit(outcome))
    cases = root.findall("./testsuite/testcase")
    assert int(root.get("tests", "")) == len(cases)
    assert int(root.get("failures", "")) == len(root.findall(".//failure"))
    assert int(root.get("errors", "")) == len(root.findall(".//error"))
    findings = [d for d in outcome.findings if d.severity != "note"]
    failures = sorted(element.get("message", "") for element in root.findall(".//failure"))
    assert failures == sorted(d.message for d in findings)


def test_junit_leaves_out_what_xml_cannot_hold() -> None:
    odd = finding("odd", "error", "bell \x07 and \ud800 half")
    text = write_junit(CLEAN._replace(files=(CLEAN.files[0]._replace(diagnostics=(odd,)),)))
    assert ElementTree.fromstring(text).find(".//failure") is not None
