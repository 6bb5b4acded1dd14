"""Every case of `tests/spec/*.md`, under our evaluator and under GNU bash."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.shell.bash import run_bash
from tests.shell.evaluation import evaluate, known_words, launches

FOLDER = Path(__file__).parents[1] / "spec"


class Case(NamedTuple):
    """One case: a script, the files beside it, and the command lines that come out of it."""

    title: str
    script: str
    files: dict[str, str]
    arguments: list[str]
    environment: dict[str, str]
    expected: list[list[str]]


_FENCE = re.compile(r"^(`{3,})(\S+)(?: (\S+))?\n(.*?)^\1$", re.S | re.M)


def read_cases(path: Path) -> list[Case]:
    """The cases of a file: a heading, prose, and fenced blocks."""
    cases = []
    for section in re.split(r"^## ", path.read_text(), flags=re.M)[1:]:
        title = section.split("\n", 1)[0].strip()
        script, files, arguments, environment = "", {}, [], {}
        expected: list[list[str]] = []
        for _, kind, name, body in _FENCE.findall(section):
            if kind == "bash" and not name:
                script = body
            elif kind in ("bash", "text"):
                files[name] = body
            elif kind == "arguments":
                arguments = shlex.split(body)
            elif kind == "environment":
                environment = dict(line.split("=", 1) for line in body.splitlines())
            elif kind == "argv":
                expected = read_command_lines(body)
        cases.append(Case(f"{path.stem}: {title}", script, files, arguments, environment, expected))
    return cases


def read_command_lines(body: str) -> list[list[str]]:
    """One command line a line, quoted as a shell would; a quoted line end continues it."""
    found, current = [], ""
    for line in body.splitlines(keepends=True):
        current += line
        try:
            words = shlex.split(current)
        except ValueError:
            continue
        if words:
            found.append(words)
        current = ""
    assert not current.strip(), f"an open quote: {current}"
    return found


CASES = [case for path in sorted(FOLDER.glob("*.md")) for case in read_cases(path)]


@pytest.fixture(params=CASES, ids=lambda case: case.title)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


def lay(case: Case, folder: Path) -> Path:
    """The folder of a case, with its files."""
    folder.mkdir(exist_ok=True)
    for name, text in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_bash_gives_these_command_lines(case: Case, tmp_path: Path) -> None:
    if shutil.which("bash") is None:
        pytest.skip("no bash")
    folder = lay(case, tmp_path / "case")
    found = run_bash(case.script, folder, arguments=case.arguments, environment=case.environment)
    assert [[w.replace(str(folder), "/case") for w in words] for words in found] == case.expected


def test_the_evaluator_gives_the_same(case: Case, tmp_path: Path) -> None:
    folder = lay(case, tmp_path / "case")
    script = evaluate(
        case.script, folder, arguments=case.arguments, environment=case.environment, closed=True
    )
    found = [
        [None if w is None else w.replace(str(folder), "/case") for w in known_words(execution)]
        for execution in launches(script)
    ]
    once = [list(words) for words in dict.fromkeys(tuple(words) for words in case.expected)]
    assert [list(words) for words in dict.fromkeys(tuple(words) for words in found)] == once
    assert not script.truncated
