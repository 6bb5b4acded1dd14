"""What cannot be alike is left out before the slow comparison, and nothing else."""

from __future__ import annotations

import difflib

from hypothesis import given
from hypothesis import strategies as st

from preflight.configuration.problems import is_slip
from preflight.configuration.spelling import LIKENESS, Spellings
from preflight.targets.table import load_table

FLAGS = tuple(load_table("core_v0.19.0").flags)
KNOWN = Spellings(FLAGS)


def slips(most: int) -> st.SearchStrategy[list[tuple[int, str]]]:
    """Places in a flag, each with the letters that stand there instead of one."""
    return st.lists(st.tuples(st.integers(0, 60), st.text("abmxz-_Aé", max_size=2)), max_size=most)


def misspell(flag: str, made: list[tuple[int, str]]) -> str:
    for place, letters in made:
        flag = flag[:place] + letters + flag[place + 1 :]
    return flag


@given(
    st.sampled_from(FLAGS),
    slips(6),
)
def test_no_close_flag_is_left_out(flag: str, made: list[tuple[int, str]]) -> None:
    text = misspell(flag, made)
    likely = list(KNOWN.list_likely(text))
    assert difflib.get_close_matches(text, likely, 3, LIKENESS) == difflib.get_close_matches(
        text, FLAGS, 3, LIKENESS
    )


@given(
    st.sampled_from(FLAGS),
    slips(2),
)
def test_no_slip_is_left_out(flag: str, made: list[tuple[int, str]]) -> None:
    text = misspell(flag, made)
    nearest = KNOWN.find_nearest(text)
    assert KNOWN.may_hold_slip(text) or nearest is None or not is_slip(text, nearest)


def test_a_strange_flag_is_no_slip() -> None:
    assert not KNOWN.may_hold_slip("--rollout-batch-size-per-engine")
    assert KNOWN.may_hold_slip("--num-layrs") and KNOWN.may_hold_slip("--Num_Layers")


def test_most_flags_are_left_out() -> None:
    assert len(list(KNOWN.list_likely("--num-layerz"))) < len(FLAGS) / 4
