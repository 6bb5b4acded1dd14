"""Turn a `Node` into the profile that the fake libnvidia-ml.so.1 answers from, and into a folder that stands for /.

In: a node (a shipped profile, with planted changes).  Out: `key=value` lines, a folder with PCI devices.
"""

from __future__ import annotations

from pathlib import Path

from preflight.node.model import Gpu, Node

FIELDS = (
    "name uuid serial bus_id vbios part memory_total memory_used memory_reserved ecc ecc_pending ecc_uncorrected "
    "remapped_uncorrected remap_pending remap_failure retired_pending recovery_action clock_reasons persistence "
    "compute_mode mig mig_pending power_limit power_default pcie_width pcie_width_maximum cpus numa_nodes"
)
PLAIN = FIELDS.split()


def write_profile(node: Node, **extra: object) -> str:
    """The lines that make the fake answer like this node; `extra` has more lines, with `__` for a dot."""
    lines = [f"count={len(node.gpus)}"]
    told = {name: getattr(node, name) for name in ("driver", "nvml", "cuda")}
    lines += [f"{name}={value}" for name, value in told.items() if value is not None]
    for at, gpu in enumerate(node.gpus):
        lines += [f"gpu.{at}.{line}" for line in _gpu_lines(gpu)]
        for name, matrix in (("ancestor", node.ancestors), ("peer", node.peers)):
            for other, value in enumerate(matrix[at] if matrix else ()):
                if value is not None:
                    lines.append(f"gpu.{at}.{name}.{other}={value}")
    lines += [f"{name.replace('__', '.')}={value}" for name, value in extra.items()]
    return "\n".join(lines) + "\n"


def _gpu_lines(gpu: Gpu) -> list[str]:
    lines = [f"{name}={getattr(gpu, name)}" for name in PLAIN if getattr(gpu, name) is not None]
    if gpu.remap_pending is not None:
        lines.append("remap_corrected=0")
    if gpu.capability is not None:
        lines += [f"capability.major={gpu.capability[0]}", f"capability.minor={gpu.capability[1]}"]
    if gpu.links:
        lines.append(f"link_count={gpu.link_count}")
    for number, link in enumerate(gpu.links):
        for name in ("state", "version", "remote_type", "remote"):
            if getattr(link, name) is not None:
                lines.append(f"link.{number}.{name}={getattr(link, name)}")
    if gpu.fabric is not None:
        for name in ("state", "status", "uuid", "clique", "health_mask", "health_summary"):
            if getattr(gpu.fabric, name) is not None:
                lines.append(f"fabric.{name}={getattr(gpu.fabric, name)}")
    if gpu.processes:
        lines.append("processes=" + ",".join(f"{p.pid}:{p.memory}" for p in gpu.processes))
    for name, code in gpu.errors.items():
        lines.append(f"lost={code}" if code == 15 and name == "lost" else f"{name}=!{code}")
    return lines


def write_root(folder: Path, bus_ids: tuple[str, ...]) -> Path:
    """A folder for PREFLIGHT_NODE_ROOT whose sysfs shows these NVIDIA GPUs, and a bridge that is none."""
    devices = folder / "sys" / "bus" / "pci" / "devices"
    for bus_id, kind in (*((bus_id, "0x030200") for bus_id in bus_ids), ("0000:00:00.0", "0x060400")):
        device = devices / bus_id
        device.mkdir(parents=True, exist_ok=True)
        (device / "vendor").write_text("0x10de\n")
        (device / "class").write_text(f"{kind}\n")
    return folder
