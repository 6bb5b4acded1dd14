"""The half of a node that is not NVML's: PCI devices, container, scheduler, installed packages.

In: /sys, /proc and the environment.  Out: plain values for a `Node`.  Nothing here touches the driver, so
nothing here can hang with it.  `PREFLIGHT_NODE_ROOT` names a folder that stands in for `/` where the host's
file system is mounted elsewhere (a Kubernetes init container).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

NVIDIA = "0x10de"
DISPLAY_CLASSES = ("0x0300", "0x0302")
SCHEDULER_VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "SLURM_STEP_GPUS",
    "SLURM_JOB_GPUS",
    "SLURM_GPUS_ON_NODE",
    "SLURM_JOB_ID",
    "SLURM_PROCID",
    "SLURMD_NODENAME",
    "SLURM_SCRIPT_CONTEXT",
    "SLURM_GPUS_PER_TASK",
    "SLURM_NTASKS_PER_GPU",
    "SLURM_TRES_PER_TASK",
    "SLURM_TRES_BIND",
    "SLURM_GPU_BIND",
    "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_TASKS_PER_NODE",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
)
PACKAGES = {
    "torch": "torch",
    "transformer_engine": "transformer-engine",
    "megatron_core": "megatron-core",
    "nccl": "nvidia-nccl",
    "cudnn": "nvidia-cudnn",
    "cuda_runtime": "nvidia-cuda-runtime",
}
"""Facts about software, and how the distribution that brings each is named (a `-cu12` may follow)."""


def host_name(environment: Mapping[str, str]) -> str:
    """The name under which the scheduler knows this node, else the machine's own."""
    return environment.get("SLURMD_NODENAME") or os.uname().nodename


def read_machine(environment: Mapping[str, str]) -> dict[str, Any]:
    """Keyword values for a `Node`."""
    root = environment.get("PREFLIGHT_NODE_ROOT") or "/"
    scheduler = {name: environment[name] for name in SCHEDULER_VARIABLES if name in environment}
    in_job = "SLURM_JOB_ID" in scheduler and "SLURM_PROCID" in scheduler
    return {
        "host": host_name(environment),
        "pci": read_pci(root),
        "scheduler": scheduler,
        "narrowed": read_narrowing(root, environment, in_job),
        "in_job": in_job,
        "software": read_software(),
        "imex_channel": read_imex(root),
    }


def read_pci(root: str) -> tuple[str, ...]:
    """Bus ids of the NVIDIA GPUs on the bus that NVML should list, in order.

    Not those that another driver has on purpose (vfio-pci passes them to virtual machines), nor virtual functions.
    """
    folder = os.path.join(root, "sys/bus/pci/devices")
    found = []
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ()
    for name in names:
        device = os.path.join(folder, name)
        if _line(os.path.join(device, "vendor")) != NVIDIA:
            continue
        if _line(os.path.join(device, "class"))[:6] in DISPLAY_CLASSES and not _is_elsewhere(device):
            found.append(name.lower())
    return tuple(found)


def _is_elsewhere(device: str) -> bool:
    """Whether a device is a virtual function, or belongs to another driver than NVIDIA's."""
    if os.path.lexists(os.path.join(device, "physfn")):
        return True
    try:
        driver = os.path.basename(os.readlink(os.path.join(device, "driver")))
    except OSError:
        return False  # no driver at all: NVIDIA's has lost it, or was never loaded
    return driver != "nvidia"


def read_narrowing(root: str, environment: Mapping[str, str], in_job: bool) -> str | None:
    """Why this process may see fewer GPUs than the machine has, or None."""
    if os.path.exists(os.path.join(root, ".dockerenv")) or os.path.exists(
        os.path.join(root, "run/.containerenv")
    ):
        return "inside a container"
    if environment.get("KUBERNETES_SERVICE_HOST") or environment.get("APPTAINER_CONTAINER"):
        return "inside a container"
    if environment.get("NVIDIA_VISIBLE_DEVICES", "all") not in ("all", ""):
        return "NVIDIA_VISIBLE_DEVICES limits the GPUs"
    if in_job:
        return "inside a job of the scheduler"
    return None


def read_imex(root: str) -> bool | None:
    """Whether an IMEX channel device is there; None where the driver has no such devices at all."""
    folder = os.path.join(root, "dev/nvidia-caps-imex-channels")
    try:
        return any(name.startswith("channel") for name in os.listdir(folder))
    except FileNotFoundError:
        return False if os.path.exists(os.path.join(root, "dev/nvidiactl")) else None
    except OSError:
        return None


def read_software() -> dict[str, str]:
    """Versions of installed packages, from the names of their metadata folders; nothing is imported."""
    import sys

    found: dict[str, str] = {"python": "{}.{}.{}".format(*sys.version_info[:3])}
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if not name.endswith(".dist-info"):
                continue
            package, _, version = name[: -len(".dist-info")].partition("-")
            package = package.lower().replace("_", "-")
            for fact, wanted in PACKAGES.items():
                if fact not in found and package in (
                    wanted,
                    wanted + "-cu12",
                    wanted + "-cu13",
                    wanted + "-cu11",
                ):
                    found[fact] = version
    if _has_compatibility():
        found["cuda_compatibility"] = "yes"
    return found


def _has_compatibility() -> bool:
    """CUDA's forward compatibility libraries, which let an older driver run a newer CUDA."""
    try:
        return any(name.startswith("libcuda.so") for name in os.listdir("/usr/local/cuda/compat"))
    except OSError:
        return False


def process_name(pid: int) -> str | None:
    """The command of a process, as far as /proc shows it."""
    return _line(f"/proc/{pid}/comm") or None


def _line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.readline().strip()
    except OSError:
        return ""
