from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight.launch.facts import launch_facts
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
