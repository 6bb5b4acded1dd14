"""Scripts against nodes: what the node decides, and who is blamed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from preflight.node.profiles import build_node
from preflight.node.record import write_record

from .conftest import MachineMaker
from .test_exec import FLAGS


def write_script(
    folder: Path, flags: str = "", launcher: str = "--nproc-per-node 8", connections: str = "1"
) -> Path:
    script = folder / "train.sh"
    line = f"torchrun {launcher} pretrain_gpt.py {FLAGS} {flags}\n"
    export = f"export CUDA_DEVICE_MAX_CONNECTIONS={connections}\n" if connections else ""
    script.write_text(f"#!/bin/bash\n{export}{line}")
    return script


def check(installed: Path, folder: Path, node: str | None, *words: str) -> tuple[dict[str, Any], int]:
    """`preflight check` with a recorded node; the document and the exit status."""
    options = []
    if node is not None:
        record = folder / "node.json"
        record.write_text(write_record(build_node(node)))
        options = ["--node", str(record)]
    command = [sys.executable, "-m", "preflight", "check", "--isolated", "--target", "0.15.0", "--closed-env"]
    done = subprocess.run(
        [*command, "--output", "json", *options, *words, "train.sh"],
        cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(installed)},
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout), done.returncode


def rules_of(document: dict[str, Any], severity: str = "error") -> set[str]:
    return {f["rule"] for f in document["findings"] if f["severity"] == severity}


def undecided(document: dict[str, Any]) -> set[str]:
    return {entry["rule"] for entry in document["undecided"]}


TP8 = "--tensor-model-parallel-size 8 --sequence-parallel"
TP16 = "--tensor-model-parallel-size 16 --sequence-parallel"
FOUR_NODES = "--nnodes 4 --rdzv-backend c10d --rdzv-endpoint n0:29500 --nproc-per-node 4"


@pytest.mark.parametrize(
    ("node", "flags", "launcher", "errors"),
    [
        ("hgx-h100", TP8, "--nproc-per-node 8", set()),
        ("hgx-a100-2x4", TP8, "--nproc-per-node 8", {"tp-beyond-node-nvlink"}),
        ("a100-pcie-pairs", TP8, "--nproc-per-node 8", {"tp-beyond-node-nvlink"}),
        ("l40s", "--tensor-model-parallel-size 2 --sequence-parallel", "--nproc-per-node 8", {"tp-beyond-node-nvlink"}),
        ("gb200-nvl72-tray", TP16, FOUR_NODES, set()),
        ("hgx-h100", TP16, FOUR_NODES, {"tp-beyond-node-nvlink"}),
        ("hgx-h100-x4", "", "--nproc-per-node 8", {"processes-beyond-gpus"}),
        ("hgx-h100 gpus.2.errors.handle=15", TP8, "--nproc-per-node 8", {"gpu-lost"}),
    ],
    ids=[
        "TP 8 on one board", "TP 8 over two islands", "TP 8 over pairs", "TP 2 without NVLink", "TP 16 in a rack",
        "TP 16 over four boards", "more processes than GPUs", "unknown domains blame nobody",
    ],
)  # fmt: skip
def test_parallel_sizes_against_the_node(
    installed: Path, tmp_path: Path, node: str, flags: str, launcher: str, errors: set[str]
) -> None:
    write_script(tmp_path, flags, launcher)
    document, _ = check(installed, tmp_path, node)
    assert rules_of(document) == errors


def test_the_node_decides_what_was_undecided(installed: Path, tmp_path: Path) -> None:
    """fp8 needs a capability that only the GPU can tell."""
    write_script(tmp_path, "--fp8-format hybrid --transformer-impl transformer_engine")
    document, status = check(installed, tmp_path, None)
    assert "fp8-gpu" in undecided(document)
    assert status == 0
    document, status = check(installed, tmp_path, "hgx-a100")
    assert rules_of(document) == {"fp8-gpu"}
    assert status == 1
    document, status = check(installed, tmp_path, "hgx-h100")
    assert "fp8-gpu" not in undecided(document) | rules_of(document)
    assert status == 0


def test_bf16_against_the_node(installed: Path, tmp_path: Path) -> None:
    write_script(tmp_path)
    document, _ = check(installed, tmp_path, "dgx-1-v100")
    assert "bf16-gpu" in rules_of(document) | rules_of(document, "warning")
    document, _ = check(installed, tmp_path, "hgx-a100")
    assert "bf16-gpu" not in rules_of(document) | rules_of(document, "warning")


def test_one_connection_is_asked_of_hopper_and_not_of_blackwell(installed: Path, tmp_path: Path) -> None:
    write_script(tmp_path, TP8, connections="")
    hopper, _ = check(installed, tmp_path, "hgx-h100")
    blackwell, _ = check(installed, tmp_path, "hgx-b200")
    named = {
        f["rule"]
        for f in hopper["findings"]
        if "CUDA_DEVICE_MAX_CONNECTIONS" in f["message"] and f["severity"] == "error"
    }
    assert named
    assert not named & rules_of(blackwell)


@pytest.mark.parametrize(
    ("node", "flags", "status"),
    [
        ("hgx-h100", TP8, 0),
        ("hgx-h100 gpus.3.remap_pending=1", TP8, 4),
        ("hgx-h100 gpus.3.remap_pending=1", "--tensor-model-parallel-size 3 --sequence-parallel", 1),
        ("hgx-h100", "--tensor-model-parallel-size 3 --sequence-parallel", 1),
    ],
    ids=["both are good", "only the node is bad", "both are bad", "only the script is bad"],
)
def test_who_is_blamed(installed: Path, tmp_path: Path, node: str, flags: str, status: int) -> None:
    write_script(tmp_path, flags)
    document, got = check(installed, tmp_path, node)
    assert got == status
    for finding in document["findings"]:
        about_node = finding["rule"] == "row-remap-pending"
        assert (finding["node"] is not None) == about_node


def test_a_silent_node_does_not_keep_the_script_from_being_checked(machine: MachineMaker) -> None:
    there = machine("hgx-h100", init="!9")
    write_script(there.folder, "--tensor-model-parallel-size 3 --sequence-parallel")
    done = there.run("node", "--isolated", "--output", "json", "train.sh")
    document = json.loads(done.stdout)
    assert done.returncode == 3
    assert "no NVIDIA driver is loaded" in document["node_error"]
    assert rules_of(document)


def test_a_probed_node_and_its_record_say_the_same(machine: MachineMaker) -> None:
    there = machine("hgx-a100-2x4")
    write_script(there.folder, TP8)
    probed = there.run("node", "--isolated", "--output", "json", "--record", "node.json", "train.sh")
    replayed = there.run("check", "--isolated", "--output", "json", "--node", "node.json", "train.sh")
    assert probed.returncode == replayed.returncode == 1
    assert json.loads(probed.stdout)["findings"] == json.loads(replayed.stdout)["findings"]
