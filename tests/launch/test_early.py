"""Variables that are expanded before anything sets them, and options that stand where nothing reads them."""

from __future__ import annotations

import pytest

from tests.launch.launching import launches_of

RUN = "torchrun --nnodes 2 --nproc-per-node 8 --node-rank"
TAIL = "--master-addr a pretrain_gpt.py --num-layers 2"
HEADER = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n"


@pytest.mark.parametrize(
    ("script", "kinds"),
    [
        pytest.param(
            f'sbatch -N2 --wrap "srun {RUN} $SLURM_NODEID {TAIL}"', {"scheduler-variable-early"}, id="wrapped"
        ),
        pytest.param(f"sbatch -N2 --wrap 'srun {RUN} $SLURM_NODEID {TAIL}'", set(), id="in single quotes"),
        pytest.param(f'sbatch -N2 --wrap "srun {RUN} \\$SLURM_NODEID {TAIL}"', set(), id="escaped"),
        pytest.param(f"mpirun -np 2 {RUN} $PMI_RANK {TAIL}", {"process-variable-early"}, id="mpirun"),
        pytest.param(f"mpirun -np 2 bash -c '{RUN} $PMI_RANK {TAIL}'", set(), id="a shell of the process"),
        pytest.param(f"PMI_RANK=1\nmpirun -np 2 {RUN} $PMI_RANK {TAIL}", set(), id="set by the script"),
        pytest.param(f"{RUN} $OMPI_COMM_WORLD_RANK {TAIL}", set(), id="mpirun starts the script"),
        pytest.param(
            f"{HEADER}srun --ntasks-per-node=1 {RUN} 0 {TAIL}",
            {"step-tasks-ignored"},
            id="the job's tasks stand",
        ),
        pytest.param(f"{HEADER}srun -N2 --ntasks-per-node=1 {RUN} 0 {TAIL}", set(), id="the step's nodes"),
        pytest.param(f"{HEADER}srun -n2 --ntasks-per-node=1 {RUN} 0 {TAIL}", set(), id="the step's tasks"),
        pytest.param(f"{HEADER}srun --ntasks-per-node=8 {RUN} 0 {TAIL}", set(), id="the same number"),
        pytest.param(
            f"{HEADER}unset SLURM_NTASKS\nsrun --ntasks-per-node=1 {RUN} 0 {TAIL}",
            set(),
            id="the variable is gone",
        ),
        pytest.param(
            "docker run --gpus all image -e A=1 torchrun a.py",
            {"container-option-behind-image"},
            id="behind an image",
        ),
        pytest.param(
            "apptainer exec image.sif --nv torchrun a.py",
            {"container-option-behind-image"},
            id="behind a file",
        ),
        pytest.param(
            f"A=1\nssh h '{RUN} $A {TAIL}'", {"variable-left-behind"}, id="behind ssh, in single quotes"
        ),
        pytest.param(
            f"for A in 0 1; do ssh h '{RUN} $A {TAIL}'; done", {"variable-left-behind"}, id="of a loop"
        ),
        pytest.param(
            f"A=1\nssh h <<'END'\n{RUN} $A {TAIL}\nEND\n", {"variable-left-behind"}, id="in a document"
        ),
        pytest.param(
            f"A=1\nssh h 'bash -s' <<'END'\n{RUN} $A {TAIL}\nEND\n",
            {"variable-left-behind"},
            id="a shell that reads",
        ),
        pytest.param(
            f"A=1\nssh h bash -s <<END\n{RUN} $A {TAIL}\nEND\n", set(), id="a document that is expanded"
        ),
        pytest.param(f'A=1\nssh h "{RUN} $A {TAIL}"', set(), id="behind ssh, in double quotes"),
        pytest.param(f"ssh h '{RUN} $A {TAIL}'", set(), id="nobody assigns it"),
        pytest.param(f"A=1\nssh h 'A=2; {RUN} $A {TAIL}'", set(), id="assigned over there"),
        pytest.param(f"A=1\nssh h '. ./env.sh; {RUN} $A {TAIL}'", set(), id="read from a file over there"),
        pytest.param("docker run --gpus all -e A=1 image torchrun a.py", set(), id="in front of an image"),
        pytest.param("docker run $OPTIONS image -e A=1 torchrun a.py", set(), id="which word is the image"),
    ],
)
def test_remarks(script: str, kinds: set[str]) -> None:
    (launch,) = launches_of(script)
    told = {"scheduler-variable-early", "process-variable-early", "step-tasks-ignored"}
    told |= {
        "container-option-behind-image",
        "variable-left-behind",
        "module-with-ending",
        "launcher-as-file",
    }
    assert {remark.kind for remark in launch.remarks} & told == kinds
