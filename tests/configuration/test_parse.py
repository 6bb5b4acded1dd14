"""Binding against real argparse: the same values, the same refusals."""

from __future__ import annotations

import argparse
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight.configuration.parse import default_of, parse_words
from preflight.targets.table import SUPPRESS, Option, Table, load_table
from tests.configuration.argparse_parser import RefusedError, build_reference
from tests.configuration.words import make_words

MIXED = Table(
    "mixed",
    [
        Option(("--count", "-c"), "count", "count", default=0),
        Option(("-x",), "x", type="int"),
        Option(("--maybe",), "maybe", nargs="?", const="constant", default="default"),
        Option(("--list",), "list", nargs="*", type="int"),
        Option(("--some",), "some", nargs="+"),
        Option(("--three",), "three", nargs=3, type="float"),
        Option(("--one",), "one", nargs=1),
        Option(("--add",), "add", "append"),
        Option(("--add-many",), "add_many", "append", nargs="+"),
        Option(("--spread",), "spread", "extend", nargs="+", type="int"),
        Option(("--fixed",), "fixed", "store_const", const=7),
        Option(("--add-fixed",), "add_fixed", "append_const", const="a"),
        Option(("--on",), "on", "store_true", default=False),
        Option(("--off",), "off", "store_false", default=True),
        Option(("--both", "--no-both"), "both", "boolean", default=None),
        Option(("--pick",), "pick", choices=("a", "b")),
        Option(("--level",), "level", type="int", choices=(0, 1, 2), default="1"),
        Option(("--truth",), "truth", type="bool"),
        Option(("--first",), "first", group=1),
        Option(("--second",), "second", group=1),
        Option(("--under_score",), "under_score", type="float", default=1.5),
    ],
)
REFERENCES: dict[str, argparse.ArgumentParser] = {}


def reference(table: Table) -> argparse.ArgumentParser:
    if table.name not in REFERENCES:
        REFERENCES[table.name] = build_reference(table)
    return REFERENCES[table.name]


def expected(table: Table, argv: list[str]) -> dict[str, Any] | None:
    """What argparse makes of it; None where it refuses."""
    try:
        namespace = vars(reference(table).parse_args(argv))
    except RefusedError:
        return None
    except SyntaxError:  # an unbalanced pattern escapes from argparse and ends the program all the same
        return None
    return {name: plain(value) for name, value in namespace.items()}


def plain(value: Any) -> Any:
    if isinstance(value, float):
        return repr(value)
    return tuple(plain(item) for item in value) if isinstance(value, (list, tuple)) else value


def check_same(table: Table, argv: list[str]) -> None:
    parsed = parse_words(make_words(argv), table)
    faults = [fault for fault in parsed.faults if fault.kind != "repeated"]
    values = expected(table, argv)
    if values is None:
        assert faults, f"argparse refuses {argv}"
        return
    assert not faults, f"argparse takes {argv}"
    bounds = {
        name: parsed.given.get(name) or default_of(option)
        for name, option in table.destinations.items()
        if name in parsed.given or option.default != SUPPRESS
    }
    unjudged = {name for name, bound in bounds.items() if bound.unknown}
    bound_values = {name: plain(bound.value) for name, bound in bounds.items() if name not in unjudged}
    assert {name: value for name, value in values.items() if name not in unjudged} == bound_values
    assert all(bounds[name].unknown.reason == "program" for name in unjudged)  # type: ignore[union-attr]


VALUES = st.sampled_from(
    [
        "1", "-1", "-1.5", "1e-5", "-1e-5", "0.1", "a", "b", "", "x y", "-x y", "([0]*2+[1])", "[1", "(1,2)", "true",
        "nan", "1_000", " 3 ", "-", "-.5", "-5e3", "attn", "full", "c=d", "--c=d", "-c3", "-cc", "--unheard-of",
    ]
)  # fmt: skip


def lines(table: Table) -> st.SearchStrategy[list[str]]:
    flags = sorted(text for text in table.flags if text not in ("-h", "--help"))
    flag = st.sampled_from(flags)
    joined = st.builds("{}={}".format, flag, VALUES)
    return st.lists(st.one_of(flag, flag, VALUES, joined), max_size=12)


@settings(max_examples=600, deadline=None)
@given(argv=lines(MIXED))
def test_every_kind_of_option_is_bound_as_argparse_binds_it(argv: list[str]) -> None:
    check_same(MIXED, argv)


@pytest.mark.parametrize("release", ["core_v0.5.0", "core_v0.13.1", "core_v0.19.0"])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_release_is_bound_as_argparse_binds_it(release: str, data: st.DataObject) -> None:
    table = load_table(release)
    check_same(table, data.draw(lines(table)))


def well_formed(table: Table) -> st.SearchStrategy[list[str]]:
    """Lines that argparse takes for the most part: each flag with the number and kind of values that it wants."""

    def piece(option: Option) -> st.SearchStrategy[list[str]]:
        flag = st.sampled_from(option.strings)
        if not option.takes_value:
            return flag.map(lambda text: [text])
        value = st.sampled_from(["1", "7", "-3"])
        if option.choices:
            value = st.sampled_from([str(choice) for choice in option.choices])
        elif option.type in (None, "float"):
            value = st.sampled_from(["0.5", "8", "-2.0"])
        least, most = {None: (1, 1), "?": (0, 1), "*": (0, 3), "+": (1, 3)}.get(
            option.nargs, (option.nargs, option.nargs)
        )
        values = st.lists(value, min_size=int(least or 0), max_size=int(most or 0))
        return st.tuples(flag, values).map(lambda pair: [pair[0], *pair[1]])

    options = [option for option in table.options if option.action != "help"]
    pieces = st.sampled_from(options).flatmap(piece)
    return st.lists(pieces, max_size=15).map(lambda found: [word for part in found for word in part])


@pytest.mark.parametrize("release", ["core_r0.8.0", "core_v0.15.3", "main"])
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_well_formed_lines_give_the_same_values(release: str, data: st.DataObject) -> None:
    table = load_table(release)
    check_same(table, data.draw(well_formed(table)))


PLAIN_VALUES = ("1", "0.5", "a", "x y", "c=d", "", "true")


def told(argv: list[str]) -> set[tuple[str, str]]:
    """The faults of a line, by kind and flag."""
    faults = parse_words(make_words(argv), MIXED).faults
    return {(fault.kind, fault.flag) for fault in faults if fault.kind != "repeated"}


@settings(max_examples=500, deadline=None)
@given(data=st.data())
def test_what_is_told_of_a_line_with_unknown_text_holds_whatever_the_text_is(data: st.DataObject) -> None:
    argv = data.draw(lines(MIXED))
    place = data.draw(st.integers(0, len(argv)))
    many = data.draw(st.booleans())
    count = data.draw(st.integers(0, 3)) if many else 1
    filling = data.draw(st.lists(st.sampled_from(PLAIN_VALUES), min_size=count, max_size=count))
    vague = [*argv[:place], "$*X" if many else "$X", *argv[place:]]
    filled = [*argv[:place], *filling, *argv[place:]]
    assert told(vague) <= told(filled)
    known = {
        name: bound
        for name, bound in parse_words(make_words(vague), MIXED).given.items()
        if not bound.unknown
    }
    given_then = parse_words(make_words(filled), MIXED).given
    assert {name: plain(bound.value) for name, bound in known.items()} == {
        name: plain(given_then[name].value) for name in known
    }
