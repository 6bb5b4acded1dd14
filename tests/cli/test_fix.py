"""`check --fix` and `--diff`: what is written, and what is not."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest

from .conftest import BASE, Command

AT = ("--target", "core_v0.19.0")
MANY = f"""#!/bin/bash
# a script with several mistakes, é and tabs
export CUDA_DEVICE_MAX_CONNECTIONS=1
ARGS=(
\t--tensor-model-parallel-size 2
    --train-iters 100 # stays
    --bf16=true
)
torchrun --nproc-per-node 8 pretrain_gpt.py \\
    {BASE} \\
    "${{ARGS[@]}}" \\\x20\x20
    --log-interval 10 \\
    --save-interval 100

echo   done   # untouched  \x20
"""


@pytest.fixture
def many(scripts: Path) -> Path:
    path = scripts / "many.sh"
    path.write_text(MANY)
    path.chmod(0o750)
    return path


def lines_that_differ(before: str, after: str) -> list[int]:
    old, new = before.splitlines(), after.splitlines()
    assert len(old) == len(new)
    return [number for number, (a, b) in enumerate(zip(old, new, strict=True), 1) if a != b]


def test_safe_fixes_are_written_and_the_rest_stays(many: Path, preflight: Command) -> None:
    before = preflight("check", "many.sh", *AT, "--output", "concise").out
    assert (
        "value-for-switch" in before
        and "sequence-parallel-missing" in before
        and "blank-after-backslash" in before
    )
    done = preflight("check", "many.sh", *AT, "--fix", "--output", "concise")
    assert "value-for-switch" not in done.out and "sequence-parallel-missing" in done.out
    after = many.read_text()
    assert lines_that_differ(MANY, after) == [7]
    assert after.splitlines()[6] == "    --bf16"
    assert stat.S_IMODE(many.stat().st_mode) == 0o750
    assert not list(many.parent.glob("*preflight-*"))


def test_unsafe_fixes_need_to_be_asked_for(many: Path, preflight: Command) -> None:
    preflight("check", "many.sh", *AT, "--fix")
    assert "\\  \n" in many.read_text()
    done = preflight("check", "many.sh", *AT, "--fix", "--unsafe-fixes", "--output", "concise")
    assert "\\  \n" not in many.read_text()
    assert "blank-after-backslash" not in done.out and "sequence-parallel-missing" not in done.out
    assert "\t--tensor-model-parallel-size 2 --sequence-parallel\n" in many.read_text()
    again = many.read_bytes()
    preflight("check", "many.sh", *AT, "--fix", "--unsafe-fixes")
    assert many.read_bytes() == again


def test_diff_writes_nothing_and_applies(many: Path, preflight: Command) -> None:
    done = preflight("check", "many.sh", *AT, "--diff", "--unsafe-fixes", "-q", "--show", "error")
    assert many.read_text() == MANY
    assert done.out.startswith("--- a/many.sh\n+++ b/many.sh\n")
    patch = done.out[: done.out.index("error[")] if "error[" in done.out else done.out
    subprocess.run(["git", "apply", "-p1", "-"], input=patch.encode(), cwd=many.parent, check=True)
    applied = many.read_bytes()
    many.write_text(MANY)
    preflight("check", "many.sh", *AT, "--fix", "--unsafe-fixes")
    assert many.read_bytes() == applied


def test_a_sourced_file_is_fixed_where_it_stands(scripts: Path, preflight: Command) -> None:
    Path("common.sh").write_text("ARGS=(--tensor-model-parallel-size 2)\n")
    launch = f'torchrun --nproc-per-node 8 pretrain_gpt.py {BASE} "${{ARGS[@]}}"\n'
    text = f"source common.sh\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\n{launch}"
    Path("main.sh").write_text(text)
    preflight("check", "main.sh", *AT, "--fix", "--unsafe-fixes")
    assert Path("common.sh").read_text() == "ARGS=(--tensor-model-parallel-size 2 --sequence-parallel)\n"
    assert Path("main.sh").read_text() == text


def test_an_ignored_finding_is_not_fixed(scripts: Path, preflight: Command) -> None:
    text = (
        "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
        f"torchrun --nproc-per-node 8 pretrain_gpt.py {BASE} --tensor-model-parallel-size 2"
        "  # preflight: ignore[sequence] known\n"
    )
    Path("main.sh").write_text(text)
    preflight("check", "main.sh", *AT, "--fix", "--unsafe-fixes")
    assert Path("main.sh").read_text() == text
