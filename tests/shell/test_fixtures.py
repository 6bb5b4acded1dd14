"""The launch scripts in `fixtures/shell/`: what is known is what GNU bash hands to the launchers."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.shell.bash import run_bash
from tests.shell.evaluation import agrees, evaluate, launches

FIXTURES = Path(__file__).parents[2] / "fixtures" / "shell"
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")

RUNS: list[tuple[str, list[str], dict[str, str]]] = [
    ("sizes.sh", ["7B", "2", "4"], {}),
    ("sizes.sh", ["7b", "1", "1", "true", "selective"], {"NNODES": "4"}),
    ("sizes.sh", ["13B", "4", "2", "false", "full"], {"GPUS_PER_NODE": "4", "MASTER_ADDR": "host a"}),
    ("sizes.sh", ["70B", "8", "4"], {"NODE_RANK": "3"}),
    ("sizes.sh", ["9B", "8", "4"], {}),
    ("sizes.sh", [], {}),
    ("sizes.sh", ["7B"], {}),
    ("options.sh", [], {}),
    ("options.sh", ["--tp", "4", "--name", "first try"], {}),
    ("options.sh", ["--tp=2", "--experts", "8", "--", "--seed", "1 2"], {}),
    ("options.sh", ["--dry-run", "--name", "x"], {}),
    ("options.sh", ["--nonsense"], {}),
    ("nodes.sh", [], {}),
    ("nodes.sh", [], {"SLURM_NNODES": "2", "SLURM_NTASKS_PER_NODE": "4"}),
]


def ids(run: tuple[str, list[str], dict[str, str]]) -> str:
    return " ".join([run[0], *run[1], *(f"{k}={v}" for k, v in run[2].items())])


@pytest.fixture(params=RUNS, ids=ids)
def run(request: pytest.FixtureRequest) -> tuple[str, list[str], dict[str, str]]:
    found: tuple[str, list[str], dict[str, str]] = request.param
    return found


def lay(tmp_path: Path) -> Path:
    folder = tmp_path / "case"
    shutil.copytree(FIXTURES, folder)
    return folder


def truth(folder: Path, run: tuple[str, list[str], dict[str, str]]) -> list[list[str]]:
    name, arguments, environment = run
    return run_bash(
        (folder / name).read_text(), folder, arguments=arguments, environment=environment, name=name
    )


def unique(commands: Sequence[Sequence[str | None]]) -> list[list[str | None]]:
    return [list(words) for words in dict.fromkeys(tuple(words) for words in commands)]


def test_with_everything_given_the_command_lines_are_the_same(
    run: tuple[str, list[str], dict[str, str]], tmp_path: Path
) -> None:
    folder = lay(tmp_path)
    name, arguments, environment = run
    script = evaluate(
        (folder / name).read_bytes(),
        folder,
        arguments=arguments,
        environment=environment,
        closed=True,
        name=name,
    )
    found = unique([[word.text.value for word in execution.words] for execution in launches(script)])
    assert found == unique(truth(folder, run))
    assert not script.truncated


def test_with_nothing_given_some_path_agrees(
    run: tuple[str, list[str], dict[str, str]], tmp_path: Path
) -> None:
    folder = lay(tmp_path)
    script = evaluate((folder / run[0]).read_bytes(), folder, name=run[0])
    patterns = [[(word.text.value, word.many) for word in each.words] for each in script.executions]
    environment = {k: v for k, v in run[2].items() if k == ""}
    for words in truth(folder, (run[0], run[1], environment)):
        assert any(agrees(pattern, words) for pattern in patterns), words
