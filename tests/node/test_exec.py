"""`preflight exec`: it checks this command line, this environment, this node, and then is the command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import Machine, MachineMaker

FLAGS = (
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 "
    "--micro-batch-size 1 --global-batch-size 64 --bf16 --train-iters 100 --lr 1e-4 --tokenizer-type NullTokenizer "
    "--vocab-size 32000 --mock-data"
)
BASE = FLAGS.split()
GOOD = ["torchrun", "--nproc-per-node", "8", "pretrain_gpt.py", *BASE]
BAD = [*GOOD, "--tensor-model-parallel-size", "3", "--sequence-parallel"]


def install(there: Machine, name: str, body: str) -> Machine:
    """A command on the machine's search path."""
    folder = there.folder / "bin"
    folder.mkdir(exist_ok=True)
    command = folder / name
    command.write_text(body)
    command.chmod(0o755)
    environment = {**there.environment, "CUDA_DEVICE_MAX_CONNECTIONS": "1"}
    return there._replace(environment={**environment, "PATH": f"{folder}:{there.environment['PATH']}"})


@pytest.fixture
def ready(machine: MachineMaker) -> Machine:
    """A healthy node with a launcher that tells what it got."""
    body = '#!/bin/bash\necho "pid $$"\nprintf "%s\\n" "$@"\necho "stdin $(cat)"\nexit 7\n'
    return install(machine("hgx-h100"), "torchrun", body)


def start(there: Machine, *words: str, **more: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "preflight", "exec", "--isolated", *words],
        env=there.environment, cwd=there.folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, **more,  # type: ignore[call-overload]
    )  # fmt: skip


def test_it_becomes_the_command(ready: Machine) -> None:
    """Same process, same arguments, same standard input, same exit status; standard output is the command's alone."""
    odd = [*GOOD, "--tensorboard-dir", "a  b $HOME '\"*"]
    process = start(ready, "--", *odd)
    out, error = process.communicate("hello", timeout=30)
    assert process.returncode == 7, error
    assert out.splitlines() == [f"pid {process.pid}", *odd[1:], "stdin hello"]
    assert "0 errors" in error


def test_signals_reach_the_command(machine: MachineMaker) -> None:
    body = "#!/bin/bash\ntrap 'echo got it; exit 3' TERM\necho ready\nwhile true; do sleep 0.05; done\n"
    there = install(machine("hgx-h100"), "torchrun", body)
    process = start(there, "--", *GOOD)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.kill(process.pid, signal.SIGTERM)
    out, _ = process.communicate(timeout=30)
    assert (out, process.returncode) == ("got it\n", 3)


def test_the_default_dispositions_are_restored(machine: MachineMaker) -> None:
    """Python ignores SIGPIPE; the command must not inherit that."""
    there = install(machine("hgx-h100"), "torchrun", "#!/bin/bash\ngrep SigIgn /proc/self/status\n")
    process = start(there, "--", *GOOD)
    out, _ = process.communicate("", timeout=30)
    ignored = int(out.split()[1], 16)
    assert not ignored >> (signal.SIGPIPE - 1) & 1
    assert not ignored >> (signal.SIGXFSZ - 1) & 1


def test_a_bad_command_line_is_refused_with_1(ready: Machine) -> None:
    process = start(ready, "--", *BAD)
    out, error = process.communicate("", timeout=30)
    assert process.returncode == 1
    assert out == ""
    assert "--tensor-model-parallel-size 3" in error
    assert "the command was not started: its command line has errors" in error


def test_a_bad_node_is_refused_with_4(machine: MachineMaker) -> None:
    there = install(machine("hgx-h100 gpus.2.remap_pending=1"), "torchrun", "#!/bin/bash\necho started\n")
    process = start(there, "--", *GOOD)
    out, error = process.communicate("", timeout=30)
    assert (process.returncode, out) == (4, "")
    assert "error[row-remap-pending]" in error


def test_a_silent_driver_is_refused_with_3(machine: MachineMaker) -> None:
    there = install(machine("hgx-h100", init="@60:0"), "torchrun", "#!/bin/bash\necho started\n")
    started = time.monotonic()
    process = start(there, "--deadline", "1", "--", *GOOD)
    out, error = process.communicate("", timeout=30)
    assert (process.returncode, out) == (3, "")
    assert "no answer from NVML in 1 s" in error
    assert time.monotonic() - started < 8


@pytest.mark.parametrize(
    ("text", "command", "extra"),
    [
        ("hgx-h100", BAD, {}),
        ("hgx-h100 gpus.2.mig=1", GOOD, {}),
        ("hgx-h100", GOOD, {"init": "!9"}),
    ],
    ids=["a bad command line", "a bad node", "no driver"],
)
def test_warn_only_never_refuses(
    machine: MachineMaker, text: str, command: list[str], extra: dict[str, object]
) -> None:
    there = install(machine(text, **extra), "torchrun", "#!/bin/bash\necho started\nexit 7\n")
    process = start(there, "--warn-only", "--", *command)
    out, error = process.communicate("", timeout=30)
    assert (process.returncode, out) == (7, "started\n")
    assert "error" in error


def test_the_environment_is_the_one_that_counts(ready: Machine) -> None:
    """CUDA_DEVICE_MAX_CONNECTIONS is looked for where the command will find it: in the process's own environment."""
    tensor = [*GOOD, "--tensor-model-parallel-size", "8", "--sequence-parallel"]
    good = start(ready, "--", *tensor)
    _, error = good.communicate("", timeout=30)
    assert good.returncode == 7, error
    bare = {name: value for name, value in ready.environment.items() if name != "CUDA_DEVICE_MAX_CONNECTIONS"}
    bad = start(ready._replace(environment=bare), "--", *tensor)
    _, error = bad.communicate("", timeout=30)
    assert bad.returncode == 1
    assert "CUDA_DEVICE_MAX_CONNECTIONS" in error


def test_the_node_is_the_one_that_counts(machine: MachineMaker) -> None:
    """Eight processes are right on one node and wrong on another."""
    tensor = [*GOOD, "--tensor-model-parallel-size", "8", "--sequence-parallel"]
    there = install(machine("hgx-a100-2x4"), "torchrun", "#!/bin/bash\necho started\n")
    process = start(there, "--", *tensor)
    out, error = process.communicate("", timeout=30)
    assert (process.returncode, out) == (1, "")
    assert "NVLink joins only 4 on this node" in error


def test_a_script_is_followed(machine: MachineMaker) -> None:
    there = install(machine("hgx-h100"), "torchrun", "#!/bin/bash\necho started\n")
    script = there.folder / "train.sh"
    script.write_text("#!/bin/bash\ntorchrun --nproc-per-node 8 pretrain_gpt.py " + " ".join(BAD[4:]) + "\n")
    process = start(there, "--", "bash", "train.sh")
    out, error = process.communicate("", timeout=30)
    assert (process.returncode, out) == (1, ""), error


def test_another_command_is_run_with_a_note(machine: MachineMaker) -> None:
    process = start(machine("hgx-h100"), "--", "echo", "hello")
    out, error = process.communicate("", timeout=30)
    assert (process.returncode, out) == (0, "hello\n")
    assert "no launch of a training program in this command" in error


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the command is missing"),
        (["--"], "the command is missing"),
        (["--", "no-such-command-here"], "no such command"),
        (["--deadline", "-3", "--", "true"], "not a number of seconds"),
        (["--select", "no-such-rule", "--", "true"], "no rule or family"),
    ],
    ids=["nothing", "an empty command", "an unknown command", "a bad deadline", "an unknown rule"],
)
def test_bad_invocations(machine: MachineMaker, words: list[str], said: str) -> None:
    process = start(machine("hgx-h100"), *words)
    _, error = process.communicate("", timeout=30)
    assert process.returncode == 2
    assert said in error
    assert "Traceback" not in error


def test_secrets_on_the_command_line_are_masked(ready: Machine, tmp_path: Path) -> None:
    ready.environment["WANDB_API_KEY"] = "hush-0123456789"
    process = start(ready, "--", *BAD)
    _, error = process.communicate("", timeout=30)
    assert "hush-0123456789" not in error


def test_the_check_costs_at_most_300_milliseconds(machine: MachineMaker, installed: Path) -> None:
    """Beyond the probe and the start of the interpreter, in processor time of the process itself; the best of five."""
    there = install(machine("hgx-h100"), "torchrun", "#!/bin/bash\nexit 0\n")
    environment = {**there.environment, "PYTHONPATH": str(installed)}
    program = (
        "import os, resource, sys\n"
        "def tell(*_):\n"
        "    use = resource.getrusage(resource.RUSAGE_SELF)\n"
        "    print('spent', use.ru_utime + use.ru_stime, file=sys.stderr)\n"
        "    os._exit(0)\n"
        "os.execvp = tell\n"
        "from preflight.cli.main import run\n"
        f"run(['exec', '--isolated', '--', *{[*GOOD, '--tensor-model-parallel-size', '8', '--sequence-parallel']!r}])\n"
    )
    took = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=there.folder, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        took.append(float(done.stderr.split()[-1]))
    assert min(took) < 0.300, took
