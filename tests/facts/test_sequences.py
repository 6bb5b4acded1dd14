"""Lists and schedules in small texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.facts.sequences import LONGEST, parse_amount, parse_frequency, parse_schedule

numbers = st.integers(0, 5)


def expressions() -> st.SearchStrategy[str]:
    """Texts that Megatron's own evaluation takes: lists of numbers, added and repeated."""
    lists = st.lists(numbers, max_size=4).map(lambda items: str(items).replace(" ", ""))
    return st.recursive(
        lists,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda pair: f"({pair[0]}+{pair[1]})"),
            st.tuples(inner, numbers).map(lambda pair: f"{pair[0]}*{pair[1]}"),
            st.tuples(numbers, inner).map(lambda pair: f"{pair[0]}*({pair[1]})"),
        ),
        max_leaves=6,
    )


@given(expressions())
def test_a_list_is_what_python_makes_of_it(text: str) -> None:
    assert parse_frequency(text) == tuple(eval(text))


@pytest.mark.parametrize("text", ["3", " 12 ", "-1"])
def test_a_number_is_a_number(text: str) -> None:
    assert parse_frequency(text) == int(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "[1",
        "[x]",
        "[1].pop()",
        "__import__('os')[0]",
        "[1]*[2]",
        "[1.5]",
        "[1]+2",
        f"[1]*{LONGEST + 1}",
    ],
)
def test_anything_else_is_none(text: str) -> None:
    assert parse_frequency(text) is None


def test_a_list_that_grows_without_bound_is_none() -> None:
    assert parse_frequency("[1]" + "*999" * 40) is None
    assert parse_frequency("[" * 3000 + "1" + "]" * 3000) is None


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("768", 768),
        ("250B", 250 * 10**9),
        ("1.5k", 1500),
        ("2m", 2_000_000),
        ("1T", 10**12),
        ("x", None),
        ("", None),
    ],
)
def test_amounts_have_suffixes(text: str, amount: int | None) -> None:
    assert parse_amount(text) == amount


def test_a_schedule_is_sorted_and_counted_in_samples() -> None:
    assert parse_schedule("4M:128, 0:64", 1000) == ((0, 64), (4000, 128))
    assert parse_schedule("0:64 10:128", None) == ((0, 64), (10, 128))


@pytest.mark.parametrize("text", ["64", "0:64 128", "0:x", ":"])
def test_what_is_no_schedule_is_none(text: str) -> None:
    assert parse_schedule(text, None) is None
