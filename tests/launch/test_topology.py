from __future__ import annotations

from pathlib import Path

import pytest

from tests.launch.launching import counts, launches_of, only

P = "python pretrain_gpt.py --tensor-model-parallel-size 2"
HEADER = "#!/bin/bash\n#SBATCH -N 2\n#SBATCH --gpus-per-node=8\n"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param("torchrun --nnodes 2 --nproc-per-node 8 a.py", (2, 8, 16), id="both given"),
        pytest.param("torchrun a.py", (1, 1, 1), id="defaults"),
        pytest.param("torchrun --standalone --nproc_per_node=8 a.py", (1, 8, 8), id="standalone"),
        pytest.param(
            "torchrun --nnodes 1:4 --nproc-per-node 8 a.py", ("scheduler", 8, "scheduler"), id="elastic"
        ),
        pytest.param("torchrun --nnodes 2:2 --nproc-per-node 8 a.py", (2, 8, 16), id="elastic in name only"),
        pytest.param("torchrun --nproc-per-node gpu a.py", (1, "node", "node"), id="all GPUs"),
        pytest.param(
            "export CUDA_VISIBLE_DEVICES=0,1\ntorchrun --nproc-per-node gpu a.py", (1, 2, 2), id="visible"
        ),
        pytest.param(
            HEADER + "srun torchrun --nnodes 2 --nproc-per-node auto a.py", (2, 8, 16), id="all of the job's"
        ),
        pytest.param(
            "torchrun --nnodes $N --nproc-per-node 8 a.py", ("environment", 8, "environment"), id="unknown"
        ),
        pytest.param(
            "torchrun $ARGS a.py", ("environment", "environment", "environment"), id="unknown options"
        ),
        pytest.param(
            "export PET_NNODES=2\ntorchrun --nproc-per-node 8 a.py", (2, 8, 16), id="from the operator"
        ),
        pytest.param(
            "HOST='your host'\ntorchrun --master-addr $HOST --nproc-per-node 8 a.py",
            ("syntax", "syntax", "syntax"),
            id="a value in two words",
        ),
        pytest.param("deepspeed --num_nodes 2 --num_gpus 8 a.py", (2, 8, 16), id="deepspeed"),
        pytest.param("deepspeed --include localhost:0,1,2 a.py", (1, 3, 3), id="included devices"),
        pytest.param("deepspeed --hostfile hosts a.py", (2, 8, 16), id="a host file"),
        pytest.param("deepspeed --hostfile gone a.py", ("file", "file", "file"), id="no host file"),
        pytest.param("deepspeed a.py", (1, "node", "node"), id="deepspeed by itself"),
        pytest.param(
            "accelerate launch --num_processes 16 --num_machines 2 a.py", (2, 8, 16), id="accelerate"
        ),
        pytest.param("accelerate launch a.py", ("file", "file", "file"), id="accelerate's file"),
        pytest.param("msrun --worker_num 16 --local_worker_num 8 a.py", (2, 8, 16), id="msrun"),
        pytest.param("NNODES=2 NPROC_PER_NODE=8 megatron sft --model x", (2, 8, 16), id="ms-swift"),
        pytest.param(f"srun -N 2 -n 16 {P}", (2, 8, 16), id="srun"),
        pytest.param(f"srun -N 2 --ntasks-per-node 8 {P}", (2, 8, 16), id="srun with tasks per node"),
        pytest.param(f"srun -n 16 {P}", ("scheduler", "scheduler", 16), id="srun without nodes"),
        pytest.param(
            HEADER + f"#SBATCH --ntasks-per-node=8\nsrun {P}", (2, 8, 16), id="srun as the job says"
        ),
        pytest.param(
            HEADER + f"#SBATCH --ntasks-per-node=8\nsrun -N 1 -n 8 {P}", (1, 8, 8), id="a step on one node"
        ),
        pytest.param(f"srun {P}", ("scheduler", "scheduler", "scheduler"), id="srun alone"),
        pytest.param(f"mpirun -np 16 -H a:8,b:8 {P}", (2, 8, 16), id="mpirun with hosts"),
        pytest.param(f"mpirun -H a:8,b:8 {P}", (2, 8, 16), id="mpirun fills the slots"),
        pytest.param(f"mpirun -np 16 -npernode 8 {P}", (2, 8, 16), id="mpirun per node"),
        pytest.param(f"mpirun -np 16 {P}", ("scheduler", "scheduler", 16), id="mpirun"),
        pytest.param(P, ("environment", "environment", "environment"), id="the caller may set WORLD_SIZE"),
        pytest.param(f"export WORLD_SIZE=16\n{P}", ("environment", "environment", 16), id="WORLD_SIZE"),
        pytest.param(
            f"ray job submit -- {P} --actor-num-nodes 2 --actor-num-gpus-per-node 8",
            (2, 8, 16),
            id="actors under Ray",
        ),
        pytest.param(f"ray job submit -- {P}", ("program", "program", "program"), id="Ray"),
    ],
)
def test_processes(script: str, expected: tuple[int | str | None, ...], tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("# two\nworker-0 slots=8\nworker-1 slots=8\n")
    assert counts(only(script, tmp_path)) == expected


def test_a_branch_on_the_caller_s_number_of_nodes_leaves_the_header_s_open() -> None:
    branch = "if [ $NODES -ge 8 ]; then TP=8; else TP=4; fi\n"
    torchrun = "srun torchrun --nnodes $SLURM_NNODES --nproc-per-node 8 a.py --tensor-model-parallel-size $TP"
    for launch in launches_of(HEADER + branch + torchrun):
        assert counts(launch) == ("environment", 8, "environment")
    for launch in launches_of(HEADER + branch + torchrun.replace("$SLURM_NNODES", "2")):
        assert counts(launch) == (2, 8, 16)
    for launch in launches_of(HEADER + branch.replace("NODES", "FLAVOUR") + torchrun):
        assert counts(launch) == (2, 8, 16)


def test_plain_python_is_one_process_where_nobody_says_otherwise() -> None:
    assert counts(only(P, closed_environment=True)) == (1, 1, 1)


def test_a_number_leads_to_its_place() -> None:
    launch = only("N=2\ntorchrun --nnodes $N --nproc-per-node=8 a.py")
    nodes, processes = launch.launcher.nodes, launch.launcher.processes_per_node
    assert nodes.span is not None and nodes.span.text == "--nnodes $N"
    assert processes.span is not None and processes.span.text == "--nproc-per-node=8"


def test_an_assumption_is_handed_on() -> None:
    launch = only("torchrun --nproc-per-node ${GPUS:-8} a.py")
    assert [assumption.name for assumption in launch.launcher.world_size.assumptions] == ["GPUS"]
