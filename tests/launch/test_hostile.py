from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight.budget import Budget
from preflight.chain import Request, resolve
from preflight.engine.rule import RuleSet
from preflight.launch.facts import launch_facts
from preflight.source import Source
from tests.launch.launching import launches_of

WORDS = st.sampled_from(
    [
        "srun", "torchrun", "python", "bash", "-c", "-N", "2", "--nnodes", "$X", "'$Y'", "env", "A=1", "docker", "run",
        "--gpus", "all", "image", "a.py", "-m", "torch.distributed.run", "--tensor-model-parallel-size", "--", "-",
        "ssh", "host", "'torchrun a.py'", "sbatch", "--wrap", "mpirun", "-np", "ray", "job", "submit", "deepspeed",
        "--include", "x@y:1", "accelerate", "launch", "timeout", "--nnodes=1:", "--rdzv-endpoint=:", "''", "eval",
        "nsys", "profile", "uv", "megatron", "sft", "--master-port", "99999999999999999999", "exec", "&", "| tee x",
    ]
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=12))
def test_no_order_of_words_breaks_the_search(words: list[str]) -> None:
    for launch in launches_of(" ".join(words)):
        assert launch_facts(launch)
        assert launch.command or launch.configuration


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("srun " + "$A " * 20_000 + "x", id="many words of unknown length"),
        pytest.param("srun " + "--unknown x " * 20_000, id="many unknown options"),
        pytest.param("env " * 50_000 + "torchrun a.py", id="many wrappers"),
        pytest.param("srun --export=" + "A," * 100_000 + " torchrun a.py", id="a long list"),
        pytest.param(
            'f() { bash -c "$1"; }\n' + "f 'while :; do :; done; torchrun a.py'\n" * 40, id="endless scripts"
        ),
        pytest.param('X="torchrun a.py"\n' + "X=\"bash -c '$X'\"\n" * 30 + 'eval "$X"', id="deep quoting"),
        pytest.param("#!/bin/bash\n" + "#SBATCH -N 1\n" * 50_000 + "torchrun a.py", id="a long header"),
    ],
)
def test_hostile_input_ends(script: str) -> None:
    begin = time.process_time()
    for launch in launches_of(script):
        launch_facts(launch)
    assert time.process_time() - begin < 5


def test_scripts_inside_that_cost_too_much_are_cut_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One script may take all of the budget; the next one is not followed, and the reader is told."""
    (tmp_path / "run.sh").write_text("for i in {1..60}; do echo $i; done\ntorchrun a.py --lr $1")
    request = Request(RuleSet((), {}, None), directory=str(tmp_path), root=str(tmp_path))
    resolved = []
    for fuel in (1000, 100):
        monkeypatch.setattr("preflight.chain.Budget", lambda fuel=fuel: Budget(fuel))
        resolved.append(resolve(Source("train.sh", b"bash run.sh 1\nbash run.sh 2\n"), request))
    whole, cut = (each for each in resolved if each is not None)
    assert (len(whole.launches), whole.script.truncated) == (2, ())
    assert len(cut.launches) < 2
    assert [unknown.reason for unknown in cut.script.truncated] == ["branches"]
