"""Write the shipped node profiles: plausible nodes from documentation and public logs, none of them measured.

In: the tables below.  Out: `preflight/node/profiles/*.json` (`python tests/node/plausible.py`).  A profile that
somebody records on real hardware (`preflight node --record`) replaces its entry here.
"""

from __future__ import annotations

from pathlib import Path

from preflight.node.model import Fabric, Gpu, Link, Node
from preflight.node.record import write_record

FOLDER = Path(__file__).resolve().parents[2] / "preflight" / "node" / "profiles"
MIB = 1 << 20
ZERO = "0" * 32
NODE, SYS, PHB, PIX, PXB = 40, 50, 30, 10, 20

HYBRID_CUBE_MESH = [
    [0, 1, 1, 2, 2, 0, 0, 0],
    [1, 0, 2, 1, 0, 2, 0, 0],
    [1, 2, 0, 2, 0, 0, 1, 0],
    [2, 1, 2, 0, 0, 0, 0, 1],
    [2, 0, 0, 0, 0, 1, 1, 2],
    [0, 2, 0, 0, 1, 0, 2, 1],
    [0, 0, 1, 0, 1, 2, 0, 2],
    [0, 0, 0, 1, 2, 1, 2, 0],
]
"""Links between each two GPUs of a DGX-1 with V100."""


def buses(text: str) -> list[str]:
    return [f"0000:{part}:00.0" if len(part) == 2 else f"{part}:00.0" for part in text.split()]


def switched(version: int, count: int, switches: list[str]) -> list[Link]:
    """Links to NVSwitches, dealt out evenly."""
    return [Link(1, version, 2, switches[number * len(switches) // count]) for number in range(count)]


def direct(version: int, row: list[int], bus_ids: list[str]) -> list[Link]:
    """Links to other GPUs, as many to each as the row says."""
    return [Link(1, version, 0, bus_ids[peer]) for peer, count in enumerate(row) for _ in range(count)]


def ancestors(
    size: int, near: int, half: int = 0, pairs: int | None = None
) -> tuple[tuple[int | None, ...], ...]:
    """`near` within a socket of `half` GPUs, SYS across, `pairs` within pairs."""
    half = half or size // 2

    def cell(a: int, b: int) -> int | None:
        if a == b:
            return None
        if pairs is not None and a // 2 == b // 2:
            return pairs
        return near if a // half == b // half else SYS

    return tuple(tuple(cell(a, b) for b in range(size)) for a in range(size))


def node(
    host: str,
    name: str,
    capability: tuple[int, int],
    memory: int,
    bus_ids: list[str],
    links: list[list[Link]],
    *,
    fabric: Fabric | None = None,
    driver: str = "570.158.01",
    cuda: int = 12080,
    cpus: tuple[str, str] = ("0-55,112-167", "56-111,168-223"),
    near: int = NODE,
    pairs: int | None = None,
    vbios: str,
    power: int,
    remaps: bool = True,
    peers: bool | None = None,
    per_socket: int = 0,
) -> Node:
    size = len(bus_ids)
    per_socket = per_socket or size // 2
    gpus = tuple(
        Gpu(
            index,
            name=name,
            uuid=f"GPU-00000000-0000-4000-8000-{index:012x}",
            bus_id=bus_ids[index],
            vbios=vbios,
            capability=capability,
            memory_total=memory * MIB,
            memory_used=0,
            memory_reserved=600 * MIB,
            ecc=1,
            ecc_pending=1,
            ecc_uncorrected=0,
            remapped_uncorrected=0 if remaps else None,
            remap_pending=0 if remaps else None,
            remap_failure=0 if remaps else None,
            retired_pending=None if remaps else 0,
            recovery_action=0 if remaps else None,
            clock_reasons=1,
            persistence=1,
            compute_mode=0,
            mig=0 if capability in ((8, 0), (9, 0), (10, 0)) else None,
            mig_pending=0 if capability in ((8, 0), (9, 0), (10, 0)) else None,
            power_limit=power * 1000,
            power_default=power * 1000,
            pcie_width=16,
            pcie_width_maximum=16,
            link_count=len(links[index]),
            links=tuple(links[index]),
            fabric=fabric,
            cpus=cpus[index // per_socket],
            numa_nodes=str(index // per_socket),
            processes=(),
        )
        for index in range(size)
    )

    def joined(a: int, b: int) -> int | None:
        if a == b:
            return None
        remotes = {link.remote for link in links[a]}
        over = any(link.remote_type == 2 for link in links[a]) if peers is None else peers
        return 0 if over or bus_ids[b] in remotes else 5

    return Node(
        host=host,
        measured=False,
        driver=driver,
        nvml=f"12.{driver}",
        cuda=cuda,
        gpus=gpus,
        ancestors=ancestors(size, near, per_socket, pairs),
        peers=tuple(tuple(joined(a, b) for b in range(size)) for a in range(size)),
        pci=tuple(bus_ids),
        imex_channel=True if fabric is not None and fabric.key else None,
    )


def pairs(size: int) -> list[list[int]]:
    return [[12 if a != b and a // 2 == b // 2 else 0 for b in range(size)] for a in range(size)]


def quads(size: int, links: int) -> list[list[int]]:
    return [[links if a != b and a // 4 == b // 4 else 0 for b in range(size)] for a in range(size)]


def list_profiles() -> dict[str, Node]:
    h100 = buses("1b 43 52 61 9d c3 d1 df")
    a100 = buses("07 0f 47 4e 87 90 b7 bd")
    hopper_switches, ampere_switches = buses("07 08 09 0a"), buses("c1 c2 c3 c4 c5 c6")
    tray = buses("0008:01 0009:01 0018:01 0019:01")
    pcie = buses("17 25 33 42 98 a7 b5 c4")
    dgx1 = buses("06 07 0a 0b 85 86 89 8a")
    x4 = buses("1b 43 9d c3")
    none = Fabric(3, 0, ZERO, 0, 0, 0)
    clique = Fabric(3, 0, "5f0e6a2c91d34b7e8a41c0d2f7b39e16", 32766, 0xAA, 1)
    eight = range(8)
    return {
        "hgx-a100": node(
            "hgx-a100", "NVIDIA A100-SXM4-80GB", (8, 0), 81920, a100,
            [switched(4, 12, ampere_switches) for _ in eight], vbios="92.00.45.00.03", power=400, pairs=PXB,
            cpus=("0-63,128-191", "64-127,192-255"),
        ),
        "hgx-h100": node(
            "hgx-h100", "NVIDIA H100 80GB HBM3", (9, 0), 81559, h100,
            [switched(6, 18, hopper_switches) for _ in eight], vbios="96.00.A5.00.01", power=700, fabric=none,
        ),
        "hgx-h200": node(
            "hgx-h200", "NVIDIA H200", (9, 0), 143771, h100,
            [switched(6, 18, hopper_switches) for _ in eight], vbios="96.00.D9.00.01", power=700, fabric=none,
        ),
        "hgx-b200": node(
            "hgx-b200", "NVIDIA B200", (10, 0), 183359, h100,
            [switched(7, 18, hopper_switches[:2]) for _ in eight], vbios="97.00.88.00.05", power=1000, fabric=none,
        ),
        "gb200-nvl72-tray": node(
            "gb200-nvl72-tray", "NVIDIA GB200", (10, 0), 189471, tray,
            [[Link(1, 7, 2, "") for _ in range(18)] for _ in range(4)], vbios="97.00.82.00.18", power=1200,
            fabric=clique, cpus=("0-71", "72-143"),
        ),
        "hgx-h100-x4": node(
            "hgx-h100-x4", "NVIDIA H100 80GB HBM3", (9, 0), 81559, x4,
            [direct(6, row, x4) for row in quads(4, 6)], vbios="96.00.A5.00.01", power=700,
        ),
        "hgx-a100-2x4": node(
            "hgx-a100-2x4", "NVIDIA A100-SXM4-80GB", (8, 0), 81920, a100,
            [direct(4, row, a100) for row in quads(8, 4)], vbios="92.00.45.00.03", power=400,
            cpus=("0-63,128-191", "64-127,192-255"),
        ),
        "a100-pcie-pairs": node(
            "a100-pcie-pairs", "NVIDIA A100 80GB PCIe", (8, 0), 81920, pcie,
            [direct(4, row, pcie) for row in pairs(8)], vbios="92.00.68.00.01", power=300,
        ),
        "l40s": node(
            "l40s", "NVIDIA L40S", (8, 9), 46068, pcie, [[] for _ in eight], vbios="95.02.66.00.02", power=350,
        ),
        "dgx-1-v100": node(
            "dgx-1-v100", "Tesla V100-SXM2-32GB", (7, 0), 32768, dgx1,
            [direct(2, row, dgx1) for row in HYBRID_CUBE_MESH], vbios="88.00.43.00.04", power=300, remaps=False,
            driver="535.183.01", cuda=12020, near=PHB, pairs=PIX, cpus=("0-19,40-59", "20-39,60-79"),
        ),
    }  # fmt: skip


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for title, content in list_profiles().items():
        (FOLDER / f"{title}.json").write_text(write_record(content), "utf-8")
