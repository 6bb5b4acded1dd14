"""Findings of several paths through a script, made one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.diagnostics import Diagnostic, Label, Undecided
from preflight.execution import Condition
from preflight.source import Source, Span
from preflight.variants import branch_of, explain, merge_findings, merge_undecided, path_of, soften

SOURCE = Source("s.sh", b"0123456789" * 4)


def branch(number: int, taken: bool = True) -> Condition:
    return Condition(SOURCE.span(number, number + 1), f"t{number}", taken)


def finding(message: str) -> Diagnostic:
    return Diagnostic(
        "r", "f", "error", "start", message, "s.sh", (Label(SOURCE.span(30, 31), "", primary=True),)
    )


A, NOT_A, B, NOT_B = branch(0), branch(0, False), branch(1), branch(1, False)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([((), ["x"])], [("x", [])]),
        ([((A,), ["x"]), ((NOT_A,), ["x"])], [("x", [])]),
        ([((A,), ["x"]), ((NOT_A,), [])], [("x", [A])]),
        ([((A,), ["x"]), ((NOT_A,), ["y"])], [("x", [A]), ("y", [NOT_A])]),
        ([((A, B), ["x"]), ((A, NOT_B), ["x"]), ((NOT_A, B), []), ((NOT_A, NOT_B), [])], [("x", [A])]),
        ([((A, B), ["x"]), ((A, NOT_B), []), ((NOT_A, B), []), ((NOT_A, NOT_B), [])], [("x", [A, B])]),
        ([((A,), ["x"]), ((A,), [])], [("x", [])]),
    ],
    ids=[
        "the only path", "all paths", "one of two paths", "different numbers on each path",
        "a branch that does not matter is left out", "two branches are needed", "two rounds of a loop are one path",
    ],
)  # fmt: skip
def test_a_finding_names_the_branches_it_needs(
    found: list[tuple[tuple[Condition, ...], list[str]]], expected: list[tuple[str, list[Condition]]]
) -> None:
    merged = merge_findings([(path, [finding(m) for m in messages]) for path, messages in found])
    assert [(d.message, list(d.conditions)) for d in merged] == expected


def test_a_value_that_several_texts_repeat_is_marked_once() -> None:
    place = SOURCE.span(5, 9)
    texts = [
        Source("s.sh", b"--load " * more + b"5678", ((7 * more, 7 * more + 4, place),)) for more in (0, 1)
    ]
    found = [
        finding("x")._replace(labels=(Label(text.span(7 * more, 7 * more + 4), "", primary=True),))
        for more, text in enumerate(texts)
    ]
    assert len(merge_findings([((), found)])) == 1


@given(st.data())
def test_the_named_branches_hold_only_where_the_finding_does(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 4))
    paths = [tuple(branch(n, bool(bits >> n & 1)) for n in range(count)) for bits in range(2**count)]
    holding = data.draw(st.lists(st.sampled_from(paths), min_size=1, unique=True))
    needed = explain(holding, [path_of(path) for path in paths])
    covered = [path for path in paths if path_of(needed) <= path_of(path)]
    assert covered
    assert all(path in holding for path in covered)
    assert {branch_of(c) for c in needed} <= path_of(holding[0])
    if len(holding) == len(paths):
        assert needed == ()


def test_an_undecided_rule_is_said_once_and_not_where_it_fails() -> None:
    one = Undecided("a", "s.sh", None, (("x", "environment", "$X", None),))
    other = one._replace(blocked_by=(("y", "environment", "$Y", None),))
    assert merge_undecided([one, other, one], []) == [
        one._replace(blocked_by=one.blocked_by + other.blocked_by)
    ]
    assert merge_undecided([one], [finding("x")._replace(rule="a")]) == []


CHOICES = b"""if half:
    cmd.append("--fp16")
if brain:
    cmd.append("--bf16")
    if wide:
        cmd.append("--wide")
else:
    cmd.append("--fp32")
cmd.append("--always")
--bare
"""


@pytest.mark.parametrize(
    ("places", "severity"),
    [
        (["--fp16", "--bf16"], "warning"),
        (["--fp16", "--wide"], "warning"),
        (["--fp16", "--fp32"], "warning"),
        (["--bf16", "--wide"], "error"),
        (["--fp16", "--always"], "error"),
        (["--bf16", "--bare"], "error"),
        (["--fp16"], "error"),
    ],
    ids=[
        "two choices",
        "one of them deeper",
        "the other way",
        "one inside the other",
        "one choice",
        "behind both",
        "one place",
    ],
)
def test_an_error_that_two_choices_make_together_is_a_warning(places: list[str], severity: str) -> None:
    source = Source("a.py", CHOICES)

    def mark(text: str) -> Span:
        at = CHOICES.index(text.encode())
        return source.span(at, at + len(text))

    path = tuple(Condition(mark(name), name, True) for name in ("half", "brain", "wide"))
    labels = tuple(Label(mark(place), "", primary=not number) for number, place in enumerate(places))
    diagnostic = finding("x")._replace(labels=labels)
    (found,) = soften([diagnostic], [(path, [diagnostic])])
    assert found.severity == severity
