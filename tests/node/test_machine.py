"""The half of a probe that is not NVML's: the PCI bus, containers, the scheduler, installed packages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from preflight.node.machine import (
    host_name,
    read_imex,
    read_machine,
    read_narrowing,
    read_pci,
    read_software,
)

from .conftest import MachineMaker
from .fake import write_root


def test_the_bus_lists_gpus_and_nothing_else(tmp_path: Path) -> None:
    """Not bridges, not other vendors, not audio functions."""
    root = write_root(tmp_path, ("0000:1b:00.0", "0000:43:00.0"))
    devices = root / "sys/bus/pci/devices"
    for name, vendor, kind in (
        ("0000:00:02.0", "0x8086", "0x030000"),
        ("0000:1b:00.1", "0x10de", "0x040300"),
    ):
        (devices / name).mkdir()
        (devices / name / "vendor").write_text(vendor)
        (devices / name / "class").write_text(kind)
    assert read_pci(str(root)) == ("0000:1b:00.0", "0000:43:00.0")


def test_gpus_of_virtual_machines_are_not_missed(tmp_path: Path) -> None:
    """A GPU that vfio-pci holds and a virtual function are not NVML's; one without any driver is."""
    root = write_root(tmp_path, ("0000:1b:00.0", "0000:43:00.0", "0000:52:00.0", "0000:61:00.0"))
    devices = root / "sys/bus/pci/devices"
    (devices / "0000:1b:00.0" / "driver").symlink_to("../../../../bus/pci/drivers/nvidia")
    (devices / "0000:43:00.0" / "driver").symlink_to("../../../../bus/pci/drivers/vfio-pci")
    (devices / "0000:52:00.0" / "physfn").symlink_to("../0000:1b:00.0")
    assert read_pci(str(root)) == ("0000:1b:00.0", "0000:61:00.0")


def test_a_bus_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    assert read_pci(str(tmp_path)) == ()


@pytest.mark.parametrize(
    ("files", "environment", "in_job", "words"),
    [
        ([], {}, False, None),
        ([".dockerenv"], {}, False, "inside a container"),
        (["run/.containerenv"], {}, False, "inside a container"),
        ([], {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, False, "inside a container"),
        ([], {"NVIDIA_VISIBLE_DEVICES": "all"}, False, None),
        ([], {"NVIDIA_VISIBLE_DEVICES": "0,1"}, False, "NVIDIA_VISIBLE_DEVICES limits the GPUs"),
        ([], {}, True, "inside a job of the scheduler"),
    ],
)
def test_why_fewer_gpus_may_be_visible(
    tmp_path: Path, files: list[str], environment: dict[str, str], in_job: bool, words: str | None
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert read_narrowing(str(tmp_path), environment, in_job) == words


def test_a_prolog_is_no_job_step(tmp_path: Path) -> None:
    """It runs outside of the job's cgroup, so that the PCI bus counts."""
    root = {"PREFLIGHT_NODE_ROOT": str(tmp_path), "SLURM_JOB_ID": "7", "SLURMD_NODENAME": "n3"}
    prolog = read_machine({**root, "SLURM_SCRIPT_CONTEXT": "prolog_slurmd"})
    assert (prolog["in_job"], prolog["narrowed"], prolog["host"]) == (False, None, "n3")
    step = read_machine({**root, "SLURM_PROCID": "0"})
    assert (step["in_job"], step["narrowed"]) == (True, "inside a job of the scheduler")


def test_names() -> None:
    assert host_name({}) == os.uname().nodename
    assert host_name({"SLURMD_NODENAME": "n3"}) == "n3"


def test_imex_channels(tmp_path: Path) -> None:
    assert read_imex(str(tmp_path)) is None
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").touch()
    assert read_imex(str(tmp_path)) is False
    (tmp_path / "dev/nvidia-caps-imex-channels").mkdir()
    assert read_imex(str(tmp_path)) is False
    (tmp_path / "dev/nvidia-caps-imex-channels/channel0").touch()
    assert read_imex(str(tmp_path)) is True


def test_software_is_read_without_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "torch-2.6.0+cu124.dist-info", "transformer_engine-2.1.0.dist-info", "nvidia_nccl_cu12-2.21.5.dist-info",
        "nvidia_cuda_runtime_cu12-12.4.127.dist-info", "megatron_core-0.11.0.dist-info", "torchvision-0.2.dist-info",
    ):  # fmt: skip
        (tmp_path / name).mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    before = set(sys.modules)
    found = read_software()
    assert set(sys.modules) == before
    assert {
        name: found[name] for name in ("torch", "transformer_engine", "nccl", "cuda_runtime", "megatron_core")
    } == {
        "torch": "2.6.0+cu124",
        "transformer_engine": "2.1.0",
        "nccl": "2.21.5",
        "cuda_runtime": "12.4.127",
        "megatron_core": "0.11.0",
    }


def list_children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def test_a_child_that_hangs_does_not_outlive_its_parent(machine: MachineMaker) -> None:
    there = machine("hgx-h100", init="@60:0")
    process = subprocess.Popen(
        [sys.executable, "-m", "preflight", "node", "--isolated", "--deadline", "50"],
        env=there.environment, cwd=there.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until = time.monotonic() + 20
        while not (there.calls and list_children(process.pid)) and time.monotonic() < until:
            time.sleep(0.02)
        children = list_children(process.pid)
        assert children
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    until = time.monotonic() + 10
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(Path(f"/proc/{child}").exists() for child in children)
