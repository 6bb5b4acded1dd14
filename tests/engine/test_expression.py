"""The expression language: what it reads, what it refuses, and the law of its logic."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.engine.evaluate import ABSENT, UNKNOWN, Evaluation
from preflight.engine.expression import parse_condition, parse_expression
from preflight.engine.tree import ExpressionError, list_names
from preflight.facts.model import Blocker, Fact
from preflight.values import Unknown

TYPES = {
    "a": "int",
    "b": "int",
    "flag": "bool",
    "name": "str",
    "sizes": "list[int]",
    "te": "version",
    "x": "float",
}


def make_facts(**values: object) -> dict[str, Fact]:
    facts = {name: Fact(name, None, "default") for name in TYPES}
    facts.update({name: Fact(name, value, "flag") for name, value in values.items()})  # type: ignore[arg-type]
    return facts


def make_unknown(name: str) -> Fact:
    return Fact(name, None, "flag", blocked_by=(Blocker(name, Unknown("environment", f"${name}", name)),))


def evaluate(text: str, **values: object) -> object:
    return Evaluation(make_facts(**values)).evaluate(parse_expression(text, TYPES)[0])


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("a % b == 0", {"a": 8, "b": 4}, True),
        ("a % b == 0", {"a": 9, "b": 4}, False),
        ("1 <= a < b", {"a": 1, "b": 4}, True),
        ("a is None", {}, True),
        ("a > 1", {}, ABSENT),
        ("a is not None and a > 1", {}, False),
        ("flag or a > 1", {"flag": True}, True),
        ("flag", {}, None),
        ("not flag", {}, True),
        ("a % b == 0", {"a": 8, "b": 0}, ABSENT),
        ("name in ['x', 'y']", {"name": "y"}, True),
        ("name not in ('x', 'y')", {}, True),
        ("'ab' in name", {"name": "cabd"}, True),
        ("a if flag else b", {"a": 1, "b": 2}, 2),
        ("sum(n * a for n in sizes)", {"sizes": (1, 2), "a": 3}, 9),
        ("all(n % 2 == 0 for n in sizes if n > 2)", {"sizes": (1, 4, 6)}, True),
        ("any(n > 5 for n in sizes)", {"sizes": (1, 4, 6)}, True),
        ("max(sizes) - min(sizes)", {"sizes": (1, 4, 6)}, 5),
        ("max(a, b)", {"a": 2, "b": 3}, 3),
        ("len(sizes) == 3 and sizes[1] == 4", {"sizes": (1, 4, 6)}, True),
        ("sizes[7]", {"sizes": (1,)}, ABSENT),
        ("divisors(a)", {"a": 12}, (1, 2, 3, 4, 6, 12)),
        ("ceil_div(a, b)", {"a": 7, "b": 2}, 4),
        ("te >= version('2.9')", {"te": (2, 10, 1)}, True),
        ("str(te)", {"te": (2, 10, 1)}, "2.10.1"),
        ("-a + 2 ** 3", {"a": 3}, 5),
        ("a / b", {"a": 1, "b": 2}, 0.5),
    ],
)
def test_known_values_compute_as_in_python(text: str, values: dict[str, object], expected: object) -> None:
    assert evaluate(text, **values) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a ==", "invalid syntax"),
        ("tensor", "there is no fact named"),
        ("sizez == [1]", "did you mean 'sizes'"),
        ("a and b", "true or false is asked here"),
        ("name + 1", "a number is asked here"),
        ("name == 1", "cannot be compared"),
        ("flag > True", "have no order"),
        ("a in 3", "'in' asks for a list"),
        ("name in [1, 2]", "never holds"),
        ("a is 1", "compares with None only"),
        ("9**9**9", "exponent"),
        ("a ** b", "exponent"),
        ("lambda: 1", "not part of the expression language"),
        ("a.__class__", "not part of the expression language"),
        ("__import__('os')", "is not a function of rules"),
        ("[n for n in sizes]", "not part of the expression language"),
        ("all(n > 0 for n in a)", "a vector is asked here"),
        ("all(a > 0 for a in sizes)", "is the name of a fact already"),
        ("len(sizes, sizes)", "takes 1 to 1 arguments"),
        ("a + 99999999999999999999999", "too large"),
        ("1 + (" * 500, "never closed|too complicated|too many"),
    ],
)
def test_mistakes_are_refused_when_the_rule_is_loaded(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        parse_condition(text, TYPES)


def test_the_column_of_a_mistake_is_its_own() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_condition("a > 1 and bee > 2", TYPES)
    assert caught.value.column == 10


def test_only_deciding_unknowns_block() -> None:
    facts = make_facts(a=1) | {"b": make_unknown("b")}
    evaluation = Evaluation(facts)
    assert evaluation.evaluate(parse_condition("a > 1 and b > 1", TYPES)) is False
    assert evaluation.evaluate(parse_condition("a == 1 and b > 1", TYPES)) is UNKNOWN
    assert list(evaluation.blocked) == ["b"]


def test_names_bound_in_a_loop_are_no_facts() -> None:
    assert list_names(parse_condition("all(n > a for n in sizes) and flag", TYPES)) == ["sizes", "a", "flag"]


numbers = st.sampled_from(["a", "b", "1", "2", "len(sizes)", "min(sizes)", "(a + b)", "a % 3", "a // b", "x"])
conditions = st.recursive(
    st.one_of(
        st.builds(
            "{} {} {}".format, numbers, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), numbers
        ),
        st.sampled_from(
            ["flag", "name == 'p'", "name in ['p', 'q']", "a is None", "all(n > 1 for n in sizes)",
             "any(n == a for n in sizes)", "1 < a <= b", "te >= version('2')"]
        ),
    ),
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("not ({})".format, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
    ),
    max_leaves=8,
)  # fmt: skip
values = st.fixed_dictionaries(
    {
        "a": st.one_of(st.none(), st.integers(-3, 8)),
        "b": st.one_of(st.none(), st.integers(0, 4)),
        "flag": st.one_of(st.none(), st.booleans()),
        "name": st.one_of(st.none(), st.sampled_from(["p", "q", "r"])),
        "sizes": st.one_of(st.none(), st.lists(st.integers(0, 4), max_size=3).map(tuple)),
        "te": st.one_of(st.none(), st.just((2, 9))),
        "x": st.one_of(st.none(), st.sampled_from([0.5, 2.0])),
    }
)


@given(conditions, values, st.sets(st.sampled_from(sorted(TYPES))))
def test_replacing_an_unknown_never_turns_a_verdict_around(
    text: str, known: dict[str, object], hidden: set[str]
) -> None:
    tree = parse_condition(text, TYPES)
    whole = make_facts(**known)
    partial = whole | {name: make_unknown(name) for name in hidden}
    before, after = Evaluation(partial).truth(tree), Evaluation(whole).truth(tree)
    if before is not UNKNOWN:
        assert before is after


@given(conditions)
def test_trees_are_constants(text: str) -> None:
    tree = parse_condition(text, TYPES)
    assert ast.literal_eval(repr(tree)) == tree
