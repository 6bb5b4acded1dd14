"""What cannot be alike is left out before the slow comparison, and nothing else."""

from __future__ import annotations

import difflib

from hypothesis import given
from hypothesis import strategies as st

from preflight.configuration.spelling import LIKENESS, list_likely
from preflight.targets.table import load_table

FLAGS = tuple(load_table("core_v0.19.0").flags)


@given(
    st.sampled_from(FLAGS),
    st.lists(st.tuples(st.integers(0, 60), st.text("abmxz-_Aé", max_size=2)), max_size=6),
)
def test_no_close_flag_is_left_out(flag: str, slips: list[tuple[int, str]]) -> None:
    text = flag
    for place, letters in slips:
        text = text[:place] + letters + text[place + 1 :]
    likely = list(list_likely(text, FLAGS))
    assert difflib.get_close_matches(text, likely, 3, LIKENESS) == difflib.get_close_matches(
        text, FLAGS, 3, LIKENESS
    )


def test_most_flags_are_left_out() -> None:
    assert len(list(list_likely("--num-layerz", FLAGS))) < len(FLAGS) / 4
