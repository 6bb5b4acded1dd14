"""Layouts of pipeline stages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.facts.layout import LONGEST, count_layers, parse_layout


@pytest.mark.parametrize(
    ("text", "stages"),
    [
        pytest.param("Etttt|ttttL", ("Etttt", "ttttL"), id="written out"),
        pytest.param(
            "Et*3|(tt|)*2,m|L", ("Ettt", "tt", "tt", "m", "L"), id="groups and single letters repeat"
        ),
        pytest.param("E,t|t,L", ("Et", "tL"), id="commas are cosmetic"),
        pytest.param("(ab|cd|ef)*2", ("ab", "cd", "efab", "cd", "ef"), id="unknown letters stay"),
        pytest.param("", ("",), id="nothing is one empty stage"),
        pytest.param("E||L", ("E", "", "L"), id="an empty stage stays"),
    ],
)
def test_a_layout_is_written_out(text: str, stages: tuple[str, ...]) -> None:
    assert parse_layout(text) == stages


def test_a_layout_that_grows_without_bound_is_none() -> None:
    assert parse_layout(f"(t)*{LONGEST * 10}") is None
    assert parse_layout("(t)*999999999999999999999999") is None


def test_layers_are_counted_by_rank_over_all_rounds() -> None:
    assert count_layers(("Ett", "tt", "t", "tL"), 2) == (3, 3)


@given(st.lists(st.text("Etm", max_size=5), min_size=1, max_size=6))
def test_a_layout_without_repetitions_is_split_at_its_bars(stages: list[str]) -> None:
    assert parse_layout("|".join(stages)) == tuple(stages)


@given(st.text("tm", min_size=1, max_size=4), st.integers(1, 9), st.text("tm", max_size=4))
def test_a_repeated_group_is_the_group_that_often(group: str, times: int, rest: str) -> None:
    assert parse_layout(f"E({group})*{times}{rest}|L") == (f"E{group * times}{rest}", "L")
