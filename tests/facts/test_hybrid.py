"""Patterns of hybrid models."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.facts.hybrid import parse_pattern


@pytest.mark.parametrize(
    ("text", "segments", "depths", "layers"),
    [
        pytest.param("M*M*", ("M*M*",), (), "M*M*", id="one segment"),
        pytest.param(
            "M-M-|M-M*-/MM/MM", ("M-M-", "M-M*-"), ("MM", "MM"), "M-M-M-M*-", id="segments and depths"
        ),
        pytest.param("M*/", ("M*",), (), "M*", id="a separator with nothing behind it says nothing"),
        pytest.param("/MM", ("",), ("MM",), "", id="depths alone"),
        pytest.param("M*/MM/", ("M*",), ("MM", ""), "M*", id="an empty depth beside a full one stays"),
    ],
)
def test_a_pattern_falls_apart(
    text: str, segments: tuple[str, ...], depths: tuple[str, ...], layers: str
) -> None:
    pattern = parse_pattern(text)
    assert (pattern.segments, pattern.depths, pattern.layers) == (segments, depths, layers)


@given(
    st.lists(st.text("M*-E", max_size=5), min_size=1, max_size=5),
    st.lists(st.text("M*", min_size=1, max_size=3), max_size=3),
)
def test_what_is_put_together_falls_apart_again(segments: list[str], depths: list[str]) -> None:
    pattern = parse_pattern("/".join(["|".join(segments), *depths]))
    assert pattern.segments == tuple(segments)
    assert pattern.depths == tuple(depths)
