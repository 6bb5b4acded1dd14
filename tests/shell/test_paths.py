"""Branches that cannot be decided: both are taken, told apart while they differ, and joined again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.execution import Condition, Execution
from preflight.shell.joining import MAXIMUM_PATHS, reduce_many
from preflight.source import Source, Span
from tests.shell.evaluation import evaluate, known_words, launches, shown


def paths(text: str, **options: object) -> list[tuple[str, list[tuple[str, bool]]]]:
    """The launches with the branches taken to get there."""
    return [(" ".join(shown(e)[1:]), conditions(e)) for e in launches(evaluate(text, **options))]  # type: ignore[arg-type]


def conditions(execution: Execution) -> list[tuple[str, bool]]:
    return [(condition.text, condition.taken) for condition in execution.conditions]


def test_both_branches_are_taken() -> None:
    text = "if [ $SIZE = 7B ]; then L=32; else L=40; fi\ntorchrun $L"
    assert paths(text) == [("32", [("$SIZE = 7B", True)]), ("40", [("$SIZE = 7B", False)])]


def test_inside_the_branch_the_test_is_known() -> None:
    text = "if [ $SIZE = 7B ]; then torchrun $SIZE; fi"
    assert paths(text) == [("7B", [("$SIZE = 7B", True)])]


def test_the_test_is_known_through_other_variables() -> None:
    text = "S=$1\nif [[ $S == 7B ]]; then torchrun $S $1; fi"
    assert paths(text) == [("7B 7B", [("$S == 7B", True)])]


def test_the_same_test_gets_the_same_answer() -> None:
    text = "[ $M = a ] && X=1 || X=2\nif [ $M = a ]; then Y=1; else Y=2; fi\ntorchrun $X $Y"
    assert [words for words, _ in paths(text)] == ["1 1", "2 2"]


def test_a_denied_value_stays_denied() -> None:
    text = "if [ $M = a ]; then X=1\nelif [ $M = b ]; then X=2\nelse X=3; [ $M = a ] && X=4; fi\ntorchrun $X"
    assert [words for words, _ in paths(text)] == ["1", "2", "3"]


def test_case_knows_its_pattern() -> None:
    text = "case $SIZE in\n7B) L=32;;\n13B|13b) L=40;;\n*) L=80;;\nesac\ntorchrun $SIZE $L"
    assert paths(text) == [
        ("7B 32", [("$SIZE = 7B", True)]),
        ("?*$SIZE 40", [("$SIZE = 7B", False), ("$SIZE = 13B|13b", True)]),
        ("?*$SIZE 80", [("$SIZE = 7B", False), ("$SIZE = 13B|13b", False)]),
    ]


def test_an_empty_variable_is_known_to_be_empty() -> None:
    text = 'if [ -z "$X" ]; then X=d; fi\ntorchrun "$X" ${X:-never}'
    assert [words for words, _ in paths(text)] == ["d d", "?$X ?*$X"]


@pytest.mark.parametrize(
    "branch",
    [
        "if [ ! -d $OUT ]; then mkdir -p $OUT; fi",
        "if [ $V = 1 ]; then echo loud; fi",
        '[ -n "$V" ] && echo loud',
        "if [ $V = 1 ]; then X=1; else X=1; fi",
        "case $V in a) echo a;; *) echo b;; esac",
        "if grep -q x file; then echo found; fi",
        "for f in $FILES; do echo $f; done",
        "while read l; do echo $l; done < $FILE",
        "( if [ $V = 1 ]; then cd x; fi )",
    ],
)
def test_branches_that_end_alike_are_joined(branch: str) -> None:
    assert paths(f"{branch}\ntorchrun a") == [("a", [])]


@pytest.mark.parametrize(
    "check",
    [
        "if [ $# -lt 2 ]; then echo usage; exit 1; fi",
        '[ -z "$DATA" ] && { echo no data >&2; exit 1; }',
        "cd $ROOT || exit 1",
        "command -v torchrun || exit 1",
        ": ${DATA:?give a path}",
        "if [ $# -ne 5 ]; then\n  usage\n  exit 2\nfi",
    ],
)
def test_giving_up_is_no_branch(check: str) -> None:
    assert paths(f"{check}\ntorchrun a") == [("a", [])]


def test_a_launch_before_an_exit_keeps_its_branch() -> None:
    text = "if [ $DEBUG = 1 ]; then torchrun debug; exit 0; fi\ntorchrun full"
    assert paths(text) == [("debug", [("$DEBUG = 1", True)]), ("full", [("$DEBUG = 1", False)])]


def test_a_negated_test_names_the_test_itself() -> None:
    text = "if ! [ $V = 1 ]; then torchrun a; fi"
    assert paths(text) == [("a", [("$V = 1", False)])]


def test_a_loop_over_unknown_words_runs_not_at_all_or_somehow() -> None:
    text = "N=0\nfor x in $LIST; do N=$((N+1)); done\ntorchrun $N"
    assert paths(text) == [
        ("0", [("for x in $LIST", False)]),
        ("?*$N", [("for x in $LIST", True)]),
    ]


def test_unknown_arguments_are_read_or_not() -> None:
    text = (
        "TP=1\nwhile [ $# -gt 0 ]; do case $1 in --tp) TP=$2; shift 2;; *) shift;; esac; done\ntorchrun $TP"
    )
    found = paths(text)
    assert found[0] == ("1", [("$# -gt 0", False)])
    assert all(not words.startswith("1") for words, _ in found[1:])


def test_many_branches_are_joined_past_the_budget() -> None:
    text = (
        "".join(f"if [ $A{i} = x ]; then B{i}=1; else B{i}=2; fi\n" for i in range(12)) + "torchrun $B0 $B11"
    )
    script = evaluate(text)
    assert not script.truncated
    assert len(launches(script)) <= 24
    assert any("?*$B0" in shown(e) or "?*$B11" in shown(e) for e in launches(script))


def test_a_condition_on_all_paths_disappears_behind_three_ways() -> None:
    text = "case $M in a) X=1;; b) X=2;; *) X=3;; esac\nX=0\ntorchrun $X"
    assert paths(text) == [("0", [])]


def test_numbers_in_tests_are_learnt() -> None:
    text = "if [ $NNODES -eq 4 ]; then torchrun $NNODES; fi"
    assert paths(text) == [("4", [("$NNODES -eq 4", True)])]


@given(st.sets(st.tuples(*[st.sampled_from((None, True, False))] * 4), min_size=9))
def test_many_sets_of_conditions_cover_what_they_covered(chosen: set[tuple[bool | None, ...]]) -> None:
    span = Span(Source("script.sh", b"if"), 0, 2)
    paths = [
        tuple(Condition(span, str(at), taken) for at, taken in enumerate(each) if taken is not None)
        for each in sorted(chosen, key=repr)
    ]

    def covered(ways: Sequence[tuple[Condition, ...]]) -> set[tuple[bool, ...]]:
        worlds = product((True, False), repeat=4)
        return {w for w in worlds if any(all(w[int(c.text)] is c.taken for c in way) for way in ways)}

    reduced = reduce_many(paths)
    assert covered(reduced) <= covered(paths)
    if len(reduced) < MAXIMUM_PATHS:
        assert covered(reduced) == covered(paths)
    assert len(reduced) <= len(paths)


def test_a_loop_that_shifts_unknown_arguments_ends() -> None:
    text = (
        "TP=1; EXTRA=()\nwhile true; do case $1 in\n--tp) TP=$2; shift 2;;\n--extra) EXTRA+=($2); shift 2;;\n"
        "-v) V=$((V+1)); shift;;\n--) shift; break;;\n*) exit 1;;\nesac; done\ntorchrun $TP ${EXTRA[@]}"
    )
    script = evaluate(text)
    assert [shown(e)[1:] for e in launches(script)] == [["1"], ["?*$TP", "?*${EXTRA[@]}"]]
    assert script.truncated == ()
    later = launches(script)[1].conditions
    assert [c.text for c in later if c.taken and "--tp" in c.text] == []


def test_a_loop_that_any_turn_may_end_stands_for_all_its_turns() -> None:
    text = "n=0\nwhile :; do n=$((n+1)); ping -c 1 host && break; done\ntorchrun $n"
    script = evaluate(text)
    found = [shown(e)[1] for e in launches(script)]
    assert found[0] == "1" and found[-1].startswith("?")
    assert script.truncated == ()


@pytest.mark.parametrize("made", [True, False], ids=["in a checkout of git", "in none"])
def test_the_top_of_a_checkout_of_git_is_where_its_folder_lies(tmp_path: Path, made: bool) -> None:
    inner = tmp_path / "examples" / "small"
    inner.mkdir(parents=True)
    if made:
        (tmp_path / ".git").mkdir()
    script = evaluate("cd examples/small\ntorchrun $(git rev-parse --show-toplevel)/x.py", tmp_path)
    (execution,) = launches(script)
    assert known_words(execution) == ["torchrun", f"{tmp_path}/x.py" if made else None]
