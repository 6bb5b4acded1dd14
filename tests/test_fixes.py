"""Fixes: what they mend is gone, the rest of the file stays byte by byte, and a second run changes nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.chain import Request
from preflight.cli.session import shipped_rules
from preflight.diagnostics import Diagnostic, Edit, Fix, Label
from preflight.examples import BASE
from preflight.fixes import choose, collide, difference, edit_bytes, mend
from preflight.outcome import FileOutcome
from preflight.ruling import check_source
from preflight.source import Source

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(
    path
    for path in (ROOT / "fixtures").rglob("*")
    if path.suffix in (".sh", ".slurm", ".sbatch", ".py") and path.is_file()
)


def check(source: Source, contents: Mapping[str, bytes]) -> FileOutcome:
    own = Source(source.path, contents.get(source.path, source.data))
    request = Request(rules=shipped_rules(), target="core_v0.19.0", overlay=contents)
    return check_source(own, request)


def fixable_scripts() -> Iterable[tuple[str, bytes]]:
    """Scripts with something to fix: one failing example for each rule that has a fix, and all fixtures."""
    rules = shipped_rules()
    for rule in rules.rules:
        prose = rules.prose(rule.name)
        if prose.fix is None:
            continue
        for example in prose.examples:
            if example["expect"] == "fail" and example.get("language") != "python":
                script = (BASE if example.get("base") else "") + example["script"].lstrip("\n")
                yield rule.name, script.encode()
                break
    for path in SCRIPTS:
        yield str(path.relative_to(ROOT)), path.read_bytes()


CASES = list(fixable_scripts())


@pytest.mark.parametrize(("name", "data"), CASES, ids=[name for name, _ in CASES])
def test_fixing_mends_and_twice_changes_nothing(name: str, data: bytes) -> None:
    source = Source("train.py" if name.endswith(".py") else "train.sh", data)
    first = check(source, {})
    mended = mend(lambda contents: check(source, contents), unsafe=True)
    after = mended.after.get(source.path, data)
    anew = check(Source(source.path, after), {source.path: after})
    assert [d.fingerprint for d in mended.outcome.diagnostics] == [d.fingerprint for d in anew.diagnostics]
    again = mend(
        lambda contents: check(Source(source.path, after), {source.path: after, **contents}), unsafe=True
    )
    assert again.after.get(source.path, after) == after
    assert not again.titles
    old = {(d.rule, d.message) for d in first.diagnostics if d.severity == "error"}
    new = {(d.rule, d.message) for d in mended.outcome.diagnostics if d.severity == "error"}
    assert new <= old
    assert bool(mended.titles) == (after != data)


def test_there_are_fixes_to_try() -> None:
    assert len([name for name, _ in CASES if "/" not in name]) >= 5


def test_safe_fixes_alone_leave_unsafe_ones() -> None:
    source = Source("s.sh", b"abc")
    finding = Diagnostic(
        "r", "f", "error", "start", "m", "s.sh", (Label(source.span(0, 1), "", primary=True),)
    )
    unsafe = finding._replace(fix=Fix("t", "unsafe", (Edit(source.span(0, 1), "x"),)))

    def checker(contents: Mapping[str, bytes]) -> FileOutcome:
        return FileOutcome("s.sh", 1, diagnostics=() if contents else (unsafe,))

    assert mend(checker).titles == ()
    assert mend(checker, unsafe=True).after == {"s.sh": b"xbc"}


def test_a_fix_that_does_not_help_or_makes_it_worse_is_not_kept() -> None:
    source = Source("s.sh", b"abc")
    base = Diagnostic("r", "f", "warning", None, "m", "s.sh", (Label(source.span(0, 1), "", primary=True),))
    idle = base._replace(fix=Fix("idle", "safe", (Edit(source.span(0, 1), "x"),)))
    harmful = base._replace(message="n", fix=Fix("harmful", "safe", (Edit(source.span(2, 3), "y"),)))
    good = base._replace(message="o", fix=Fix("good", "safe", (Edit(source.span(1, 2), "z"),)))
    broken = base._replace(severity="error", message="new")

    def checker(contents: Mapping[str, bytes]) -> FileOutcome:
        data = contents.get("s.sh", b"abc")
        left = [idle]
        left += [] if b"y" in data else [harmful]
        left += [] if b"z" in data else [good]
        left += [broken] if b"y" in data else []
        now = Source("s.sh", data)
        moved = [
            d._replace(
                fix=d.fix._replace(
                    edits=tuple(Edit(now.span(e.span.start, e.span.end), e.text) for e in d.fix.edits)
                )
            )
            if d.fix
            else d
            for d in left
        ]
        return FileOutcome("s.sh", 1, diagnostics=tuple(moved))

    mended = mend(checker)
    assert mended.titles == ("good",)
    assert mended.after == {"s.sh": b"azc"}


edits = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5), st.text("xyz", max_size=3)), max_size=6)


@given(st.binary(max_size=30), edits)
def test_chosen_edits_change_their_ranges_and_nothing_else(
    data: bytes, wanted: list[tuple[int, int, str]]
) -> None:
    source = Source("s.sh", data)
    findings = []
    for start, length, text in wanted:
        low = min(start, len(data))
        edit = Edit(source.span(low, min(low + length, len(data))), text)
        findings.append(Diagnostic("r", "f", "note", None, text, "s.sh", fix=Fix("t", "safe", (edit,))))
    chosen = [edit for d in choose(findings) if d.fix for edit in d.fix.edits]
    assert all(not collide(a, b) for a in chosen for b in chosen if a is not b)
    expected, at = b"", 0
    for edit in sorted(chosen, key=lambda e: e.span.start):
        expected += data[at : edit.span.start] + edit.text.encode()
        at = edit.span.end
    assert edit_bytes(data, chosen) == expected + data[at:]


@given(
    st.lists(st.sampled_from(["a\n", "b\n", "c\\\n", "\n"]), max_size=12),
    st.lists(st.sampled_from(["a\n", "d\n", "e"]), max_size=8),
)
def test_a_diff_is_what_patch_takes(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str]
) -> None:
    before, after = "".join(old).encode(), "".join(new).encode()
    text = difference("s.sh", before, after)
    if before == after:
        assert text == ""
        return
    folder = tmp_path_factory.mktemp("diff")
    (folder / "s.sh").write_bytes(before)
    subprocess.run(
        ["git", "apply", "--unsafe-paths", "-p1", "-"],
        input=text.encode(),
        cwd=folder,
        check=True,
        capture_output=True,
    )
    assert (folder / "s.sh").read_bytes() == after
    assert SequenceMatcher(None, before, after).ratio() <= 1
