"""Records behave as typing's NamedTuple does."""

from __future__ import annotations

import pickle
import typing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import preflight.record as record


class Ours(record.NamedTuple):
    """A record."""

    name: str
    value: int = 3
    more: tuple[str, ...] = ()

    @property
    def double(self) -> int:
        return self.value * 2

    def __str__(self) -> str:
        return f"<{self.name}>"


class Theirs(typing.NamedTuple):
    """A record."""

    name: str
    value: int = 3
    more: tuple[str, ...] = ()

    @property
    def double(self) -> int:
        return self.value * 2

    def __str__(self) -> str:
        return f"<{self.name}>"


class Empty(record.NamedTuple):
    pass


PAIR: Any = (Ours, Theirs)


@given(st.text(), st.integers(), st.lists(st.text()).map(tuple))
def test_the_same_in_every_respect(name: str, value: int, more: tuple[str, ...]) -> None:
    results = []
    for kind in PAIR:
        made = kind(name, value, more=more)
        short = kind(name)
        changed = made._replace(value=value + 1)
        kind_name = kind.__name__
        results.append(
            [
                tuple(made), tuple(short), tuple(changed), made._asdict(), made.double, str(made),
                repr(made).replace(kind_name, "X"), made == kind(name, value, more), hash(made), kind._fields,
                kind._field_defaults, kind._make([name, value, more]) == made, kind.__match_args__, kind.__doc__,
                made[1], len(made), made.name, isinstance(made, tuple), tuple(type(changed).__mro__[1:]),
            ]
        )  # fmt: skip
    assert results[0] == results[1]


def test_it_can_be_pickled_and_matched() -> None:
    made = Ours("a", 4)
    assert pickle.loads(pickle.dumps(made)) == made
    match made:
        case Ours(name, value):
            assert (name, value) == ("a", 4)
    assert Empty() == () and Empty()._asdict() == {}


@pytest.mark.parametrize("kind", PAIR)
def test_it_refuses_the_same(kind: Any) -> None:
    for wrong in (
        lambda: kind(),
        lambda: kind("a", 1, (), 2),
        lambda: kind("a", other=1),
        lambda: kind._make(["a"]),
    ):
        with pytest.raises(TypeError):
            wrong()
    made = kind("a")
    with pytest.raises(ValueError, match="other"):
        made._replace(other=1)
    with pytest.raises(AttributeError):
        made.name = "b"
    with pytest.raises(AttributeError):
        made.extra = "b"
    assert tuple(kind("b", value=1)) == ("b", 1, ())


def test_a_field_without_a_default_cannot_follow_one_with() -> None:
    with pytest.raises(TypeError, match="cannot follow"):
        exec(
            "class Wrong(record.NamedTuple):\n    a: int = 1\n    b: int\n",
            {"record": record, "__name__": __name__},
        )
