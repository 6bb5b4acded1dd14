from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from preflight.budget import Budget
from preflight.execution import Context, Script
from preflight.launch.find import find_launches
from preflight.shell import read_script as read_shell
from preflight.source import Files, Source
from tests.launch.launching import command_of, counts, environment_of, launches_of, only, read_python

T = "torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2"
P = "python pretrain_gpt.py --tensor-model-parallel-size 2"


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(T, id="bare"),
        pytest.param(f"nohup {T} > log 2>&1 &", id="nohup in the background"),
        pytest.param(f"env -u B A=1 {T}", id="env"),
        pytest.param(f"A=1 exec {T}", id="exec"),
        pytest.param(f"time {T}", id="time"),
        pytest.param(f"timeout -k 5 3600 {T}", id="timeout"),
        pytest.param(f"numactl --cpunodebind=0 --membind 0 {T}", id="numactl"),
        pytest.param(f"taskset -c 0-7 {T}", id="taskset by list"),
        pytest.param(f"taskset 0xff {T}", id="taskset by mask"),
        pytest.param(f"stdbuf -oL nice -n 5 {T}", id="stdbuf and nice"),
        pytest.param(f"nsys profile -t cuda,nvtx -o out --stats=true {T}", id="nsys"),
        pytest.param(f"sudo -E -u me {T}", id="sudo"),
        pytest.param(f"srun -N2 --ntasks-per-node=1 --mpi pmix -l {T}", id="srun"),
        pytest.param(f"srun --our-plugin value {T}", id="an option of a plugin"),
        pytest.param(f"srun $SRUN_ARGS {T}", id="options of unknown length"),
        pytest.param(f"salloc -N 1 srun {T}", id="salloc"),
        pytest.param(f"mpirun -np 2 -H a,b -x PATH -mca btl ^openib {T}", id="mpirun"),
        pytest.param(f"mpirun -np -x PATH -bind-to none {T}", id="mpirun with an empty number"),
        pytest.param(f"jsrun -n2 -a1 -g 6 -c ALL_CPUS -b none {T}", id="jsrun"),
        pytest.param(f"aprun -n 8 -N 4 --cc depth -d 16 {T}", id="aprun"),
        pytest.param(f"srun /opt/site/bind.sh {T}", id="a script that is not there"),
        pytest.param(f"docker run --rm -it --gpus all -v /a:/b image:1 {T}", id="docker"),
        pytest.param(f"docker exec -w /x box {T}", id="docker exec"),
        pytest.param(f"singularity -q exec --nv -B /a:/b image.sif {T}", id="singularity"),
        pytest.param(f"apptainer run --nv --env A=1 image.sif {T}", id="apptainer"),
        pytest.param(f"enroot start --rw box {T}", id="enroot"),
        pytest.param(f"uv run --no-sync --extra x {T}", id="uv"),
        pytest.param(f"poetry run {T}", id="poetry"),
        pytest.param(f"conda run -n base --no-capture-output {T}", id="conda"),
        pytest.param(f"bash -c '{T}'", id="bash -c"),
        pytest.param(f"bash -lc '{T}'", id="bash -lc"),
        pytest.param(f"sh -euxc '{T}'", id="sh with switches"),
        pytest.param(f"bash -o pipefail -c '{T}'", id="bash with an option"),
        pytest.param(f'X="{T}"; eval "$X"', id="eval"),
        pytest.param(f'X="{T}"; $X', id="a command in a variable"),
        pytest.param(f"ssh -p 22 -o A=b node1 'cd /x && {T}'", id="ssh"),
        pytest.param(f"pdsh -w node[0-1] '{T}'", id="pdsh"),
        pytest.param(f"clush -b -w node[0-1] {T}", id="clush"),
        pytest.param(f"ray job submit --address=a --working-dir . -- {T}", id="ray"),
        pytest.param(f"srun bash -c \"bash -c '{T}'\"", id="two shells"),
        pytest.param(f"bash <<EOF\n{T}\nEOF", id="a here-document for bash"),
        pytest.param(f"sbatch <<EOF\n#!/bin/bash\n#SBATCH -N 1\n{T}\nEOF", id="a here-document for sbatch"),
        pytest.param(f"sbatch -N 1 --wrap '{T}'", id="sbatch --wrap"),
        pytest.param(f'run() {{ "$@"; }}; run {T}', id="a function that runs its arguments"),
        pytest.param(f"python -c \"import os; os.system('{T}')\"", id="python -c"),
        pytest.param(f"python - <<EOF\nimport subprocess\nsubprocess.run('{T}'.split())\nEOF", id="python -"),
        pytest.param(f"flock /tmp/lock {T}", id="flock"),
        pytest.param(f"kubectl exec -it -n ml pod-0 -- {T}", id="kubectl"),
        pytest.param(f"kubectl exec pod-0 -c main -- bash -c '{T}'", id="kubectl with a shell"),
        pytest.param(f"screen -dmS run {T}", id="screen"),
        pytest.param(f"tmux new-session -d -s run '{T}'", id="tmux"),
        pytest.param(f"py-spy record -o out.svg -- {T}", id="py-spy"),
        pytest.param(f"strace -f -o out {T}", id="strace"),
    ],
)
def test_wrappers_are_peeled(script: str) -> None:
    launch = only(script)
    assert command_of(launch) == T
    assert launch.program is not None and launch.program.text.value == "pretrain_gpt.py"
    assert [word.text.value for word in launch.argv] == ["--tensor-model-parallel-size", "2"]
    assert launch.launcher.kind == "torchrun"


@pytest.mark.parametrize(
    ("script", "kind", "command"),
    [
        pytest.param(P, "python", P, id="python"),
        pytest.param(f"srun -n 8 {P}", "srun", P, id="a task for each GPU"),
        pytest.param(f"mpirun -np 8 {P}", "mpirun", P, id="mpirun"),
        pytest.param(f"ray job submit -- {P}", "ray", P, id="ray"),
        pytest.param(
            "/opt/venv/bin/python3.11 -u -X dev a.py --tensor-model-parallel-size=2", "python", None, id="-u"
        ),
        pytest.param(
            "python -m torch.distributed.run --nproc-per-node 8 a.py", "torchrun", None, id="module"
        ),
        pytest.param(
            "python -u -m torch.distributed.launch --nproc_per_node 8 a.py",
            "torch.distributed.launch",
            None,
            id="old module",
        ),
        pytest.param("deepspeed --num_gpus 8 a.py --x", "deepspeed", None, id="deepspeed"),
        pytest.param("accelerate launch --num_processes 8 a.py", "accelerate", None, id="accelerate"),
        pytest.param("msrun --worker_num 8 --local_worker_num 8 a.py", "msrun", None, id="msrun"),
        pytest.param("megatron sft --model x", "megatron", None, id="megatron"),
        pytest.param("swift rlhf --model x", "swift", None, id="swift"),
        pytest.param("ft_launcher --nproc-per-node 8 a.py", "torchrun", None, id="ft_launcher"),
        pytest.param("python3 -m verl.trainer.main_ppo a.b=1 c.d=2", "python", None, id="hydra"),
        pytest.param("srun python train.py", "srun", None, id="a training by its name"),
        pytest.param("python pretrain_gpt.py --yaml-cfg x", "python", None, id="flags in a file"),
        pytest.param(
            "uv run coverage run -a --source=x train.py --tensor-model-parallel-size 2",
            "python",
            None,
            id="coverage",
        ),
        pytest.param("uv run train.py --tensor-model-parallel-size 2", "python", None, id="uv with a file"),
    ],
)
def test_launchers(script: str, kind: str, command: str | None) -> None:
    launch = only(script)
    assert launch.launcher.kind == kind
    assert command is None or command_of(launch) == command


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(
            "python tools/preprocess_data.py --input x --tokenizer-type y --seq-length 1", id="preprocessing"
        ),
        pytest.param(
            "python tools/convert.py --num-layers 1 --hidden-size 2 --num-attention-heads 3", id="conversion"
        ),
        pytest.param("python -c 'print(1)'", id="a calculation"),
        pytest.param("python setup.py install", id="setup"),
        pytest.param("which torchrun", id="a question"),
        pytest.param("command -v torchrun", id="another question"),
        pytest.param("torchrun --help", id="help"),
        pytest.param(f"echo {T}", id="echo"),
        pytest.param("pkill -f torchrun", id="pkill"),
        pytest.param("pip install deepspeed", id="pip"),
        pytest.param("accelerate config", id="another subcommand"),
        pytest.param("swift infer --model x", id="inference"),
        pytest.param("ray start --head", id="ray start"),
        pytest.param("docker pull image", id="docker pull"),
    ],
)
def test_what_is_no_launch(script: str) -> None:
    assert launches_of(script) == ()


@pytest.mark.parametrize(
    ("script", "seen"),
    [
        pytest.param(f"export A=1\n{T}", {"A": "1"}, id="exported"),
        pytest.param(f"A=1\n{T}", {"A": None}, id="not exported"),
        pytest.param(f"A=1 {T}", {"A": "1"}, id="in front"),
        pytest.param(f"export A=1\nenv -i B=2 {T}", {"B": "2"}, id="env -i"),
        pytest.param(f"export A=1\nenv -u A {T}", {"A": None}, id="env -u"),
        pytest.param(f"export A=1\nsrun {T}", {"A": "1"}, id="srun hands all over"),
        pytest.param(f"export A=1 B=2\nsrun --export=NONE {T}", {}, id="srun hands nothing over"),
        pytest.param(
            f"export A=1 B=2\nsrun --export=A,C=3 {T}", {"A": "1", "C": "3"}, id="srun hands some over"
        ),
        pytest.param(
            f"export A=1\nsrun --export=ALL,C=3 {T}", {"A": "1", "C": "3"}, id="srun hands all and one over"
        ),
        pytest.param(f"export A=1\ndocker run -e B=2 image {T}", {"B": "2"}, id="docker"),
        pytest.param(f"export A=1\ndocker run -e A image {T}", {"A": "1"}, id="docker by name"),
        pytest.param(f"export A=1\nssh host {T}", {}, id="ssh"),
        pytest.param(f'export A=1\nssh host "export A=2; {T}"', {"A": "2"}, id="ssh sets it there"),
        pytest.param(f"bash -c 'export A=1; {T}'", {"A": "1"}, id="inside bash -c"),
        pytest.param(f"export A=1\nmpirun -np 1 -x B=2 {T}", {"A": "1", "B": "2"}, id="mpirun"),
        pytest.param(f"export A=1\nsudo {T}", {}, id="sudo"),
        pytest.param(f"sudo -E A=1 {T}", {"A": "1"}, id="sudo with an assignment"),
        pytest.param(f"export SINGULARITYENV_A=1\nsingularity exec x.sif {T}", {"A": "1"}, id="singularity"),
        pytest.param(
            'ray job submit --runtime-env-json=\'{"env_vars": {"A": "1", "B": "x\\"y"}}\' -- ' + P,
            {"A": "1", "B": 'x"y'},
            id="ray's runtime environment",
        ),
        pytest.param(f"export A=1\nray job submit -- {P}", {"A": "?"}, id="ray may be started elsewhere"),
    ],
)
def test_environment_of_the_ranks(script: str, seen: dict[str, str | None]) -> None:
    found = environment_of(only(script))
    names = ("A", "B", "C")
    assert {name: found[name] for name in names if name in found} == seen


def test_a_task_knows_its_own_rank_only_when_it_runs() -> None:
    launch = only(f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node 8\nsrun bash -c 'RANK=$SLURM_PROCID {P}'")
    assert environment_of(launch)["RANK"] == "?"
    launch = only(f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node 8\nexport RANK=$SLURM_PROCID\nsrun {P}")
    assert environment_of(launch)["RANK"] == "0"
    assert environment_of(launch)["SLURM_NTASKS"] == "16"


def test_a_sibling_script_is_followed_with_its_arguments(tmp_path: Path) -> None:
    (tmp_path / "inner.sh").write_text(
        '#!/bin/bash\ntorchrun --nproc-per-node $1 pretrain_gpt.py --x "${@:2}"\n'
    )
    launch = only('bash inner.sh 8 "a b" $UNKNOWN', tmp_path)
    assert counts(launch) == (1, 8, 8)
    assert [word.text.display() for word in launch.argv[:2]] == ["--x", "a b"]
    assert launch.open
    place = launch.span.resolve()
    assert (place.path, place.position.line) == ("inner.sh", 2)
    assert launch.argv[1].text.pieces[0].span.resolve().path == "train.sh"


def test_scripts_that_call_each_other_end(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("bash b.sh\n")
    (tmp_path / "b.sh").write_text(f"bash a.sh\n{T}\n")
    assert len(launches_of("bash a.sh", tmp_path)) == 1


def read_counting(text: str, folder: Path, fuel: int) -> tuple[list[Script], Budget]:
    """The scripts inside one, each as often as it is read, and what is left of the budget."""
    budget = Budget(fuel)
    surroundings = Context(Files(str(folder), (str(folder),)), budget=budget)
    read: list[Script] = []

    def read_inside(source: Source, context: Context, **state: Any) -> Script:
        read.append(read_shell(source, context, **state))
        return read[-1]

    script = read_shell(Source("train.sh", text.encode()), surroundings)
    find_launches(script, surroundings, read_shell=read_inside, read_python=read_python)
    return read, budget


def test_a_script_that_is_run_again_alike_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("torchrun a.py --lr $1 --seed $SEED")
    same = "export SEED=1\nbash run.sh 1\nbash run.sh 1\n"
    assert len(read_counting(same, tmp_path, 1000)[0]) == 1
    other = same + "bash run.sh 2\nexport SEED=2\nbash run.sh 1\n"
    assert len(read_counting(other, tmp_path, 1000)[0]) == 3


def test_scripts_that_read_alike_keep_their_own_unknowns_and_assumptions(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text('torchrun a.py --lr "$1"')
    found = launches_of(
        'bash run.sh "$A"\nbash run.sh "$B"\nbash run.sh ${C:-8}\nbash run.sh ${D:-8}', tmp_path
    )
    values = [launch.argv[1].text for launch in found]
    assert [text.display() for text in values] == ["$A", "$B", "8", "8"]
    assumed = [[each.name for piece in text.pieces for each in piece.assumptions] for text in values]
    assert assumed == [[], [], ["C"], ["D"]]


def test_the_scripts_inside_share_one_budget(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("for i in {1..50}; do echo $i; done\ntorchrun a.py --lr $1")
    text = "".join(f"bash run.sh {number}\n" for number in range(20))
    read, budget = read_counting(text, tmp_path, 16_000)
    assert len(read) == 20 and not budget.spent
    cost = 16_000 - budget.fuel
    read, budget = read_counting(text, tmp_path, cost // 2)
    assert 5 < len(read) < 15 and budget.spent
    assert [bool(script.truncated) for script in read] == [False] * (len(read) - 1) + [True]


def test_a_script_outside_the_folders_is_not_read(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "out.sh").write_text(T)
    assert launches_of("bash ../out.sh", inside) == ()


def test_a_submitted_script_has_its_own_header(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text(f"#!/bin/bash\n#SBATCH -N 2\n#SBATCH --gpus-per-node=8\nsrun {T}\n")
    launch = only("sbatch -N 4 job.sh", tmp_path)
    assert launch.header is not None
    nodes = launch.header.options["nodes"].text
    assert nodes is not None and nodes.value == "4"
    assert environment_of(launch)["SLURM_GPUS_ON_NODE"] == "8"


def test_assumptions_survive_the_text_of_another_shell() -> None:
    launch = only('TP=${TP:-8}\nbash -c "torchrun --nproc-per-node 8 a.py --tp $TP"')
    assert [assumption.name for assumption in launch.argv[1].text.assumptions] == ["TP"]
    assert launch.argv[1].text.pieces[0].span.resolve().text == "8"


def test_a_value_that_is_unknown_outside_is_unknown_inside() -> None:
    launch = only("bash -c \"torchrun --nproc-per-node $GPUS a.py --tp '$TP'\"")
    assert counts(launch) == (1, "environment", "environment")
    assert launch.argv[1].text.unknowns[0].name == "TP"


def test_an_unknown_launcher_in_front_of_a_training() -> None:
    launch = only("$LAUNCHER pretrain_gpt.py --tensor-model-parallel-size 2")
    assert launch.launcher.kind == "unknown"
    assert counts(launch) == ("environment", "environment", "environment")


def test_conditions_of_all_scripts_are_kept() -> None:
    found = launches_of(f'if [ "$A" = 1 ]; then bash -c \'if [ "$B" = 2 ]; then {T}; fi\'; fi')
    assert any(len(launch.conditions) == 2 for launch in found)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(
            f"deepspeed --num_gpus 8 --no_local_rank --no_python /usr/bin/bash -c 'cd /x; {P}'", id="text"
        ),
        pytest.param(
            f"echo '{P}' > /tmp/task.sh\ntorchrun --nproc-per-node 8 --no-python /tmp/task.sh", id="script"
        ),
    ],
)
def test_a_shell_that_a_launcher_starts_as_each_task_is_followed(script: str) -> None:
    launch = only(script)
    assert launch.program is not None and launch.program.text.value == "pretrain_gpt.py"
    assert launch.launcher.kind in ("deepspeed", "torchrun")
    assert launch.launcher.world_size.value == 8


JOB = f"D=/scratch/out\ncat > $D/job.sh <<EOF\n#!/bin/bash\n#SBATCH --nodes=2\n{T} --x \\$1\nEOF\n"


@pytest.mark.parametrize(
    ("command", "last"),
    [
        pytest.param("bash $D/job.sh a", "a", id="bash"),
        pytest.param("chmod +x $D/job.sh\n$D/job.sh a", "a", id="called"),
        pytest.param("sbatch --nodes 1 $D/job.sh a", "a", id="sbatch"),
        pytest.param("srun bash $D/job.sh a", "a", id="srun"),
        pytest.param("cp $D/job.sh /tmp/x\nbash /tmp/x b", "b", id="a copy"),
    ],
)
def test_a_script_that_the_script_wrote_is_run(command: str, last: str) -> None:
    launch = only(JOB + command)
    assert launch.argv[-1].text.value == last
    assert launch.program is not None and launch.program.span.resolve().position.line == 5


@pytest.mark.parametrize(
    "command", ["rm $D/job.sh\nbash $D/job.sh", "sed -i s/a/b/ $D/job.sh\nbash $D/job.sh"]
)
def test_a_script_that_was_written_and_changed_is_not_known(command: str) -> None:
    assert not launches_of(JOB + command)


@pytest.mark.parametrize("place", ["$OUT/job", "$(mktemp)"])
def test_a_written_script_is_known_again_where_only_the_caller_knows_its_place(place: str) -> None:
    text = f"F={place}\nG={place}2\necho 'torchrun other.py --tensor-model-parallel-size 4' > $G\n"
    launch = only(f"{text}cat > $F <<'EOF'\n{T}\nEOF\nsbatch $F")
    assert command_of(launch) == T


def test_a_batch_script_that_was_written_before_keeps_its_header_and_arguments(tmp_path: Path) -> None:
    body = f"#!/bin/bash\n#SBATCH -N 4\nsrun --ntasks-per-node=1 {T} \\$1\n"
    launch = only(f"cat > job.sh <<EOF\n{body}EOF\nsbatch job.sh --bf16", tmp_path)
    assert command_of(launch).endswith(" 2 --bf16")
    assert launch.header is not None and launch.header.remarks == ()
    assert launch.header.options["nodes"].text is not None
