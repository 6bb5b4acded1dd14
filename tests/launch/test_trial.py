"""Whether what a front-end has found launches anything: asked first, within a small budget."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.budget import Budget
from preflight.chain import read_python, read_shell
from preflight.execution import Context, Execution, Script, Word
from preflight.launch.find import MOST_TRIAL, TRIAL, Trial
from preflight.source import Files, Source
from preflight.values import Text

SOURCE = Source("launch.py", b"import subprocess")


def trial_of(folder: Path, size: int = 100) -> tuple[Trial, Context]:
    context = Context(Files(str(folder), (str(folder),)), closed_arguments=True, budget=Budget())
    return Trial(size, context, read_shell=read_shell, read_python=read_python), context


def script_of(*words: str) -> Script:
    span = SOURCE.span(0, 6)
    run = Execution(tuple(Word(Text.literal(word, span), span) for word in words), span, {}, {}, None, ())
    return Script(SOURCE, (run,))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("torchrun", "pretrain_gpt.py"), True),
        (("bash", "-c", "torchrun pretrain_gpt.py"), True),
        (("bash", "train.sh"), True),
        (("bash", "idle.sh"), False),
        (("python", "convert.py"), False),
        (("git", "status"), False),
    ],
)
def test_what_launches(tmp_path: Path, words: tuple[str, ...], expected: bool) -> None:
    (tmp_path / "train.sh").write_text("torchrun pretrain_gpt.py\n")
    (tmp_path / "idle.sh").write_text("echo torchrun\n")
    trial, _ = trial_of(tmp_path)
    script = script_of(*words)
    assert trial.launches(script) is expected
    assert trial.judge(script).executions == (script.executions if expected else ())


def test_a_long_script_inside_is_left_and_that_is_told(tmp_path: Path) -> None:
    (tmp_path / "long.sh").write_text("true\n" * (2 * MOST_TRIAL) + "torchrun pretrain_gpt.py\n")
    trial, _ = trial_of(tmp_path, 1_000_000)
    script = script_of("bash", "long.sh")
    assert not trial.launches(script)
    (told,) = trial.judge(script).truncated
    assert told.reason == "branches"


def test_a_longer_file_is_tried_for_longer(tmp_path: Path) -> None:
    (tmp_path / "long.sh").write_text("true\n" * (MOST_TRIAL // 2) + "torchrun pretrain_gpt.py\n")
    script = script_of("bash", "long.sh")
    assert not trial_of(tmp_path)[0].launches(script)
    assert trial_of(tmp_path, TRIAL * MOST_TRIAL)[0].launches(script)


def test_what_was_read_for_a_trial_is_not_read_again(tmp_path: Path) -> None:
    (tmp_path / "train.sh").write_text("torchrun pretrain_gpt.py\n")
    trial, context = trial_of(tmp_path)
    assert trial.launches(script_of("bash", "train.sh"))
    assert context.budget is not None
    assert context.budget.known
