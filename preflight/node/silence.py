"""Why NVML gives no answer, in words: an NVML code becomes a sentence and a remedy.

In: the step that failed and NVML's code.  Out: a `Silence`.
"""

from __future__ import annotations

from preflight.node.model import Silence

_SILENCES: dict[int, tuple[str, str]] = {
    9: (
        "no NVIDIA driver is loaded on this machine",
        "load the driver (modprobe nvidia), or run on a node that has GPUs",
    ),
    12: (
        "libnvidia-ml.so.1 was not found: this machine has no NVIDIA driver, or the container does not get it",
        "give the container the GPUs: --gpus all (docker), --nv (apptainer), NVIDIA_DRIVER_CAPABILITIES=all",
    ),
    18: (
        "driver and library versions do not match: the driver was updated without a reload",
        "reboot the node, or unload and load the nvidia kernel modules",
    ),
    4: (
        "no permission to use the NVIDIA driver",
        "check the permissions of /dev/nvidiactl and the job's device cgroup",
    ),
    15: (
        "a GPU has fallen off the bus, and NVML does not start",
        "drain the node and reset or reboot it; look for Xid 79 in the kernel log",
    ),
    999: (
        "NVML does not start: unknown error",
        "check that /dev/nvidiactl can be opened here (containers, device cgroups), then dmesg",
    ),
}


def explain_silence(step: str, code: int) -> Silence:
    """Why NVML does not answer, in words."""
    text, remedy = _SILENCES.get(
        code, (f"NVML does not answer: error {code}", "run nvidia-smi on the node and look at dmesg")
    )
    return Silence(step, code, text, remedy)
