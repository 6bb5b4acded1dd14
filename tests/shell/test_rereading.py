"""`eval` of a plain command: the short way gives what reading the text again gives."""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.execution import Execution
from preflight.shell import builtins
from preflight.source import Span
from tests.shell.evaluation import evaluate, shown

HEAD = 'A=7\nB="--b 1"\nC=${C:-c d}\n'
part = st.sampled_from(
    ["torchrun", "--tp", "8", "$A", "$B", "$C", "$U", "-x=", ":1", "a.b/c", "time", "export"]
)
telling = st.sampled_from(
    ["'q'", "\\;", "\\#", "'a b'", "\\$A", "*", "{a,b}", "\\~", "V=1", "\\>f", "\\(", "if"]
)
word = st.lists(part, min_size=1, max_size=3).map("".join)
odd = st.one_of(word, telling)
words = st.one_of(st.lists(word, min_size=1, max_size=5), st.lists(odd, min_size=1, max_size=5))
text = st.one_of(words.map(" ".join), words.map(lambda each: '"' + " ".join(each) + '"'))


def place(span: Span) -> tuple[int, int]:
    return span.resolve()[1:]


def summary(execution: Execution) -> object:
    return (
        shown(execution),
        [sorted(a.name for a in word.text.assumptions) for word in execution.words],
        [place(word.span) for word in execution.words],
        [place(piece.span) for word in execution.words for piece in word.text.pieces if piece.unknown],
    )


@given(text)
def test_the_short_way_changes_nothing(text: str) -> None:
    script = f"{HEAD}eval {text}\ntorchrun --end $?\n"
    short = evaluate(script)
    with mock.patch.object(builtins, "read_again", return_value=None):
        long = evaluate(script)
    assert [summary(e) for e in short.executions] == [summary(e) for e in long.executions]
    assert short.truncated == long.truncated


@pytest.mark.parametrize(
    "text",
    [
        'TP=${TP:-8}\nC="torchrun --tp $TP"\neval $C',
        'TP=${TP:-8}\nC="torchrun --tp $TP"\neval "$C && true"',
        'TP=${TP:-8}\nC="torchrun --tp=$TP"\neval "$C; true"',
        "TP=${TP:-8}\neval \"torchrun --tp '$TP'\"",
    ],
)
def test_what_an_assumption_decides_still_rests_on_it_behind_eval(text: str) -> None:
    execution = evaluate(text).executions[0]
    (assumption,) = execution.words[-1].text.assumptions
    assert (assumption.name, assumption.value) == ("TP", "8")
    steps = [step.text for step in execution.words[-1].text.steps]
    assert steps == (["$TP is put in here"] if "C=" in text else [])
