"""What a sheet reads by itself is what argparse reads."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.cli.sheet import Sheet

COMMANDS = ("check", "trace", "files", "explain", "rules", "targets", "verify", "exec", "node", "fleet")
SHEETS: dict[str, Sheet] = {
    name: importlib.import_module(f"preflight.cli.{name}").make_sheet() for name in COMMANDS
}
VALUES = (
    "x y",
    "",
    *["7", "0", "A=1", "1=7B", "json", "text", "error", "never", "a.sh", "b", "-", "-1", "--", "all"],
)


@st.composite
def lines(draw: st.DrawFn) -> tuple[Sheet, list[str]]:
    """A command and words that mostly make sense to it."""
    sheet = SHEETS[draw(st.sampled_from(COMMANDS))]
    flags = [name for each in sheet.arguments for name in each.names if name[0] == "-"]
    words = draw(
        st.lists(
            st.sampled_from(flags) | st.sampled_from(VALUES) | st.sampled_from(["--help", "--nodes=2", "-vq"])
        )
    )
    return sheet, words


def ask_argparse(sheet: Sheet, words: list[str], intermixed: bool) -> dict[str, Any] | None:
    parser = sheet.make_parser()
    try:
        return vars((parser.parse_intermixed_args if intermixed else parser.parse_args)(words))
    except SystemExit:
        return None


@pytest.mark.parametrize("intermixed", [False, True])
@given(line=lines())
def test_plain_words_mean_what_they_mean_to_argparse(intermixed: bool, line: tuple[Sheet, list[str]]) -> None:
    sheet, words = line
    plain = sheet.read_plain(words)
    if plain is not None:
        assert vars(plain) == ask_argparse(sheet, words, intermixed)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["a.sh"],
        ["--isolated", "a.sh", "b.sh"],
        ["a.sh", "--env", "A=1", "--env", "B=2", "--output", "json", "-v"],
        ["-", "--nodes", "2", "--color", "never"],
    ],
)
def test_the_common_words_are_plain(words: list[str]) -> None:
    plain = SHEETS["check"].read_plain(words)
    assert plain is not None and vars(plain) == ask_argparse(SHEETS["check"], words, False)


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--nodes=2"],
        ["--nodes", "0"],
        ["--nodes"],
        ["--color", "sometimes"],
        ["-vq"],
        ["a.sh", "-v", "b.sh"],
        ["--isolated", "--config", "c.toml"],
        ["--env", "-x"],
        ["--never-an-option"],
    ],
)
def test_other_words_are_for_argparse(words: list[str]) -> None:
    assert SHEETS["check"].read_plain(words) is None
