"""Binding against real argparse: the same values, the same refusals."""

from __future__ import annotations

import argparse
from typing import Any

import pytest
from hypothesis import example, given, settings
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


def told(argv: list[str], table: Table = MIXED) -> set[tuple[str, str]]:
    """The faults of a line, by kind and flag."""
    faults = parse_words(make_words(argv), table).faults
    return {(fault.kind, fault.flag) for fault in faults if fault.kind != "repeated"}


def unread(faults: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """What is wrong with the values of flags that have too few: those are refused before any value is looked at."""
    return {(kind, flag) for missing, flag in faults if missing == "missing" for kind in ("type", "choice")}


def gapped(table: Table) -> st.SearchStrategy[tuple[list[str], int, bool, list[str]]]:
    """A line, the place of unknown text in it, whether that can be any number of words, and words it may be."""
    return st.booleans().flatmap(
        lambda many: st.tuples(
            lines(table),
            st.integers(0, 12),
            st.just(many),
            st.lists(st.sampled_from(PLAIN_VALUES), min_size=0 if many else 1, max_size=3 if many else 1),
        )
    )


@settings(max_examples=500, deadline=None)
@given(gap=gapped(MIXED))
@example(gap=(["--three", "a"], 2, True, []))
@example(gap=(["--three", "1", "a"], 2, True, ["1", "1"]))
def test_what_is_told_of_a_line_with_unknown_text_holds_whatever_the_text_is(
    gap: tuple[list[str], int, bool, list[str]],
) -> None:
    argv, place, many, filling = gap
    vague = [*argv[:place], "$*X" if many else "$X", *argv[place:]]
    filled = [*argv[:place], *filling, *argv[place:]]
    assert told(vague) <= told(filled) | unread(told(filled))
    if told(vague):
        assert expected(MIXED, filled) is None, f"argparse takes {filled}"
    known = {
        name: bound
        for name, bound in parse_words(make_words(vague), MIXED).given.items()
        if not bound.unknown
    }
    given_then = parse_words(make_words(filled), MIXED).given
    assert {name: plain(bound.value) for name, bound in known.items()} == {
        name: plain(given_then[name].value) for name in known
    }


STRICT = Table("strict", [*MIXED.options, Option(("--needed",), "needed", required=True)])
GAPS = (
    "$X", "$*X", "--$X", "--ad$X", "--add=$X", "--on=$X", "--list$X", "--un$X", "--un=$X", "--$X=1", "--un$X b",
    "-$X", "-x$X", "-c$X", "a$X", "$X b",
)  # fmt: skip
ANY_VALUES = (
    "", " ", "1", "-1", "-5e3", "a", "x y", "-", "--", "-x y", "-c", "-x", "-x1", "=1", "=a b", "d=3", "d",
    "--on", "--on=1", "--add", "--add=1", "--list", "--some", "--maybe", "--three", "--pick", "--needed", "--needed=1",
    "--unheard-of", "--un heard", "--un=a b", "--help",
)  # fmt: skip
FRAGMENTS = st.one_of(
    st.lists(VALUES, max_size=2),
    st.tuples(st.sampled_from(sorted(STRICT.flags)), st.lists(VALUES, max_size=2)).map(
        lambda pair: [pair[0], *pair[1]]
    ),
)


@st.composite
def any_gapped(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """A line with unknown text, and the line that it may be: the text has blanks in it, is empty, or is flags."""
    before, after = draw(st.lists(FRAGMENTS, max_size=2)), draw(st.lists(FRAGMENTS, max_size=2))
    gap = draw(st.sampled_from(GAPS))
    least, most = (0, 3) if gap == "$*X" else (1, 1)
    texts = draw(st.lists(st.sampled_from(ANY_VALUES), min_size=least, max_size=most))
    filling = texts if gap == "$*X" else [gap.replace("$X", texts[0])]
    start, end = ([word for part in parts for word in part] for parts in (before, after))
    return [*start, gap, *end], [*start, *filling, *end]


@settings(max_examples=800, deadline=None)
@given(gap=any_gapped())
@example(gap=(["--list", "$*X", "-"], ["--list", "--some", "-"]))
@example(gap=(["--list", "$X", "a"], ["--list", "--some", "a"]))
@example(gap=(["--three", "$*X", "a"], ["--three", "1", "2", "3", "--add", "a"]))
@example(gap=(["--maybe", "$X", "a"], ["--maybe", "--some", "a"]))
@example(gap=(["--add", "--ad$X"], ["--add", "--ad b"]))
@example(gap=(["--add", "--un=$X"], ["--add", "--un=a b"]))
@example(gap=(["--some", "a", "--un=$X"], ["--some", "a", "--un=a b"]))
@example(gap=(["--on", "$X", "--un=$X"], ["--on", "--add", "--un=a b"]))
def test_no_line_is_faulted_that_argparse_takes_for_some_text(gap: tuple[list[str], list[str]]) -> None:
    vague, filled = gap
    for table in (MIXED, STRICT):
        if told(vague, table):
            assert expected(table, filled) is None, f"argparse takes {filled}"


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("--three a $*X", {"type"}),
        ("--three 1 $X a", {"type"}),
        ("--spread $X a", {"type"}),
        ("--three 1 $X", {"missing"}),
        ("--add $X a", {"extra"}),
        ("--add a --un=$X", {"unknown"}),
        ("--on --un=$X", {"unknown"}),
        ("--add --un $X", {"missing", "unknown"}),
        ("--on=$X", {"explicit"}),
    ],
)
def test_what_no_text_can_mend_is_told(line: str, kinds: set[str]) -> None:
    assert {kind for kind, _ in told(line.split())} == kinds


@pytest.mark.parametrize(
    ("line", "told_of"),
    [("--add $X", True), ("--add=$X", True), ("--add $*X", False), ("--list $X", False), ("--on $X", False)],
)
def test_a_flag_is_missed_unless_unknown_text_may_hold_it(line: str, told_of: bool) -> None:
    assert told(line.split(), STRICT) == ({("required", "--needed")} if told_of else set())
