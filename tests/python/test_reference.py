"""The reference is Python itself: what fixtures start when they run is what reading them says."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.execution import Execution
from tests.python.reading import read_text
from tests.python.recording import Record, record

FIXTURES = Path(__file__).parents[2] / "fixtures" / "python"
FILES = sorted(path for path in FIXTURES.glob("*.py"))


def words_of(execution: Execution) -> tuple[str, object] | None:
    values = [word.text.value for word in execution.words]
    if any(value is None for value in values):
        return None
    if values[:2] == ["sh", "-c"]:
        return ("shell", values[2])
    return ("words", ["python" if v == "python" else v for v in values])


def same_program(given: object) -> object:
    """The interpreter's path counts as `python`."""
    if isinstance(given, list):
        return ["python" if str(w).rpartition("/")[2].startswith("python") else w for w in given]
    return given


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_commands_and_their_environment_are_those_of_a_real_run(path: Path) -> None:
    expected = record(path)
    script = read_text(path.read_text(), folder=path.parent, name=path.name)
    found = [words_of(execution) for execution in script.executions]
    assert found == [(r.kind, same_program(r.given)) for r in expected]
    assert all(not execution.conditions for execution in script.executions)
    for execution, wanted in zip(script.executions, expected, strict=True):
        check_environment(execution, wanted)


def check_environment(execution: Execution, wanted: Record) -> None:
    for name, text in execution.environment.items():
        if text is None:
            assert wanted.environment.get(name) is None
        else:
            assert text.known
            assert wanted.environment.get(name) == text.value, name
    missing = {n for n, v in wanted.environment.items() if v is not None} - execution.environment.keys()
    assert not missing


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["--tensor-parallel", "8"], "--tp 8"),
        (["--layers=96", "--fp8"], "--num-layers=96"),
        (["--recompute", "full", "--no-bf16"], "--recompute-granularity full"),
        (["--data", "/x", "/y", "/z"], "--data-path /x /y /z"),
    ],
    ids=["a number", "with an equals sign and a switch", "a choice and a negated switch", "several values"],
)
def test_options_that_the_caller_gives(arguments: list[str], fragment: str) -> None:
    path = FIXTURES / "argparse_options.py"
    expected = record(path, *arguments)
    numbered = dict(enumerate([path.name, *arguments]))
    script = read_text(path.read_text(), folder=path.parent, name=path.name, arguments=numbered)
    assert [words_of(e) for e in script.executions] == [(r.kind, r.given) for r in expected]
    assert fragment in " ".join(expected[0].given)


@pytest.mark.parametrize(
    "environment",
    [{"TP_SIZE": "8", "DEBUG": "1"}, {"RUN_NAME": "mine", "NODE_RANK": "3", "WANDB_KEY": "k"}],
    ids=["values and a switch", "a name, a rank, a key"],
)
def test_variables_that_the_caller_sets(environment: dict[str, str]) -> None:
    path = FIXTURES / "environment.py"
    expected = record(path, environment=environment)
    script = read_text(path.read_text(), folder=path.parent, name=path.name, environment=environment)
    assert [words_of(e) for e in script.executions] == [(r.kind, r.given) for r in expected]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_known_with_an_open_environment_is_true_in_a_closed_one(path: Path) -> None:
    expected = record(path)
    script = read_text(path.read_text(), folder=path.parent, name=path.name, closed=False)
    texts = [" ".join(r.given) if isinstance(r.given, list) else r.given for r in expected]
    interpreter = [str(same_program(r.given)) for r in expected]
    for execution in script.executions:
        if execution.conditions:
            continue
        values = [w.text.value for w in execution.words if w.text.known and not w.many]
        values = [v for v in values if v not in ("sh", "-c", "python")]
        assert any(
            all(v in text or v in shown for v in values if v is not None)
            for text, shown in zip(texts, interpreter, strict=True)
        ), values
