"""The baseline: what is accepted, what is new, what is stale."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.baseline import BaselineError, Entry, apply_baseline, read_baseline, write_baseline
from preflight.diagnostics import Diagnostic
from preflight.fingerprint import stamp


def finding(message: str, path: str = "a.sh", rule: str = "r") -> Diagnostic:
    return Diagnostic(rule, "f", "error", "start", message, path)


messages = st.lists(st.sampled_from("abcd"), max_size=12)


@given(messages, messages)
def test_what_was_there_is_accepted_and_the_rest_is_not(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str]
) -> None:
    path = str(tmp_path_factory.mktemp("baseline") / "known.json")
    write_baseline(path, stamp(map(finding, old), "."), ".")
    marked, stale = apply_baseline(stamp(map(finding, new), "."), read_baseline(path))
    for letter in "abcd":
        before, now = old.count(letter), new.count(letter)
        accepted = [d for d in marked if d.message == letter and d.ignored == "baseline"]
        assert len(accepted) == min(before, now)
        assert len([e for e in stale if e.message == letter]) == max(before - now, 0)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.text(max_size=8)), max_size=8))
def test_every_finding_has_a_fingerprint_of_its_own(found: list[tuple[str, str]]) -> None:
    stamped = stamp([finding(message, f"{path}.sh") for path, message in found], ".")
    assert len({d.fingerprint for d in stamped}) == len(found)


def test_the_file_is_sorted_one_line_for_each_and_never_grows_by_itself(tmp_path: Path) -> None:
    path = str(tmp_path / "known.json")
    findings = stamp([finding("b"), finding("a"), finding("c", "0.sh")], ".")
    assert write_baseline(path, findings, ".") == 3
    text = Path(path).read_text()
    assert [e["message"] for e in json.loads(text)["findings"]] == ["c", "a", "b"] or json.loads(text)[
        "findings"
    ][0]["path"] == "0.sh"
    assert len(text.splitlines()) == 5
    marked, _ = apply_baseline(findings, read_baseline(path))
    assert write_baseline(path, marked, ".") == 3
    assert Path(path).read_text() == text
    ignored = [d._replace(ignored="a comment") for d in findings]
    assert write_baseline(path, ignored, ".") == 0
    assert read_baseline(path) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"schema": 2}',
        '{"schema": 1}',
        '{"schema": 1, "findings": [1]}',
        '{"schema": 1, "findings": [{}]}',
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "known.json"
    path.write_text(text)
    with pytest.raises(BaselineError, match="--write-baseline"):
        read_baseline(str(path))


def test_an_absent_file_is_refused_with_the_way_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="no such baseline"):
        read_baseline(str(tmp_path / "absent.json"))


def test_fingerprints_do_not_hang_on_place_but_on_evidence() -> None:
    first = stamp([finding("x")._replace(facts={"tp": 8})], ".")[0]
    reworded = stamp([finding("y")._replace(facts={"tp": 8})], ".")[0]
    other = stamp([finding("x")._replace(facts={"tp": 4})], ".")[0]
    assert first.fingerprint == reworded.fingerprint != other.fingerprint
    assert stamp([finding("x", "./a.sh")], ".")[0].fingerprint == stamp([finding("x")], ".")[0].fingerprint


def test_entries_compare_by_path_first() -> None:
    assert sorted([Entry("b", "a", "1"), Entry("a", "b", "2")])[0].path == "a"
