"""Constants come back as they were written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.constants import read_constant, write_constant

plain = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner, max_size=4)
    ),
)


@given(value=values)
def test_the_same_again(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    path = tmp_path_factory.mktemp("constants") / "below" / "one.two.py"
    write_constant(path, value)
    assert repr(read_constant(str(path))) == repr(value)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_constant(str(tmp_path / "nothing.py"))
