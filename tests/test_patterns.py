"""Lazy patterns behave as compiled ones."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.patterns import pattern


@given(st.text("ab1 \n", max_size=20))
def test_the_same_as_compiled(text: str) -> None:
    ours, theirs = pattern(r"(a+)|(?P<d>\d)", re.M), re.compile(r"(a+)|(?P<d>\d)", re.M)
    for _ in range(2):
        assert [m.groupdict() for m in ours.finditer(text)] == [m.groupdict() for m in theirs.finditer(text)]
        assert ours.sub("x", text) == theirs.sub("x", text)
        assert (ours.match(text) is None) == (theirs.match(text) is None)
        assert ours.split(text) == theirs.split(text)
    assert ours.pattern == theirs.pattern and ours.flags == theirs.flags and ours.groups == theirs.groups


def test_bytes_and_faults() -> None:
    assert pattern(rb"\d+").findall(b"1 22") == [b"1", b"22"]
    broken = pattern("(")
    with pytest.raises(re.error):
        broken.match("x")
