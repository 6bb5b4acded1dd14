from __future__ import annotations

import pytest

from preflight.launch.facts import LAUNCH_FACTS, launch_facts
from tests.launch.launching import only

P = "python pretrain_gpt.py --tensor-model-parallel-size 2"
HEADER = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=1 --gpus-per-node=8\n"
UNKNOWN = "?"


def fact(script: str, name: str, **context: object) -> object:
    reading = launch_facts(only(script, **context))[name]  # type: ignore[arg-type]
    return UNKNOWN if reading.unknown is not None else reading.value


def test_every_name_is_read_and_declared() -> None:
    names = {line.partition("|")[0].strip() for line in LAUNCH_FACTS.splitlines() if line.strip()}
    assert set(launch_facts(only(P))) == names


@pytest.mark.parametrize(
    ("script", "name", "expected"),
    [
        pytest.param("torchrun --nnodes 1:4 a.py", "nnodes_minimum", 1, id="least of a range"),
        pytest.param("torchrun --nnodes 1:4 a.py", "nnodes_maximum", 4, id="largest of a range"),
        pytest.param("torchrun --nnodes $N a.py", "nnodes_maximum", UNKNOWN, id="unknown range"),
        pytest.param("torchrun a.py", "rdzv_backend", "static", id="default backend"),
        pytest.param("torchrun a.py", "rendezvous_host", "127.0.0.1", id="default host"),
        pytest.param("torchrun a.py", "rendezvous_port", 29500, id="default port"),
        pytest.param(
            "export MASTER_ADDR=x\ntorchrun a.py", "rendezvous_host", "127.0.0.1", id="not the variable"
        ),
        pytest.param("torchrun --master-addr x a.py", "rendezvous_host", "x", id="master address"),
        pytest.param("torchrun --rdzv-endpoint x:7 a.py", "rendezvous_host", "x", id="endpoint's host"),
        pytest.param("torchrun --rdzv-endpoint x:7 a.py", "rendezvous_port", 7, id="endpoint's port"),
        pytest.param("torchrun --rdzv-endpoint $H:7 a.py", "rendezvous_host", UNKNOWN, id="unknown host"),
        pytest.param(
            "torchrun --rdzv-endpoint $H:7 a.py", "rendezvous_port", 7, id="port behind an unknown host"
        ),
        pytest.param(
            "torchrun --rdzv-backend c10d a.py", "rendezvous_host", "localhost", id="c10d by itself"
        ),
        pytest.param("torchrun --standalone a.py", "rendezvous_host", "localhost", id="standalone"),
        pytest.param("torchrun $ARGS a.py", "rendezvous_host", UNKNOWN, id="options of unknown length"),
        pytest.param(
            f"export MASTER_ADDR=x\nsrun -n 2 {P}", "rendezvous_host", "x", id="srun reads the variable"
        ),
        pytest.param(f"srun -n 2 {P}", "rendezvous_host", UNKNOWN, id="srun, and the caller may set it"),
        pytest.param("torchrun --node-rank 1 a.py", "one_node_only", True, id="a rank that stands there"),
        pytest.param("torchrun --node-rank ${R:-0} a.py", "one_node_only", False, id="a rank by default"),
        pytest.param("torchrun --node-rank $R a.py", "one_node_only", False, id="a rank of the caller's"),
        pytest.param(
            "srun -N 2 torchrun --node-rank 0 a.py", "one_node_only", False, id="the same for all tasks"
        ),
        pytest.param(
            HEADER + "srun torchrun --node-rank $SLURM_NODEID a.py", "node_rank_per_task", False, id="batch"
        ),
        pytest.param(
            HEADER + "srun bash -c 'torchrun --node-rank $SLURM_NODEID a.py'",
            "node_rank_per_task",
            True,
            id="task",
        ),
        pytest.param(HEADER + P, "slurm_nodes", 2, id="nodes of the header"),
        pytest.param(P, "slurm_nodes", None, id="no header"),
        pytest.param(HEADER + f"srun {P}", "step_nodes", 2, id="nodes of the step"),
        pytest.param(HEADER + f"srun -N 1 {P}", "step_nodes", 1, id="fewer nodes in the step"),
        pytest.param(HEADER + P, "step_nodes", None, id="no step"),
        pytest.param(f"srun {P}", "step_nodes", UNKNOWN, id="a step of an unknown job"),
        pytest.param(HEADER + f"srun {P}", "step_ntasks_per_node", 1, id="tasks of the header"),
        pytest.param(
            HEADER + f"srun bash -c '[ \"$SLURM_LOCALID\" = 0 ] && {P}'",
            "step_ntasks_per_node",
            UNKNOWN,
            id="guarded",
        ),
        pytest.param(
            "#!/bin/bash\n#SBATCH -N 1\n#SBATCH hetjob\n#SBATCH -N 2\n" + P,
            "slurm_nodes",
            UNKNOWN,
            id="two parts",
        ),
        pytest.param(
            f"export CUDA_VISIBLE_DEVICES=0,1,1\n{P}", "visible_devices_distinct", 2, id="one device twice"
        ),
        pytest.param(
            f"export CUDA_VISIBLE_DEVICES=$D\n{P}", "visible_devices", UNKNOWN, id="unknown devices"
        ),
        pytest.param(
            f"export CUDA_VISIBLE_DEVICES=0-7\n{P}", "visible_devices", 1, id="a range, which nothing expands"
        ),
        pytest.param(P, "visible_devices", None, id="devices not chosen"),
        pytest.param(f"docker run --gpus all i {P}", "container_gpus", True, id="docker with GPUs"),
        pytest.param(f"docker run i {P}", "container_gpus", False, id="docker without GPUs"),
        pytest.param(
            f"docker run --runtime nvidia i {P}", "container_gpus", UNKNOWN, id="docker with a runtime"
        ),
        pytest.param(f"docker run --shm-size 8g i {P}", "container_shared_memory", True, id="more memory"),
        pytest.param(
            f"docker run -v /a:/a -v /dev/shm:/dev/shm i {P}", "container_shared_memory", UNKNOWN, id="shm"
        ),
        pytest.param(f"docker exec c {P}", "container_shared_memory", UNKNOWN, id="docker exec"),
        pytest.param(f"srun --container-image i {P}", "container", "pyxis", id="pyxis"),
        pytest.param(f"export A=1\nsrun --export=NONE {P}", "environment_lost", ("A",), id="lost on the way"),
        pytest.param(f"ssh h {P}", "starts_elsewhere", True, id="ssh"),
        pytest.param(f"# nothing\n{P}", "starts_elsewhere", False, id="here"),
        pytest.param(f"{P} --actor-num-gpus-per-node 4 --colocate", "ray_colocated", True, id="colocated"),
    ],
)
def test_readings(script: str, name: str, expected: object) -> None:
    assert fact(script, name) == expected


def test_a_reading_stands_where_the_script_says_it() -> None:
    reading = launch_facts(only("H=node7\ntorchrun --nnodes 2 --master-addr $H a.py"))["rendezvous_host"]
    assert reading.span is not None and reading.span.text == "--master-addr $H"


def test_what_the_caller_says_of_one_task_is_no_rank_for_all() -> None:
    inside = HEADER + "srun bash -c 'torchrun --nnodes 2 --node-rank $SLURM_NODEID a.py'"
    outside = HEADER + "srun torchrun --nnodes 2 --node-rank $SLURM_NODEID a.py"
    said = {"SLURM_NODEID": "0"}
    assert fact(inside, "node_rank_per_task", environment=said) == UNKNOWN
    assert fact(outside, "node_rank_per_task", environment=said) is False


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param("R.name=vllm trainer.n_gpus_per_node=1", (1, 2, None), id="the engine's default"),
        pytest.param("R.tensor_model_parallel_size=4", (8, 4, None), id="all others' defaults"),
        pytest.param("+R.name=hf trainer.nnodes=2", (16, None, None), id="no engine"),
        pytest.param("R.name=vllm R.data_parallel_size=2", (8, None, None), id="engines in a grid"),
        pytest.param("A.tensor_model_parallel_size=4 A.context_parallel_size=2", (8, 2, 8), id="the actor"),
        pytest.param("--config-name=mine A.tensor_model_parallel_size=4", (None, None, None), id="a config"),
        pytest.param("R.name=vllm trainer.nnodes=$N", (None, 2, None), id="nodes of the caller"),
        pytest.param('R.name=vllm trainer.nnodes=2 "$@"', (None, None, None), id="an open line"),
    ],
)
def test_sizes_of_verls_trainer(words: str, expected: tuple[int | None, ...]) -> None:
    text = words.replace("R.", "actor_rollout_ref.rollout.").replace(
        "A.", "actor_rollout_ref.actor.megatron."
    )
    facts = launch_facts(only(f"python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=m {text}"))
    assert tuple(facts[f"verl_{name}"].value for name in ("gpus", "engine_ranks", "model_ranks")) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param("--deepspeed --zero-stage 3", (True, 3, None), id="flags"),
        pytest.param("--deepspeed --no-pipeline-parallel --zero-stage 3", (False, 3, None), id="no pipeline"),
        pytest.param("--zero-stage 3", (False, None, None), id="another engine"),
        pytest.param("--deepspeed --zero-stage 3 $MORE", (None, 3, None), id="an open line"),
        pytest.param("--deepspeed --deepspeed_config ds.json --zero-stage 3", (True, 1, 64), id="a file"),
        pytest.param("--deepspeed --deepspeed_config other.json", (True, None, None), id="no such file"),
    ],
)
def test_what_deepspeeds_engine_is_told(script: str, expected: tuple[bool | int | None, ...]) -> None:
    written = 'echo \'{"train_batch_size": 64, "zero_optimization": {"stage": 1}}\' > ds.json\n'
    facts = launch_facts(only(f"{written}deepspeed --num_gpus 8 pretrain_gpt.py --hidden-size 8 {script}"))
    found = (facts[f"deepspeed_{name}"].value for name in ("pipeline", "zero_stage", "train_batch"))
    assert tuple(found) == expected
