"""Which GPUs of a node something is wrong with, one list for each kind of fault.

In: a `Node` and its topology.  Out: lists of GPU indices, or of short texts that begin with the index where there is
more to say.  Nothing is judged here: rules say how bad each list is.  A reading that is not there puts no GPU on a
list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from preflight.node.model import GPU_IS_LOST, NO_PERMISSION, REMOTE_SWITCH, Fabric, Gpu, Node
from preflight.node.nvml import NOT_NVML, fold_numbers
from preflight.node.topology import Topology

GIB = 1 << 30
IDLE_MEMORY = 1 * GIB
"""Memory that an idle GPU may show as used: what the driver keeps, counted apart only by newer drivers."""
MUCH_MEMORY = 0.1
"""Part of a GPU's memory whose use leaves too little for a job."""

HARDWARE_SLOWDOWNS = {0x08: "hardware slowdown", 0x40: "hardware thermal slowdown", 0x80: "power brake"}
SOFTWARE_SLOWDOWNS = {0x20: "software thermal slowdown"}
RECOVERIES = {
    1: "reset the GPU",
    2: "reboot the node",
    3: "drain peer-to-peer traffic",
    4: "drain and reset the GPU",
    5: "restart IMEX",
    6: "reset the bus",
    7: "reboot the system",
}
HEALTH_PARTS = (
    (0, "degraded bandwidth"),
    (2, "route recovery"),
    (4, "unhealthy route"),
    (6, "access timeout"),
)
CONFIGURATION_SHIFT, CONFIGURATION_FINE = 8, (0, 1)


def _pick(node: Node, test: Callable[[Gpu], object]) -> tuple[int, ...]:
    return tuple(gpu.number for gpu in node.present if test(gpu))


def _fold(texts: list[tuple[int, str]]) -> tuple[str, ...]:
    """`0-7 (not started)` for equal texts of several GPUs."""
    groups: dict[str, list[int]] = {}
    for number, text in texts:
        groups.setdefault(text, []).append(number)
    return tuple(f"{fold_numbers(numbers)} ({text})" for text, numbers in groups.items())


def lost(node: Node) -> tuple[int, ...]:
    return _pick(node, lambda gpu: gpu.lost)


def failing(node: Node) -> tuple[str, ...]:
    """GPUs that answer some question with an error other than being lost."""
    found = []
    for gpu in node.present:
        errors = {
            name: code
            for name, code in gpu.errors.items()
            if code not in (GPU_IS_LOST, NO_PERMISSION, NOT_NVML)
        }
        if errors and not gpu.lost:
            name, code = next(iter(errors.items()))
            found.append((gpu.number, f"{name}: NVML error {code}"))
    return _fold(found)


def to_recover(node: Node) -> tuple[str, ...]:
    return _fold(
        [
            (gpu.number, RECOVERIES.get(gpu.recovery_action, f"action {gpu.recovery_action}"))
            for gpu in node.present
            if gpu.recovery_action
        ]
    )


def remap_pending(node: Node) -> tuple[int, ...]:
    return _pick(node, lambda gpu: gpu.remap_pending or gpu.retired_pending)


def remap_failed(node: Node) -> tuple[int, ...]:
    return _pick(node, lambda gpu: gpu.remap_failure)


def uncorrected(node: Node) -> tuple[str, ...]:
    """Uncorrected memory errors since the last reset that the GPU does not say it has dealt with."""
    return _fold(
        [
            (gpu.number, str(gpu.ecc_uncorrected))
            for gpu in node.present
            if gpu.ecc_uncorrected and not _contained(gpu)
        ]
    )


def uncorrected_contained(node: Node) -> tuple[str, ...]:
    """Uncorrected memory errors of a GPU that says that nothing is left to do."""
    return _fold(
        [
            (gpu.number, str(gpu.ecc_uncorrected))
            for gpu in node.present
            if gpu.ecc_uncorrected and _contained(gpu)
        ]
    )


def _contained(gpu: Gpu) -> bool:
    return gpu.recovery_action == 0 and not gpu.remap_pending and not gpu.remap_failure


def ecc_off(node: Node) -> tuple[int, ...]:
    return _pick(node, lambda gpu: gpu.ecc == 0)


def slowed(node: Node) -> tuple[str, ...]:
    return _slowdowns(node, HARDWARE_SLOWDOWNS)


def slowed_by_software(node: Node) -> tuple[str, ...]:
    return _slowdowns(node, SOFTWARE_SLOWDOWNS)


def _slowdowns(node: Node, meanings: dict[int, str]) -> tuple[str, ...]:
    found = []
    for gpu in node.present:
        reasons = [text for bit, text in meanings.items() if (gpu.clock_reasons or 0) & bit]
        if reasons:
            found.append((gpu.number, ", ".join(reasons)))
    return _fold(found)


def mig_on(node: Node) -> tuple[int, ...]:
    return _pick(node, lambda gpu: gpu.mig)


def mig_changing(node: Node) -> tuple[int, ...]:
    return _pick(
        node, lambda gpu: gpu.mig is not None and gpu.mig_pending is not None and gpu.mig != gpu.mig_pending
    )


def prohibited(node: Node) -> tuple[int, ...]:
    return _pick(node, lambda gpu: gpu.compute_mode == 2)


def exclusive(node: Node) -> tuple[int, ...]:
    return _pick(node, lambda gpu: gpu.compute_mode in (1, 3))


def without_persistence(node: Node) -> tuple[int, ...]:
    return _pick(node, lambda gpu: gpu.persistence == 0)


def power_limited(node: Node) -> tuple[str, ...]:
    return _fold(
        [
            (gpu.number, f"{gpu.power_limit // 1000} of {gpu.power_default // 1000} W")
            for gpu in node.present
            if gpu.power_limit and gpu.power_default and gpu.power_limit < gpu.power_default
        ]
    )


def narrow_bus(node: Node) -> tuple[str, ...]:
    """Fewer PCIe lanes than the card has; the generation is no sign, since idle cards lower it."""
    return _fold(
        [
            (gpu.number, f"x{gpu.pcie_width} of x{gpu.pcie_width_maximum}")
            for gpu in node.present
            if gpu.pcie_width and gpu.pcie_width_maximum and gpu.pcie_width < gpu.pcie_width_maximum
        ]
    )


def links_down(node: Node) -> tuple[str, ...]:
    """GPUs with some NVLinks up and others down, where more should be up.

    Not every link of a chip is wired (bridged cards, export variants), so that a link that is down says nothing by
    itself: more are up on another GPU of the product, or the product on its switches uses more.  A GPU without any link
    up is on another list.
    """
    most: dict[str | None, int] = {}
    for gpu in node.usable:
        most[gpu.name] = max(most.get(gpu.name, 0), _count_up(gpu))
    found = []
    for gpu in node.usable:
        down = [number for number, link in enumerate(gpu.links) if link.state == 0]
        if down and 0 < _count_up(gpu) < max(most[gpu.name], _usual_links(gpu)):
            word = "link" if len(down) == 1 else "links"
            found.append((gpu.number, f"{word} {fold_numbers(down)} of {len(gpu.links)}"))
    return _fold(found)


def _count_up(gpu: Gpu) -> int:
    return sum(link.state == 1 for link in gpu.links)


def _usual_links(gpu: Gpu) -> int:
    """Links that the product uses on a board with switches; 0 where that is not known, or there is no switch."""
    from preflight.node.profiles import find_product

    product = find_product(gpu.name)
    switched = any(link.state == 1 and link.remote_type == REMOTE_SWITCH for link in gpu.links)
    return product.links if product is not None and switched else 0


def without_nvlink(node: Node, topology: Topology) -> tuple[int, ...]:
    """GPUs that stand alone while others of the same product reach each other over NVLink.

    Among bridged cards one without a bridge is no fault; among GPUs of a board it is.
    """
    if topology.domains is None:
        return ()
    from preflight.node.profiles import find_product

    names = {gpu.number: gpu.name for gpu in node.usable}
    joined = {
        names[number]
        for domain in topology.domains
        if len(domain.members) > 1
        for number in domain.members
        if domain.kind in ("switch", "fabric") or find_product(names[number]) is not None
    }
    return tuple(
        sorted(
            domain.members[0]
            for domain in topology.domains
            if domain.kind == "alone" and names[domain.members[0]] in joined
        )
    )


def all_links_down(node: Node) -> tuple[int, ...]:
    """GPUs on NVSwitches, by their product, with not a single link up: what a dead fabric manager leaves on A100."""
    from preflight.node.profiles import find_product

    found = []
    for gpu in node.usable:
        product = find_product(gpu.name)
        wired = product is not None and product.domain > 1 and "SXM" in (gpu.name or "")
        if wired and gpu.links and all(link.state == 0 for link in gpu.links):
            found.append(gpu.number)
    return tuple(found) if len(node.usable) > 1 else ()


def fabric_not_ready(node: Node) -> tuple[str, ...]:
    """GPUs whose fabric manager has not started or finished, or has failed."""
    return _fold(
        [
            (gpu.number, _fabric_state(gpu.fabric))
            for gpu in node.usable
            if gpu.fabric is not None and gpu.fabric.state in (1, 2, 3) and not gpu.fabric.registered
        ]
    )


def _fabric_state(fabric: Fabric) -> str:
    if fabric.state == 1:
        return "not started"
    return "in progress" if fabric.state == 2 else f"failed with NVML status {fabric.status}"


def fabric_unhealthy(node: Node) -> tuple[str, ...]:
    """What the fabric's health mask says, decoded: 1 in a field is bad, 2 is good, 0 is not supported."""
    found = []
    for gpu in node.usable:
        if gpu.fabric is None or not gpu.fabric.health_mask or not gpu.fabric.registered:
            continue
        mask = gpu.fabric.health_mask
        bad = [text for shift, text in HEALTH_PARTS if mask >> shift & 3 == 1]
        if mask >> CONFIGURATION_SHIFT & 15 not in CONFIGURATION_FINE:
            bad.append("incorrect configuration")
        if bad:
            found.append((gpu.number, ", ".join(bad)))
    return _fold(found)


def busy(node: Node) -> tuple[str, ...]:
    """GPUs with processes that are neither ours nor our parents'."""
    found = []
    for gpu in node.present:
        foreign = [process for process in gpu.processes or () if not process.own]
        if foreign:
            shown = ", ".join(f"{p.name} {p.pid}" if p.name else str(p.pid) for p in foreign[:3])
            found.append((gpu.number, f"{shown}{', ...' if len(foreign) > 3 else ''}"))
    return _fold(found)


def memory_taken(node: Node) -> tuple[str, ...]:
    """GPUs of whose memory a good part is in use; on Grace the page cache counts as use, so those are left out."""
    return _fold(
        [
            (gpu.number, f"{_unexplained(gpu) / GIB:.1f} of {(gpu.memory_total or 0) / GIB:.0f} GiB")
            for gpu in node.present
            if _unexplained(gpu) > MUCH_MEMORY * (gpu.memory_total or 0) and not _shares_memory(gpu)
        ]
    )


def memory_unexplained(node: Node) -> tuple[str, ...]:
    """GPUs with some memory in use that no visible process accounts for; much of it is on the other list."""
    found = []
    for gpu in node.present:
        known = sum(process.memory or 0 for process in gpu.processes or ())
        rest = _unexplained(gpu) - known
        much = rest > MUCH_MEMORY * (gpu.memory_total or 0) and not _shares_memory(gpu)
        if (
            rest > IDLE_MEMORY
            and not much
            and not any(process.memory is None for process in gpu.processes or ())
        ):
            found.append((gpu.number, f"{rest / GIB:.1f} GiB"))
    return _fold(found)


def _unexplained(gpu: Gpu) -> int:
    """Memory in use beyond what processes of our own hold."""
    own = sum(process.memory or 0 for process in gpu.processes or () if process.own)
    return (gpu.memory_used or 0) - own


def _shares_memory(gpu: Gpu) -> bool:
    return any(word in (gpu.name or "") for word in ("GH200", "GB200", "GB300"))


def odd_ones(node: Node, reading: Callable[[Gpu], object]) -> tuple[str, ...]:
    """GPUs whose reading differs from that of most others of the same product on this node."""
    found = []
    for name in dict.fromkeys(gpu.name for gpu in node.usable):
        group = [gpu for gpu in node.usable if gpu.name == name]
        counts = Counter(reading(gpu) for gpu in group)
        value, count = counts.most_common(1)[0]
        if len(group) >= 3 and count * 2 > len(group):
            found += [
                f"{g.number} ({reading(g)}, not {value})" for g in group if reading(g) != value and reading(g)
            ]
    return tuple(found)
