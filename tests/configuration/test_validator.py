"""Asking a checkout: a small stand-in for Megatron and torch, run for real in the child process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from preflight.configuration.bind import bind_launch
from preflight.configuration.model import Configuration
from preflight.configuration.validator import Answer, Machine, ask_megatron, describe_machine
from preflight.targets.table import load_table
from preflight.values import Text
from tests.configuration.launches import make_launch

TORCH = """
class cuda:
    is_available = staticmethod(lambda: False)

class distributed:
    pass
"""

ARGUMENTS = """
import argparse
import os

import a_package_that_is_not_installed
from torch import cuda


def parse_args():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("num-layers", "pipeline-model-parallel-size", "seq-length", "tensor-model-parallel-size"):
        parser.add_argument("--" + name, type=int, default=1)
    parser.add_argument("--tokenizer-type")
    parser.add_argument("--virtual-pipeline-model-parallel-size", type=int)
    return parser.parse_args()


def validate_args(args, defaults):
    print("much noise on standard output")
    stages = args.pipeline_model_parallel_size
    assert args.num_layers % stages == 0, "layers do not divide"
    if args.seq_length > 100 and os.environ.get("CUDA_DEVICE_MAX_CONNECTIONS") != "1":
        raise RuntimeError(f"capability {cuda.get_device_capability()}, ranks {os.environ['WORLD_SIZE']}")
    if args.seq_length == 99:
        raise SystemExit
    if args.seq_length == 98:
        import time
        time.sleep(60)
    return args


def core_transformer_config_from_args(args):
    if args.tensor_model_parallel_size == 3:
        raise ValueError("tensor-model-parallel-size of 3")
"""

GLOBALS = """
def set_global_variables(args):
    pass
"""

INITIALIZE = """
def _initialize_distributed(get_embedding_ranks, store):
    assert get_args().tensor_model_parallel_size != 5, "no such group"
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    files = {
        "torch/__init__.py": TORCH,
        "megatron/training/arguments.py": ARGUMENTS,
        "megatron/training/global_vars.py": GLOBALS,
        "megatron/training/initialize.py": INITIALIZE,
        "megatron/core/parallel_state.py": "",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def bind(line: str, **environment: str) -> Configuration:
    launch = make_launch(line.split())
    texts = {name: Text.literal(value, launch.span) for name, value in environment.items()}
    (configuration,) = bind_launch(launch._replace(environment=texts), load_table("core_v0.19.0"))
    return configuration


def ask(checkout: Path, line: str, *, seconds: float = 60, **environment: str) -> Answer:
    machine = Machine(16, (10, 0), "2.9.0")
    configuration = bind(line, **environment)
    return ask_megatron(configuration, str(checkout), machine, python=sys.executable, seconds=seconds)


def test_an_accepted_line(checkout: Path) -> None:
    assert ask(checkout, "--num-layers 8 --pipeline-model-parallel-size 2").verdict == "accepted"


@pytest.mark.parametrize(
    ("line", "message", "stage", "place"),
    [
        (
            "--num-layers 8 --pipeline-model-parallel-size 3",
            "layers do not divide",
            "arguments",
            "--num-layers 8",
        ),
        ("--seq-length 512", "capability (10, 0), ranks 16", "arguments", "--seq-length 512"),
        (
            "--tensor-model-parallel-size 3",
            "tensor-model-parallel-size of 3",
            "configuration",
            "--tensor-model-parallel-size 3",
        ),
        (
            "--tensor-model-parallel-size 5",
            "no such group",
            "process groups",
            "--tensor-model-parallel-size 5",
        ),
        ("--swiglu", "unrecognized arguments: --swiglu", "parser", "--swiglu"),
        ("--seq-length 99", "raise SystemExit", "arguments", "--seq-length 99"),
    ],
)
def test_a_refused_line(checkout: Path, line: str, message: str, stage: str, place: str) -> None:
    answer = ask(checkout, line)
    assert (answer.verdict, answer.message) == ("refused", message)
    assert answer.remark is not None
    assert answer.remark.values["stage"] == stage
    assert answer.remark.span.text == place


def test_the_launch_s_environment_is_seen(checkout: Path) -> None:
    assert ask(checkout, "--seq-length 512", CUDA_DEVICE_MAX_CONNECTIONS="1").verdict == "accepted"


def test_the_time_is_limited(checkout: Path) -> None:
    answer = ask(checkout, "--seq-length 98", seconds=3)
    assert (answer.verdict, answer.remark) == ("unable", None)
    assert "no answer within 3 s" in answer.message


def test_without_torch_it_says_so(checkout: Path, tmp_path: Path) -> None:
    os.symlink(checkout / "megatron", tmp_path / "megatron")
    answer = ask(tmp_path, "--num-layers 8")
    assert answer.verdict == "unable"
    assert "No module named 'torch'" in answer.message


@pytest.mark.parametrize(
    ("line", "machine", "message"),
    [
        ("--num-layers $LAYERS", Machine(8), "the command line is not fully known: $LAYERS"),
        ("--num-layers 8", Machine(), "the number of ranks is not known"),
    ],
)
def test_what_is_not_known_is_not_asked(checkout: Path, line: str, machine: Machine, message: str) -> None:
    answer = ask_megatron(bind(line), str(checkout), machine, python="/does/not/exist")
    assert answer.verdict == "unable"
    assert message in answer.message


def test_a_python_that_cannot_start_is_named(checkout: Path) -> None:
    answer = ask_megatron(bind("--num-layers 8"), str(checkout), Machine(8), python="/does/not/exist")
    assert answer == Answer("unable", "/does/not/exist: No such file or directory")


def test_the_machine_by_facts() -> None:
    known = {"world_size": 8, "gpu_capability_major": 9, "gpu_capability_minor": 0, "te_version": (2, 9)}
    assert describe_machine(known, given=True) == Machine(8, (9, 0), "2.9", True)
    assert describe_machine({}) == Machine()
