from __future__ import annotations

from pathlib import Path

import pytest

from preflight.engine.remarks import REMARKS
from preflight.execution import Remark
from preflight.launch.pipes import notice_fallbacks
from preflight.source import Source
from tests.launch.launching import launches_of

T = "torchrun --nproc-per-node 8 a.py"
TWO = "torchrun --nnodes 2 --node-rank $R --nproc-per-node 8"
HEADER = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=1 --gres=gpu:8\n"


def remarks_of(script: str, folder: Path | None = None) -> list[Remark]:
    return [remark for launch in launches_of(script, folder) for remark in launch.remarks]


@pytest.mark.parametrize(
    ("script", "kinds"),
    [
        pytest.param(f"export NCCL_DEBUG=INFO\nssh h {T}", ["environment-lost"], id="lost behind ssh"),
        pytest.param(f"export MINE=1\nssh h {T}", [], id="a variable that nobody asks for"),
        pytest.param(f"export NCCL_DEBUG=INFO\ndocker run -e NCCL_DEBUG i {T}", [], id="handed over"),
        pytest.param(
            f"export NCCL_DEBUG=INFO\nssh h 'export NCCL_DEBUG=WARN; {T}'", [], id="set again behind ssh"
        ),
        pytest.param(f"{T}\nexport NCCL_DEBUG=INFO", ["environment-set-late"], id="set when all is over"),
        pytest.param(
            f"if $a\nthen {T}\nelif $b\nthen\n  export NCCL_DEBUG=INFO\n  serve model\nfi",
            [],
            id="set for what another branch starts",
        ),
        pytest.param(
            f"case $a in\n  x) {T};;\n  y)\n    export NCCL_DEBUG=INFO\n    serve model;;\nesac",
            [],
            id="set for what another case starts",
        ),
        pytest.param(f"export CUDA_MAX_CONNECTIONS=1\n{T}", ["environment-misspelt"], id="a slip"),
        pytest.param(
            f"export CUDA_DEVICE_MAX_CONNECTION=1\n{T}", ["environment-misspelt"], id="a letter missing"
        ),
        pytest.param(
            f"export CUDA_MAX_CONNECTIONS=1 CUDA_DEVICE_MAX_CONNECTIONS=1\n{T}",
            [],
            id="the right one is there too",
        ),
        pytest.param(f"export CUDA_HOME=/x HIP_VISIBLE_DEVICES=0\n{T}", [], id="variables of others"),
        pytest.param(
            "torchrun --nnodes $SLURM_JOB_NUMNODES a.py",
            ["scheduler-variable-misspelt"],
            id="a slip of Slurm's",
        ),
        pytest.param(
            "torchrun --nnodes $SLURM_NUM_NODES a.py", ["scheduler-variable-misspelt"], id="another"
        ),
        pytest.param("torchrun --nnodes $SLURM_NNODES a.py", [], id="as Slurm calls it"),
        pytest.param("torchrun --nnodes $SLURM_OUR_SITE a.py", [], id="a site's own"),
        pytest.param(
            HEADER + "srun torchrun --nproc-per-node $SLURM_GPUS_PER_NODE a.py",
            ["scheduler-variable-unset"],
            id="set only with its option",
        ),
        pytest.param(
            HEADER + "srun torchrun --nproc-per-node ${SLURM_GPUS_PER_NODE:-8} a.py", [], id="with a default"
        ),
        pytest.param(
            f"{TWO} --master-addr $(hostname) a.py", ["own-address-on-every-node"], id="its own address"
        ),
        pytest.param(
            HEADER + f"srun {TWO} --master-addr $(hostname) a.py", [], id="the batch script's address"
        ),
        pytest.param(
            HEADER + f"srun bash -c '{TWO} --master-addr $(hostname) a.py'",
            ["own-address-on-every-node"],
            id="task's",
        ),
        pytest.param(
            f"{TWO} --master-addr $(scontrol show hostnames $SLURM_JOB_NODELIST | head -1) a.py",
            [],
            id="the first",
        ),
        pytest.param(
            f"{TWO} --master-addr $SLURM_NODELIST a.py", ["node-list-as-address"], id="the list of nodes"
        ),
        pytest.param(
            f"{TWO} --master-addr $SLURM_SUBMIT_HOST a.py", ["submit-host-as-address"], id="the login node"
        ),
        pytest.param(
            HEADER
            + "export MASTER_ADDR=$SLURM_SUBMIT_HOST\nsrun -N2 --ntasks-per-node=8 python pretrain_gpt.py",
            ["submit-host-as-address"],
            id="the login node in the environment",
        ),
        pytest.param(
            HEADER
            + "export MASTER_ADDR=$SLURM_SUBMIT_HOST\n"
            + "srun --nodes=2 --ntasks-per-node=8 python pretrain_gpt.py --num-layers 2 --master-addr=$FIRST",
            [],
            id="the program is told another",
        ),
        pytest.param(
            f"{TWO} --master-addr x --master-port $RANDOM a.py", ["port-drawn-per-task"], id="drawn port"
        ),
        pytest.param(HEADER + f"srun {TWO} --master-addr x --master-port $RANDOM a.py", [], id="drawn once"),
        pytest.param("torchrun --master-port $RANDOM a.py", [], id="drawn on one node"),
        pytest.param(
            f"{T.replace('a.py', '--master-port 70000 a.py')}", ["port-out-of-range"], id="no such port"
        ),
        pytest.param(
            "torchrun --nnodes 2 --node-rank 2 --master-addr x a.py",
            ["node-rank-too-large"],
            id="no such rank",
        ),
        pytest.param("torchrun --nnodes 2 --master-addr x a.py", ["node-rank-missing"], id="no rank"),
        pytest.param(
            "D=$(date)\nP=$(shuf -n 1 -i 10000-65535)\ndeepspeed --hostfile h --num_nodes 2 --master_port $P a.py",
            [],
            id="drawn where deepspeed starts the nodes",
        ),
        pytest.param(
            "P=$(shuf -n 1 -i 10000-65535)\n"
            "deepspeed --no_ssh --node_rank $R --hostfile h --num_nodes 2 --master_addr x --master_port $P a.py",
            ["port-drawn-per-task"],
            id="drawn where each node starts deepspeed",
        ),
        pytest.param(
            "for h in $(list_hosts); do HEAD=${HEAD:-$h}; done\n"
            "torchrun --nnodes 2 --node-rank $R --master-addr $HEAD --master-port 29500 pretrain_gpt.py --num-layers 2",
            [],
            id="no hosts to look at, which never happens",
        ),
        pytest.param(
            "HEAD='your host'\n"
            "torchrun --nnodes 2 --node-rank $R --master-addr $HEAD --master-port 29500 pretrain_gpt.py --num-layers 2",
            ["launcher-program-displaced"],
            id="half of a value with a blank",
        ),
        pytest.param(
            "torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint x:1 a.py", [], id="no rank needed"
        ),
        pytest.param(f"set -e\n{T} 2>&1 | tee log", ["status-hidden-by-pipe"], id="a hidden status"),
        pytest.param(f"set -eo pipefail\n{T} | tee log", [], id="pipefail"),
        pytest.param(f"{T} | tee log", [], id="nobody asks for the status"),
        pytest.param("torchrun --nproc-per-nodes 8 a.py", ["launcher-option-misspelt"], id="no such option"),
        pytest.param("torchrun --nproc-per-node\r 8 a.py", [], id="a carriage return behind an option"),
        pytest.param("torchrun --our-own 8 a.py", [], id="an option of a newer release"),
        pytest.param(
            "torchrun --nnodes --nproc-per-node 8 a.py", ["launcher-option-without-value"], id="no value"
        ),
        pytest.param(
            "torchrun --nproc-per-node 4 --nproc_per_node 8 a.py", ["launcher-option-repeated"], id="twice"
        ),
        pytest.param("torchrun --nproc-per-node 8 --nproc_per_node 8 a.py", [], id="twice the same"),
        pytest.param(f"{T} &\n{T} --x &\nwait", ["port-used-twice"], id="two at once"),
        pytest.param(f"{T} &\nwait\n{T} --x &", [], id="one after the other"),
        pytest.param(f"{T} &\ntorchrun --standalone a.py &", [], id="a free port"),
        pytest.param(f"ssh a '{T}' &\nssh b '{T}' &", [], id="on two machines"),
        pytest.param(
            "torchrun --nnodes 2 --node-rank 0 --master-addr localhost a.py &\n"
            "torchrun --nnodes 2 --node-rank 1 --master-addr localhost a.py &",
            [],
            id="two nodes in name only",
        ),
    ],
)
def test_remarks(script: str, kinds: list[str]) -> None:
    found = remarks_of(script)
    assert [remark.kind for remark in found] == kinds
    for remark in found:
        assert set(REMARKS[remark.kind]) == set(remark.values)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        pytest.param("H=$(scontrol show hostnames | head -1 || echo localhost)", True, id="head succeeds"),
        pytest.param("H=$(scontrol show hostnames | head -1 || true)", False, id="true says nothing"),
        pytest.param('H=$(scontrol show hostnames | head -1 || echo "")', False, id="nothing says nothing"),
        pytest.param("H=$(scontrol show hostnames | grep x || echo localhost)", False, id="grep may fail"),
        pytest.param("# H=$(scontrol | head -1 || echo localhost)", False, id="a comment"),
        pytest.param("set -o pipefail\nH=$(scontrol | head -1 || echo localhost)", False, id="pipefail"),
        pytest.param("H=$(hostname || echo localhost)", False, id="no pipe"),
    ],
)
def test_fallbacks(line: str, found: bool) -> None:
    assert bool(list(notice_fallbacks(Source("x.sh", line.encode())))) == found


def test_a_slip_is_mended_where_it_stands() -> None:
    (remark,) = remarks_of(f"export CUDA_MAX_CONNECTIONS=1\n{T}")
    ((span, text),) = remark.edits
    assert (span.text, text) == ("CUDA_MAX_CONNECTIONS", "CUDA_DEVICE_MAX_CONNECTIONS")
