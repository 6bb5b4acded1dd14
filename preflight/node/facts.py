"""What rules may ask about a node: the facts `node_*`.

In: a `Node`.  Out: facts by name.  A node that gave no answer has only `node_known` (false): rules about nodes then do
not apply.  What the readings do not allow to know (the NVLink domains of a node with a lost GPU) is unknown, with
the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from preflight.configuration.model import Value
from preflight.node import health
from preflight.node.model import Gpu, Node
from preflight.node.topology import Domain, Topology, read_topology
from preflight.record import NamedTuple
from preflight.targets.releases import read_numbers

GIB = 1 << 30


BINDINGS = (
    "SLURM_GPUS_PER_TASK",
    "SLURM_NTASKS_PER_GPU",
    "SLURM_TRES_PER_TASK",
    "SLURM_TRES_BIND",
    "SLURM_GPU_BIND",
)
"""Variables of a job step whose tasks each see a part of what the step was given."""


class View(NamedTuple):
    """A node as the formulas see it: `visible` are the GPUs that a job started here gets."""

    node: Node
    topology: Topology
    visible: tuple[Gpu, ...]


class Doubt(NamedTuple):
    """A fact that the readings do not settle, and why."""

    text: str


class Entry(NamedTuple):
    """One fact: its type, unit, doc, and how it is worked out."""

    type: str
    unit: str | None
    doc: str
    formula: Callable[[View], Value | Doubt]


def node_facts(probe: Node | None) -> dict[str, Value | Doubt]:
    """All facts of a node by name."""
    if probe is None or probe.silence is not None:
        return {"node_known": False}
    view = View(probe, read_topology(probe), list_visible(probe))
    return {name: entry.formula(view) for name, entry in ENTRIES.items()}


def list_visible(node: Node) -> tuple[Gpu, ...]:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves, in its order; like CUDA, it stops at the first that is none."""
    text = node.scheduler.get("CUDA_VISIBLE_DEVICES")
    present = node.present
    if text is None:
        return present
    found: list[Gpu] = []
    for word in text.split(","):
        word = word.strip()
        if word.isdigit() and int(word) < len(present):
            gpu = present[int(word)]
        elif word.startswith(("GPU-", "MIG-")):
            matching = [gpu for gpu in present if (gpu.uuid or "").startswith(word)]
            if len(matching) != 1:
                break
            gpu = matching[0]
        else:
            break
        found.append(gpu)
    return tuple(found)


def count_scheduled(node: Node) -> int | None:
    """How many GPUs the scheduler gave to this process; None where it does not say, or gave each task its own."""
    if is_partial(node):
        return None
    for name in ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS"):
        text = node.scheduler.get(name)
        if text:
            return count_list(text)
    text = node.scheduler.get("SLURM_GPUS_ON_NODE", "")
    return int(text) if text.isdigit() else None


def is_partial(node: Node) -> bool:
    """Whether this is one of several tasks on the node, each of which may see only its own GPUs."""
    known = node.scheduler
    if node.in_job and any(name in known for name in BINDINGS):
        return True
    tasks = (
        known.get("SLURM_STEP_TASKS_PER_NODE", known.get("SLURM_TASKS_PER_NODE", "")) if node.in_job else ""
    )
    others = (known.get("OMPI_COMM_WORLD_LOCAL_SIZE", ""), known.get("MPI_LOCALNRANKS", ""))
    counts = [part.partition("(")[0] for part in (*tasks.split(","), *others)]
    return any(count.isdigit() and int(count) > 1 for count in counts)


def count_list(text: str) -> int | None:
    """The length of `0,2,4-7`; None where it is written in another way."""
    total = 0
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        if not low.isdigit() or (dash and not high.isdigit()):
            return None
        total += int(high) - int(low) + 1 if dash else 1
    return total


def _versions(text: str | None) -> tuple[int, ...] | None:
    return read_numbers(text or "") or None


def _cuda(number: int | None) -> tuple[int, ...] | None:
    return None if number is None else (number // 1000, number % 1000 // 10)


def _runtime(view: View) -> Value:
    """The CUDA that the installed PyTorch brings: from its runtime package, else from its local version."""
    found = _versions(view.node.software.get("cuda_runtime"))
    if found is not None:
        return found[:2]
    local = view.node.software.get("torch", "").partition("+cu")[2]
    return (int(local[:-1]), int(local[-1])) if local.isdigit() and len(local) >= 3 else None


PARTIAL = Doubt("one of several tasks on the node may see only its own GPUs")


def _visible_count(view: View) -> Value | Doubt:
    return PARTIAL if is_partial(view.node) else len(view.visible)


def _domains(view: View) -> tuple[tuple[Domain, int], ...] | Doubt:
    """The domains with the number of visible GPUs in each."""
    if is_partial(view.node):
        return PARTIAL
    if view.topology.domains is None:
        return Doubt(view.topology.doubt or "the NVLink domains are not known")
    visible = {gpu.number for gpu in view.visible}
    counted = ((domain, len(visible.intersection(domain.members))) for domain in view.topology.domains)
    return tuple((domain, count) for domain, count in counted if count)


def _domain_sizes(view: View) -> Value | Doubt:
    domains = _domains(view)
    return domains if isinstance(domains, Doubt) else tuple(count for _, count in domains)


def _smallest_domain(view: View) -> Value | Doubt:
    """What a tensor-parallel group can count on; a domain that spans nodes is as large as the product allows."""
    domains = _domains(view)
    if isinstance(domains, Doubt):
        return domains
    return min((max(count, _span(view, domain)) for domain, count in domains), default=None)


def _span(view: View, domain: Domain) -> int:
    if domain.kind != "fabric":
        return 0
    from preflight.node.profiles import find_product

    product = find_product(view.node.gpus[0].name if view.node.gpus else None)
    return product.domain if product is not None else 72


def _spans(view: View) -> Value | Doubt:
    domains = _domains(view)
    return domains if isinstance(domains, Doubt) else any(domain.kind == "fabric" for domain, _ in domains)


def _complete(view: View) -> Value | Doubt:
    domains = _domains(view)
    return domains if isinstance(domains, Doubt) else all(domain.complete for domain, _ in domains)


def _domain_numbers(view: View) -> Value | Doubt:
    domains = _domains(view)
    if isinstance(domains, Doubt):
        return domains
    numbers = {index: number for number, (domain, _) in enumerate(domains) for index in domain.members}
    return tuple(numbers[gpu.number] for gpu in view.visible if gpu.number in numbers)


def _names(view: View) -> tuple[str, ...]:
    return tuple(gpu.name for gpu in view.node.present if gpu.name is not None)


def _one_name(view: View) -> Value:
    names = set(_names(view))
    return names.pop() if len(names) == 1 else None


def _cliques(view: View) -> Value:
    keys = {gpu.fabric.key for gpu in view.node.usable if gpu.fabric is not None and gpu.fabric.key}
    return len(keys)


def _memory(view: View) -> Value:
    return tuple(round(gpu.memory_total / GIB, 1) for gpu in view.visible if gpu.memory_total)


def _capabilities(view: View) -> Value:
    return tuple(
        major + minor / 10 for major, minor in (gpu.capability or (0, 0) for gpu in view.visible) if major
    )


def _of_node(reading: Callable[[Node], Value]) -> Callable[[View], Value]:
    return lambda view: reading(view.node)


ENTRIES: Mapping[str, Entry] = {
    "node_known": Entry("bool", None, "a probe or a record of the node is at hand", lambda view: True),
    "node_measured": Entry(
        "bool", None, "the node was probed, rather than taken from a plausible profile", _of_node(lambda n: n.measured)
    ),
    "node_host": Entry("str", None, "name of the node", _of_node(lambda n: n.host)),
    "node_gpu_count": Entry("int", "GPUs", "GPUs that a job started on the node gets", _visible_count),
    "node_gpu_total": Entry("int", "GPUs", "GPUs that NVML lists for us", lambda view: len(view.node.present)),
    "node_pci_gpu_count": Entry(
        "int", "GPUs", "NVIDIA GPUs on the PCI bus; none where the bus shows none, as in some containers",
        lambda view: len(view.node.pci) or None,
    ),
    "node_expected_gpus": Entry(
        "int", "GPUs", "GPUs that the node should have, as the caller says", _of_node(lambda n: n.expected_gpus)
    ),
    "node_scheduled_gpus": Entry("int", "GPUs", "GPUs that the scheduler gave to the job", _of_node(count_scheduled)),
    "node_narrowed": Entry(
        "str", None, "why fewer GPUs than the machine has may be visible", _of_node(lambda n: n.narrowed)
    ),
    "node_in_job": Entry("bool", None, "the probe ran inside a job step", _of_node(lambda n: n.in_job)),
    "node_gpu_name": Entry("str", None, "product name of the GPUs; none where they differ", _one_name),
    "node_products": Entry(
        "list[str]", None, "the different products on the node", lambda view: tuple(dict.fromkeys(_names(view)))
    ),
    "node_compute_capability": Entry("list[float]", None, "compute capability of each GPU", _capabilities),
    "node_gpu_memory": Entry("list[float]", "GiB", "memory of each GPU", _memory),
    "node_driver_version": Entry("version", None, "driver version", _of_node(lambda n: _versions(n.driver))),
    "node_cuda_version": Entry(
        "version", None, "newest CUDA version that the driver supports", _of_node(lambda n: _cuda(n.cuda))
    ),
    "node_cuda_runtime_version": Entry("version", None, "CUDA version of the installed PyTorch", _runtime),
    "node_cuda_compatibility": Entry(
        "bool", None, "a forward compatibility package of CUDA is installed",
        _of_node(lambda n: "cuda_compatibility" in n.software),
    ),
    "node_torch_version": Entry("str", None, "installed PyTorch", _of_node(lambda n: n.software.get("torch"))),
    "node_te_version": Entry(
        "str", None, "installed TransformerEngine", _of_node(lambda n: n.software.get("transformer_engine"))
    ),
    "node_nccl_version": Entry("str", None, "installed NCCL", _of_node(lambda n: n.software.get("nccl"))),
    "node_nvlink_domain": Entry("int", "GPUs", "GPUs of the smallest NVLink domain that a job gets", _smallest_domain),
    "node_nvlink_domains": Entry("list[int]", "GPUs", "visible GPUs in each NVLink domain of the node", _domain_sizes),
    "node_nvlink_spans_nodes": Entry("bool", None, "an NVLink domain goes beyond this node", _spans),
    "node_nvlink_complete": Entry(
        "bool", None, "every two GPUs of a domain are joined directly or by a switch", _complete
    ),
    "node_domain_of_gpu": Entry("list[int]", None, "number of the NVLink domain of each visible GPU", _domain_numbers),
    "node_gpu_numbers": Entry(
        "list[int]", None, "0, 1, ... for the visible GPUs", lambda view: tuple(range(len(view.visible)))
    ),
    "node_fabric_cliques": Entry("int", None, "different NVLink cliques that the fabric gave to one node", _cliques),
    "node_imex_channel": Entry(
        "bool", None, "an IMEX channel device is present", _of_node(lambda n: n.imex_channel)
    ),
    "node_gpus_lost": Entry("list[int]", None, "GPUs that fell off the bus", _of_node(health.lost)),
    "node_gpus_failing": Entry("list[str]", None, "GPUs that answer with errors", _of_node(health.failing)),
    "node_gpus_to_recover": Entry(
        "list[str]", None, "GPUs for which the driver asks for a recovery", _of_node(health.to_recover)
    ),
    "node_gpus_remap_pending": Entry(
        "list[int]", None, "GPUs with a row remap or page retirement that waits for a reset",
        _of_node(health.remap_pending),
    ),
    "node_gpus_remap_failed": Entry("list[int]", None, "GPUs whose row remap failed", _of_node(health.remap_failed)),
    "node_gpus_ecc_uncorrected": Entry(
        "list[str]", None, "GPUs with uncorrected memory errors that wait for a reset", _of_node(health.uncorrected)
    ),
    "node_gpus_ecc_contained": Entry(
        "list[str]", None, "GPUs with uncorrected memory errors that were contained",
        _of_node(health.uncorrected_contained),
    ),
    "node_gpus_ecc_off": Entry("list[int]", None, "GPUs with ECC switched off", _of_node(health.ecc_off)),
    "node_gpus_slowed": Entry("list[str]", None, "GPUs that the hardware slows down", _of_node(health.slowed)),
    "node_gpus_warm": Entry(
        "list[str]", None, "GPUs that the driver slows down for heat", _of_node(health.slowed_by_software)
    ),
    "node_gpus_mig": Entry("list[int]", None, "GPUs in MIG mode", _of_node(health.mig_on)),
    "node_gpus_mig_changing": Entry(
        "list[int]", None, "GPUs whose MIG mode changes at the next reset", _of_node(health.mig_changing)
    ),
    "node_gpus_prohibited": Entry("list[int]", None, "GPUs that take no compute jobs", _of_node(health.prohibited)),
    "node_gpus_exclusive": Entry("list[int]", None, "GPUs that take one process only", _of_node(health.exclusive)),
    "node_gpus_without_persistence": Entry(
        "list[int]", None, "GPUs without persistence mode", _of_node(health.without_persistence)
    ),
    "node_gpus_power_limited": Entry(
        "list[str]", None, "GPUs with a power limit below their default", _of_node(health.power_limited)
    ),
    "node_gpus_narrow_bus": Entry("list[str]", None, "GPUs with fewer PCIe lanes than they have",
                                  _of_node(health.narrow_bus)),
    "node_gpus_links_down": Entry("list[str]", None, "GPUs with NVLinks that are down", _of_node(health.links_down)),
    "node_gpus_all_links_down": Entry(
        "list[int]", None, "GPUs that belong on NVSwitches and have no NVLink up", _of_node(health.all_links_down)
    ),
    "node_gpus_without_nvlink": Entry(
        "list[int]", None, "GPUs outside of NVLink while others of their kind are in it",
        lambda view: health.without_nvlink(view.node, view.topology),
    ),
    "node_gpus_fabric_not_ready": Entry(
        "list[str]", None, "GPUs that the fabric manager has not registered", _of_node(health.fabric_not_ready)
    ),
    "node_gpus_fabric_unhealthy": Entry(
        "list[str]", None, "GPUs whose fabric reports bad health", _of_node(health.fabric_unhealthy)
    ),
    "node_gpus_busy": Entry("list[str]", None, "GPUs with processes of others", _of_node(health.busy)),
    "node_gpus_memory_taken": Entry(
        "list[str]", None, "GPUs with a tenth or more of their memory in use", _of_node(health.memory_taken)
    ),
    "node_gpus_memory_unexplained": Entry(
        "list[str]", None, "GPUs with memory in use that no visible process explains",
        _of_node(health.memory_unexplained),
    ),
    "node_gpus_odd_vbios": Entry(
        "list[str]", None, "GPUs with another VBIOS than most", lambda view: health.odd_ones(view.node, _vbios)
    ),
    "node_gpus_odd_memory": Entry(
        "list[str]", "MiB", "GPUs with another memory size than most",
        lambda view: health.odd_ones(view.node, _mebibytes)
    ),
    "node_gpus_odd_links": Entry(
        "list[str]", "links", "GPUs with another number of NVLinks than most",
        lambda view: health.odd_ones(view.node, _link_count),
    ),
}  # fmt: skip


def _vbios(gpu: Gpu) -> object:
    return gpu.vbios


def _mebibytes(gpu: Gpu) -> object:
    return None if gpu.memory_total is None else gpu.memory_total >> 20


def _link_count(gpu: Gpu) -> object:
    return gpu.link_count


NODE_FACTS: Mapping[str, tuple[str, str | None, str]] = {
    name: (entry.type, entry.unit, entry.doc) for name, entry in ENTRIES.items()
}
"""Name -> type, unit, doc: what the catalogue of facts takes over."""
