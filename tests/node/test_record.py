"""Records: what is written comes back, and nonsense is refused with its place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.node.model import Fabric, Gpu, Link, Node, Process, Silence
from preflight.node.profiles import build_node, list_profiles, read_node
from preflight.node.record import RecordError, read_record, write_record

from .plausible import list_profiles as make_profiles

NUMBERS = st.none() | st.integers(-(2**63), 2**63)
TEXTS = st.none() | st.text(max_size=20)
LINKS = st.builds(
    Link, NUMBERS, NUMBERS, NUMBERS, TEXTS, st.dictionaries(st.text(max_size=5), st.integers(), max_size=2)
)
FABRICS = st.builds(
    Fabric, st.integers(0, 3), st.integers(), st.text(max_size=32), st.integers(), NUMBERS, NUMBERS
)
GPUS = st.builds(
    Gpu,
    number=st.integers(0, 63),
    name=TEXTS,
    capability=st.none() | st.tuples(st.integers(0, 20), st.integers(0, 9)),
    memory_total=NUMBERS,
    links=st.lists(LINKS, max_size=4).map(tuple),
    fabric=st.none() | FABRICS,
    processes=st.none()
    | st.lists(st.builds(Process, st.integers(), NUMBERS, TEXTS, st.booleans()), max_size=3).map(tuple),
    errors=st.dictionaries(st.text(max_size=9), st.integers(), max_size=3),
)


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    gpus = tuple(draw(st.lists(GPUS, max_size=4, unique_by=lambda gpu: gpu.number)))
    cells = st.lists(
        st.lists(NUMBERS, min_size=len(gpus), max_size=len(gpus)).map(tuple),
        min_size=len(gpus),
        max_size=len(gpus),
    )
    return Node(
        host=draw(st.text(max_size=30)),
        measured=draw(st.booleans()),
        gpus=gpus,
        peers=draw(cells.map(tuple)),
        scheduler=draw(st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=3)),
        seconds=draw(st.floats(0, 99)),
        silence=draw(st.none() | st.builds(Silence, st.text(max_size=9), NUMBERS, st.text(), st.text())),
    )


@given(nodes())
def test_a_record_comes_back(node: Node) -> None:
    assert read_record(write_record(node)) == node


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*Node._fields, *Gpu._fields]), inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(Node._fields), JSON))
def test_nonsense_is_read_or_refused_in_words(content: dict[str, object]) -> None:
    try:
        read_record(json.dumps({"schema": 1, "host": "n", **content}))
    except RecordError as error:
        assert str(error).startswith("record.")


@given(st.binary(max_size=60))
def test_bytes_are_refused_in_words(data: bytes) -> None:
    with pytest.raises(RecordError):
        read_record(data)


def test_fields_of_a_newer_version_are_passed_over() -> None:
    content = json.loads(write_record(read_node("l40s")))
    content["colour"] = "green"
    content["gpus"][0]["mood"] = {"a": 1}
    assert read_record(json.dumps(content)) == read_node("l40s")


def test_the_shipped_profiles_are_those_that_their_source_makes() -> None:
    """Until somebody measures one: then it leaves plausible.py."""
    made = make_profiles()
    assert {name for name in list_profiles() if not read_node(name).measured} == set(made)
    for name, node in made.items():
        assert read_node(name) == node, f"run python -m tests.node.plausible for {name}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no-such-node", "shipped profiles are a100-pcie-pairs"),
        ("/no/such/file.json", "no such file"),
        ("hgx-h100 gpus.9.mig=1", "no position 9"),
        ("", "the name of a node is missing"),
        ("hgx-h100 gpus.0.number=x", "expected a whole number"),
    ],
)
def test_a_node_that_cannot_be_built(text: str, said: str) -> None:
    with pytest.raises(RecordError, match=said):
        build_node(text)
