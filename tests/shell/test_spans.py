"""Every word and piece points at the place where it was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.values import derive_source
from tests.shell.evaluation import evaluate, launches

CASES = [
    ("torchrun --tp 8", 2, "8", "8"),
    ("TP=8\ntorchrun --tp $TP", 2, "$TP", "8"),
    ("TP=${TP:-8}\ntorchrun --tp $TP", 2, "$TP", "8"),
    ('A=(--tp 8)\ntorchrun "${A[@]}"', 2, "8", "8"),
    ('TP=8\nA=(--tp $TP)\ntorchrun "${A[@]}"', 2, "$TP", "8"),
    ("A='--tp 8'\ntorchrun $A", 2, "8", "8"),
    ('TP=8\nA="--tp $TP"\ntorchrun $A', 2, "$TP", "8"),
    ("X='--a 1'\neval \"torchrun $X\"", 2, "1", "1"),
    ("f() { torchrun --tp $1; }\nf 8", 2, "$1", "8"),
    ('C="torchrun --tp 8"\n$C', 2, "8", "8"),
    ("X=$(echo torchrun --tp 8)\n$X", 2, "8", "8"),
    ("X=/a/b8\ntorchrun --tp ${X#/a/b}", 2, "${X#/a/b}", "8"),
    ("read A B <<< 'x 8'\ntorchrun --tp $B", 2, "$B", "8"),
]


@pytest.mark.parametrize(("text", "number", "use", "origin"), CASES, ids=[case[0] for case in CASES])
def test_a_word_knows_its_use_and_its_origin(text: str, number: int, use: str, origin: str) -> None:
    (execution,) = launches(evaluate(text, closed=True))
    word = execution.words[number]
    assert word.span.resolve().text == use
    assert [piece.span.resolve().text for piece in word.text.pieces if piece.text] == [origin]


def test_the_way_leads_from_the_origin_to_the_use() -> None:
    text = 'TP=8\nN=$TP\nA="--n $N"\ntorchrun $A'
    (execution,) = launches(evaluate(text))
    steps = execution.words[2].text.steps
    assert [step.span.text for step in steps] == ["$TP", "$N"]


def test_a_value_from_another_file_points_there(tmp_path: Path) -> None:
    (tmp_path / "conf.sh").write_text("\nTP=8\n")
    (execution,) = launches(evaluate("source conf.sh\ntorchrun $TP", tmp_path))
    span = execution.words[1].text.pieces[0].span
    assert (span.path, span.position.line, span.text) == ("conf.sh", 2, "8")


def test_text_that_begins_with_what_the_caller_gives_stands_where_its_rest_is_written() -> None:
    text = 'H=$(pwd)\nC="torchrun $H/a.py"\nbash -c "$C --x"'
    script = evaluate(text)
    source, _ = derive_source(script.executions[-1].words[2].text, "script.sh")
    start = source.data.index(b"/nonexistent")
    span = source.span(start, source.data.index(b" --x"))
    assert span.resolve().path == "script.sh"
    assert span.resolve().position.line == 2
