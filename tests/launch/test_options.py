from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.execution import Word
from preflight.launch.options import cut, declare, parse_options, split_text
from preflight.launch.programs import STARTERS, WRAPPERS
from preflight.source import Source
from preflight.values import Piece, Text, Unknown


def words(text: str) -> tuple[Word, ...]:
    """Words of a line, split as a shell splits plain text; `$X` is a word of unknown length."""
    source = Source("line", text.encode())
    found = []
    for part in shlex.split(text):
        at = max(text.find(part), 0)
        span = source.span(at, at + len(part))
        if part.startswith("$"):
            unknown = Unknown("environment", part, part[1:])
            found.append(Word(Text.missing(unknown, span), span, many=True))
        else:
            found.append(Word(Text.literal(part, span), span))
    return tuple(found)


def shown(parts: tuple[Word, ...]) -> list[str]:
    return [word.text.display() for word in parts]


@pytest.mark.parametrize(
    ("command", "line", "options", "rest"),
    [
        pytest.param(
            "srun", "-N2 -n 16 python a.py", {"nodes": "2", "ntasks": "16"}, "python a.py", id="glued"
        ),
        pytest.param(
            "srun", "-lu --nodes=2 x -n 4", {"nodes": "2", "label": None}, "x -n 4", id="stops at operand"
        ),
        pytest.param("srun", "--ntasks-per 8 x", {"ntasks_per": None}, "8 x", id="ambiguous beginning"),
        pytest.param("srun", "--exclusive x", {"exclusive": None}, "x", id="optional value is only glued on"),
        pytest.param("srun", "--exclusive=user x", {"exclusive": "user"}, "x", id="optional value glued on"),
        pytest.param("mpirun", "-np 4 -mca btl self x", {"np": "4", "mca": "btl"}, "x", id="two values"),
        pytest.param("mpirun", "-npernode 8 -H a,b x", {"ppn": "8", "hosts": "a,b"}, "x", id="one-dash long"),
        pytest.param(
            "docker", "--rm -itd -v /a:/b img sh", {"volume": "/a:/b", "tty": None}, "img sh", id="cluster"
        ),
        pytest.param(
            "nsys", "-t cuda --stats=true -o x y", {"trace": "cuda", "output": "x"}, "y", id="mixed"
        ),
        pytest.param("timeout", "-k 5 10 x", {"kill_after": "5"}, "10 x", id="operand stays"),
        pytest.param("ssh", "-p22 -o A=b host x", {"p": "22", "o": "A=b"}, "host x", id="ssh"),
        pytest.param("uv", "--no-sync --extra ssm python x", {"extra": "ssm"}, "python x", id="uv"),
        pytest.param("srun", "-- -x y", {}, "-x y", id="end of options"),
    ],
)
def test_options_of_wrappers(command: str, line: str, options: dict[str, str | None], rest: str) -> None:
    parsed = parse_options(words(line), WRAPPERS[command].grammar)
    assert shown(parsed.rest) == rest.split()
    for name, value in options.items():
        text = parsed.settings[name].text
        assert (text.value if text is not None else None) == value


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("--nproc_per_node 8 a.py", "8", id="underscores"),
        pytest.param("--nproc-per-node=8 a.py", "8", id="dashes and equals sign"),
        pytest.param("--nproc-per 8 a.py", "8", id="unambiguous beginning"),
        pytest.param("--nproc_per-node 8 a.py", "8", id="both"),
    ],
)
def test_spellings_of_torchrun(line: str, expected: str) -> None:
    parsed = parse_options(words(line), STARTERS["torchrun"].grammar)
    text = parsed.settings["nproc_per_node"].text
    assert text is not None and text.value == expected
    assert shown(parsed.rest) == ["a.py"]


def test_every_grammar_can_be_read() -> None:
    for program in (*WRAPPERS.values(), *STARTERS.values()):
        assert all(name.startswith("-") for name in program.grammar.options)


def test_words_of_unknown_length_are_marked_and_skipped() -> None:
    parsed = parse_options(
        words("$ARGS --nnodes 2 a.py"), STARTERS["torchrun"].grammar, lambda word: word.text.value == "a.py"
    )
    assert [unknown.name for unknown in parsed.open] == ["ARGS"]
    assert shown(parsed.rest) == ["a.py"]
    assert "nnodes" in parsed.settings


def test_missing_value_is_seen() -> None:
    parsed = parse_options(words("--nnodes"), STARTERS["torchrun"].grammar)
    assert parsed.given[0].missing


def test_declared_name_is_the_last_spelling() -> None:
    grammar = declare("-n -np --num-procs VALUE")
    assert {option.name for option in grammar.options.values()} == {"num_procs"}
    assert grammar.options["-n"].arity == 1


@given(st.text(min_size=1, max_size=12), st.data())
def test_cut_is_slicing_and_keeps_places(text: str, data: st.DataObject) -> None:
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        return
    source = Source("x", b"__" + encoded)
    value = Text.literal(text, source.span(2, 2 + len(encoded)))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    part = cut(value, start, end)
    assert part.display() == text[start:end]
    assert all(piece.span.text == piece.text for piece in part.pieces)


def test_split_never_splits_an_unknown() -> None:
    source = Source("x", b"a,$B,c")
    span = source.span(0, 6)
    text = Text((Piece("a,", span), Piece("$B,", span, Unknown("environment", "$B,")), Piece(",c", span)))
    assert [part.display() for part in split_text(text, ",")] == ["a", "$B,", "c"]
