"""The generated tables against facts taken from the real parsers."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

from preflight.constants import read_constant
from preflight.targets.history import RENAMED, compile_history, list_programs, list_releases, read_masks
from preflight.targets.releases import RELEASES
from preflight.targets.table import Option, build_table, compile_tables, dump_table, load_table, restore_table

PARSERS = json.loads((Path(__file__).parents[2] / "fixtures" / "flags" / "parsers.json").read_text())
"""Of each release's real parser: how many options it has, and a digest over all of them in order."""


def describe(option: Option) -> list[Any]:
    """An option as the digest counts it; signals and enum names have no one spelling and are left open."""
    kind = (option.type or "").partition(":")[0] or None
    named = kind in ("enum", "names")
    choices = None if named or option.choices is None else list(option.choices)
    default = list(option.default) if isinstance(option.default, tuple) else option.default
    return [
        list(option.strings),
        option.destination,
        option.action,
        "names" if named else kind,
        option.nargs,
        choices,
        default,
        option.required,
    ]


@pytest.mark.parametrize("release", RELEASES)
def test_a_table_is_the_release_s_parser(release: str) -> None:
    table = load_table(release)
    rows = [describe(option) for option in table.options if "--exit-signal" not in option.strings]
    text = json.dumps(rows, separators=(",", ":"))
    assert len(table.options) == PARSERS[release]["options"]
    assert hashlib.sha256(text.encode()).hexdigest() == PARSERS[release]["sha256"]


@pytest.mark.parametrize("release", RELEASES)
def test_a_table_is_unchanged_by_writing_and_reading(release: str) -> None:
    table = load_table(release)
    again = build_table(json.loads(dump_table(table)))
    assert again.options == table.options
    assert [again.program(path) for path in again.programs] == [
        table.program(path) for path in table.programs
    ]
    assert again.te_version == table.te_version


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the build of a wheel makes of the tables."""
    folder = tmp_path_factory.mktemp("targets")
    compile_tables(folder)
    compile_history(folder)
    return folder


@pytest.mark.parametrize("release", RELEASES)
def test_a_table_is_unchanged_by_the_build(release: str, compiled: Path) -> None:
    table, again = load_table(release), restore_table(*read_constant(str(compiled / f"{release}.py")))
    assert dump_table(again) == dump_table(table)
    assert again.options == table.options and again.flags == table.flags
    assert again.destinations == table.destinations
    assert [again.program(path) for path in again.programs] == [
        table.program(path) for path in table.programs
    ]


def test_the_history_is_unchanged_by_the_build(compiled: Path) -> None:
    assert read_constant(str(compiled / "history.py")) == read_masks()
    assert list(read_constant(str(compiled / "programs.py"))) == list(list_programs())


@pytest.mark.parametrize("release", RELEASES)
def test_no_option_of_a_release_is_beyond_the_reader(release: str) -> None:
    assert not [option.strings for option in load_table(release).options if option.unsure]


def test_a_table_loads_in_a_few_milliseconds() -> None:
    text = dump_table(load_table("main"))
    times = []
    for _ in range(5):
        start = time.process_time()
        build_table(json.loads(text))
        times.append(time.process_time() - start)
    assert min(times) < 0.02


def test_the_history_is_that_of_the_tables() -> None:
    for flag in ("--use-custom-fsdp", "--num-layers", "--sft", "--standalone-embedding-stage"):
        assert list_releases(flag) == tuple(name for name in RELEASES if flag in load_table(name).flags)
    assert list_releases("--never-a-flag") == ()
    assert {path for name in RELEASES for path in load_table(name).programs} == set(list_programs())


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_what_took_a_flag_s_place_exists_where_the_flag_does_not(old: str, new: str) -> None:
    lacking = [name for name in RELEASES if old not in load_table(name).flags]
    assert any(new in load_table(name).flags for name in lacking)
