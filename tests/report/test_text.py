"""The text and concise reports, compared with goldens in `fixtures/reports/`.

`GOLDENS=write` writes them anew; the change is then read in the review.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.diagnostics import Label
from preflight.report.concise import write_concise
from preflight.report.frame import draw_frames, printable, screen_width
from preflight.report.paint import wants_colour
from preflight.report.text import write_text
from preflight.source import Source

from .outcomes import CLEAN, EMPTY, FULL, OUTCOMES, finding

GOLDENS = Path(__file__).parents[2] / "fixtures" / "reports"
WRITE = os.environ.get("GOLDENS") == "write"


def compare(name: str, text: str) -> None:
    path = GOLDENS / name
    if WRITE:
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("name", OUTCOMES)
def test_text(name: str) -> None:
    compare(f"{name}.txt", write_text(OUTCOMES[name], verbose=True))


def test_concise() -> None:
    compare("full.concise.txt", write_concise(FULL))


def test_colour_changes_no_character() -> None:
    coloured = write_text(FULL, colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == write_text(FULL)


def test_show_hides_what_is_milder_and_counts_it() -> None:
    text = write_text(FULL, "error")
    assert "wrong-type" not in text and "heads-not-divisible-by-tp" in text
    assert "2 errors, 1 warning, 2 notes" in text
    assert "wrong-type" not in write_concise(FULL, "error")


def test_quiet_leaves_the_summary_out() -> None:
    assert write_text(CLEAN, quiet=True) == ""
    assert write_text(EMPTY) == "0 errors, 0 warnings in 0 launches of 0 files\n"


def test_no_secret_and_no_control_character_is_printed() -> None:
    source = Source("a\x1b.sh", b"x \x1b[31m\x07 y\n")
    odd = finding("odd", "note", "bell \x07", Label(source.span(0, 5), "esc \x1b", primary=True))
    text = write_text(FULL._replace(files=(FULL.files[0]._replace(diagnostics=(odd,)),)))
    assert "\x1b" not in text and "\x07" not in text
    assert "abcdef123" not in write_text(FULL) + write_concise(FULL)


@pytest.mark.parametrize(
    ("choice", "terminal", "environment", "expected"),
    [
        ("auto", True, {"TERM": "xterm"}, True),
        ("auto", True, {"TERM": "dumb"}, False),
        ("auto", True, {}, False),
        ("auto", False, {"TERM": "xterm"}, False),
        ("auto", True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        ("auto", False, {"FORCE_COLOR": "1"}, True),
        ("auto", False, {"FORCE_COLOR": "0"}, False),
        ("auto", False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {"FORCE_COLOR": "1", "TERM": "xterm"}, False),
    ],
)
def test_who_decides_about_colour(
    monkeypatch: pytest.MonkeyPatch, choice: str, terminal: bool, environment: dict[str, str], expected: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_colour(choice, terminal) is expected


@given(
    st.binary(max_size=300),
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 60)), min_size=1, max_size=5),
)
def test_any_labels_on_any_bytes_are_drawn_under_what_they_mark(
    data: bytes, places: list[tuple[int, int]]
) -> None:
    source = Source("s", data)
    labels = []
    for number, (start, length) in enumerate(places):
        low = min(start, len(data))
        labels.append(
            Label(source.span(low, min(low + length, len(data))), f"n{number}", primary=number == 0)
        )
    rows = draw_frames(labels)
    text = ["".join(part for part, _ in row) for row in rows]
    assert all(line.isprintable() for line in text)
    for number in range(len(labels)):
        assert any(f"n{number}" in line for line in text)


@given(st.text(alphabet="ab 日é\t", max_size=40), st.data())
def test_marks_stand_under_their_text(line: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(line)))
    end = data.draw(st.integers(start, len(line)))
    source = Source("s", line.encode())
    mark = source.span(len(line[:start].encode()), len(line[:end].encode()))
    rows = draw_frames([Label(mark, "", primary=True)])
    marks = "".join(part for part, _ in rows[-1])
    left = screen_width(printable(line[:start]))
    assert marks.index("^") == len("1 | ") + left
    assert marks.count("^") == max(screen_width(printable(line[:end])) - left, 1)
