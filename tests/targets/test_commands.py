"""Releases, added targets and a checkout's own word, through the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).parents[2] / "fixtures" / "flags" / "checkout"
BASE = (
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 "
    "--micro-batch-size 1 --global-batch-size 64 --bf16 --train-iters 100 --lr 1e-4 --tokenizer-type NullTokenizer "
    "--vocab-size 32000 --mock-data"
)


def check(
    folder: Path, flags: str, *options: str, program: str = "pretrain_gpt.py"
) -> tuple[dict[str, Any], str]:
    """The JSON report and what was said beside it."""
    script = folder / "train.sh"
    script.write_text(
        f"export CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun --nproc-per-node 8 {program} {BASE} {flags}\n"
    )
    command = [sys.executable, "-m", "preflight", "check", "--output", "json", *options, "train.sh"]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT.parents[2])}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert done.stdout, done.stderr
    return json.loads(done.stdout), done.stderr


def errors(report: dict[str, Any]) -> dict[str, str]:
    return {each["rule"]: each["releases"] for each in report["findings"] if each["severity"] == "error"}


def test_all_releases_say_where_a_finding_holds_and_where_the_launch_is_valid(tmp_path: Path) -> None:
    report, said = check(tmp_path, "--use-legacy-models --ckpt-format torch", "--target", "all")
    found = errors(report)
    assert found["removed-flag"] == "core_v0.18.2 to main"
    assert "line 2: no error in " in said
    assert "core_v0.17.1" in said.split("no error in ")[1]
    assert "core_v0.18.2" not in said.split("no error in ")[1]


def test_a_launch_that_no_release_takes(tmp_path: Path) -> None:
    _, said = check(tmp_path, "--lr-scheduler cosine", "--target", "all")
    assert "line 2: an error in every release" in said


def test_an_added_target_knows_its_own_flags(tmp_path: Path) -> None:
    assert set(errors(check(tmp_path, "--second-size 3", "--target", "0.15.3")[0])) == {"unknown-flag"}
    add = [
        sys.executable,
        "-m",
        "preflight",
        "targets",
        "add",
        str(CHECKOUT),
        "--root",
        ".",
        "--name",
        "ours",
    ]
    subprocess.run(
        add,
        cwd=tmp_path,
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT.parents[2])},
    )
    report, _ = check(tmp_path, "--second-size 3", "--target", "ours", "--root", ".")
    told = {label["text"] or each["message"] for each in report["findings"] for label in each["labels"][:1]}
    assert not any("--second-size" in text for text in told)
    assert report["target"] == "core_v0.15.3"


def test_an_unknown_target_is_a_bad_invocation(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("true\n")
    command = [sys.executable, "-m", "preflight", "check", "--target", "0.3", "a.sh"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT.parents[2])},
    )
    assert done.returncode == 2
    assert "no target named '0.3'" in done.stderr


@pytest.fixture
def megatron(tmp_path: Path) -> Path:
    """A stand-in for Megatron and torch that refuses three pipeline stages."""
    folder = tmp_path / "Megatron"
    shutil.copytree(CHECKOUT, folder)
    files = {
        "torch/__init__.py": """
class cuda:
    is_available = staticmethod(lambda: False)


class distributed:
    pass
""",
        "megatron/training/arguments.py": """
import argparse


def add_megatron_arguments(parser):
    for name in ("num-layers", "hidden-size", "num-attention-heads", "seq-length", "max-position-embeddings"):
        parser.add_argument("--" + name, type=int)
    for name in ("micro-batch-size", "global-batch-size", "train-iters", "vocab-size", "rank-stride"):
        parser.add_argument("--" + name, type=int)
    parser.add_argument("--lr", type=float)
    parser.add_argument("--tokenizer-type")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--mock-data", action="store_true")
    parser.add_argument("--pipeline-model-parallel-size", type=int, default=1)
    return parser


def parse_args():
    return add_megatron_arguments(argparse.ArgumentParser(allow_abbrev=False)).parse_args()


def validate_args(args, defaults):
    assert args.rank_stride != 3, "our ranks do not step by three"
    raise SystemExit("enough")


def core_transformer_config_from_args(args):
    pass
""",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    bin_folder = folder / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "python").symlink_to(sys.executable)
    return folder


def test_a_checkout_s_own_word_stands_at_the_flag(tmp_path: Path, megatron: Path) -> None:
    report, _ = check(tmp_path, "--rank-stride 3", "--megatron", str(megatron))
    found = {each["rule"]: each for each in report["findings"]}
    assert "unknown-flag" not in found, "the checkout's own parser has the flag"
    refusal = found["megatron-refuses"]
    assert refusal["message"] == "Megatron itself refuses this: our ranks do not step by three"
    text = (tmp_path / "train.sh").read_text().splitlines()[refusal["line"] - 1]
    assert text[refusal["column"] - 1 : refusal["end_column"] - 1] == "--rank-stride 3"


def test_a_folder_without_megatron_is_a_bad_invocation(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("true\n")
    command = [sys.executable, "-m", "preflight", "check", "--megatron", ".", "a.sh"]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT.parents[2])}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, "is no Megatron checkout" in done.stderr) == (2, True)
