"""NVLink domains of a node, and how each pair of its GPUs is connected.

In: a `Node`.  Out: `Topology`: the domains (which GPUs reach each other over NVLink), or why they are not known, and
a matrix of connections as `nvidia-smi topo -m` writes them.  A domain is only stated where all readings behind it
are clean; otherwise it stays unknown, with the GPU and the reading named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from preflight.node.model import REMOTE_GPU, REMOTE_SWITCH, Gpu, Link, Node
from preflight.record import NamedTuple

ANCESTORS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""NVML's common ancestor as `nvidia-smi topo -m` writes it; two chips of one board share their switch (PIX)."""

LEGEND = {
    "X": "itself",
    "NV#": "a bonded set of # NVLinks",
    "PIX": "at most one PCIe bridge",
    "PXB": "several PCIe bridges, within one host bridge",
    "PHB": "a PCIe host bridge (through the CPU)",
    "NODE": "between host bridges of one NUMA node",
    "SYS": "between NUMA nodes",
}


class Domain(NamedTuple):
    """GPUs that reach each other over NVLink.

    `kind`: fabric (the fabric manager named it; it may span nodes), switch, mesh (direct links), alone.
    `complete` is False where some pair of a mesh has no direct link.
    """

    kind: str
    members: tuple[int, ...]
    key: str | None = None
    complete: bool = True


class Topology(NamedTuple):
    """`domains` is None where they are not known; `doubt` then says why."""

    domains: tuple[Domain, ...] | None
    doubt: str | None
    matrix: tuple[tuple[str, ...], ...]

    def domain_of(self, index: int) -> Domain | None:
        """The domain of a GPU, by NVML's index."""
        return next((domain for domain in self.domains or () if index in domain.members), None)


class _Peers(NamedTuple):
    """The ends of a GPU's links that are up: local GPUs with the number of links to each, and switch links."""

    gpus: Mapping[int, int]
    switched: int


def read_topology(node: Node) -> Topology:
    """Derive the domains and the matrix."""
    indices = {gpu.bus_id: gpu.number for gpu in node.gpus if gpu.bus_id}
    peers = {gpu.number: _find_peers(gpu, indices) for gpu in node.usable}
    doubt = _find_doubt(node)
    domains = None if doubt is not None else tuple(_list_domains(node, peers))
    return Topology(domains, doubt, _draw_matrix(node, peers))


def _find_doubt(node: Node) -> str | None:
    """The first reading that keeps the domains from being known."""
    if node.silence is not None:
        return node.silence.text
    if not node.usable:
        return "no GPU answers"
    for gpu in node.present:
        if gpu.lost:
            return f"GPU {gpu.number} is lost"
        for field in ("handle", "link_count", "links", "fabric"):
            if field in gpu.errors:
                return f"GPU {gpu.number}: reading {field} failed with NVML error {gpu.errors[field]}"
        if gpu.fabric is not None and gpu.fabric.state in (1, 2, 3) and not gpu.fabric.registered:
            return f"GPU {gpu.number}: the fabric manager has not registered it"
        for number, link in enumerate(gpu.links):
            if link.state is None:
                return f"GPU {gpu.number}: the state of link {number} cannot be read"
            if link.state and link.remote_type not in (REMOTE_GPU, REMOTE_SWITCH) and "remote" in link.errors:
                return f"GPU {gpu.number}: the peer of link {number} cannot be read"
    return None


def _find_peers(gpu: Gpu, indices: Mapping[str, int]) -> _Peers:
    """Look every peer's bus id up among NVML's own GPUs before it is taken for a switch."""
    gpus: dict[int, int] = {}
    switched = 0
    for link in gpu.links:
        if link.state != 1:
            continue
        local = indices.get(link.remote or "")
        if local is not None and local != gpu.number:
            gpus[local] = gpus.get(local, 0) + 1
        elif _is_switched(link):
            switched += 1
    return _Peers(gpus, switched)


def _is_switched(link: Link) -> bool:
    """A switch by its type, or an unknown type with a peer that is no GPU of this node (an empty bus id)."""
    if link.remote_type == REMOTE_SWITCH:
        return True
    return link.remote_type not in (REMOTE_GPU, REMOTE_SWITCH, 1)


def _list_domains(node: Node, peers: Mapping[int, _Peers]) -> Iterable[Domain]:
    """The rules in their order: the fabric's own key, switches, direct links, else alone."""
    left = {gpu.number: gpu for gpu in node.usable}
    for key in dict.fromkeys(
        gpu.fabric.key for gpu in left.values() if gpu.fabric is not None and gpu.fabric.key
    ):
        members = tuple(i for i, gpu in left.items() if gpu.fabric is not None and gpu.fabric.key == key)
        yield Domain("fabric", members, key)
        for index in members:
            del left[index]
    switched = [index for index in left if peers[index].switched]
    for group in _components(switched, lambda a, b: _reach(node, a, b)):
        yield Domain("switch" if len(group) > 1 else "alone", group)
    direct = [index for index in left if index not in switched]
    for group in _components(direct, lambda a, b: b in peers[a].gpus or a in peers[b].gpus):
        complete = all(b in peers[a].gpus for a in group for b in group if a != b)
        yield Domain("mesh" if len(group) > 1 else "alone", group, None, complete)


def _reach(node: Node, one: int, two: int) -> bool:
    """Whether two GPUs on switches reach each other; a partition of a virtual machine shows only here.

    Where the P2P status cannot be read, being on switches is taken as enough.
    """
    if not node.peers:
        return True
    place = {gpu.number: at for at, gpu in enumerate(node.gpus)}
    return node.peers[place[one]][place[two]] in (0, None)


def _components(indices: list[int], joined: Callable[[int, int], bool]) -> list[tuple[int, ...]]:
    """Connected components, each ascending, in the order of their first members."""
    groups: list[list[int]] = []
    for index in indices:
        touching = [group for group in groups if any(joined(index, member) for member in group)]
        merged = sorted({index, *(member for group in touching for member in group)})
        groups = [group for group in groups if group not in touching] + [merged]
    return sorted(tuple(group) for group in groups)


def _draw_matrix(node: Node, peers: Mapping[int, _Peers]) -> tuple[tuple[str, ...], ...]:
    rows = []
    for at, one in enumerate(node.gpus):
        cells = []
        for beside, two in enumerate(node.gpus):
            if at == beside:
                cells.append("X")
            elif one.number not in peers or two.number not in peers:
                cells.append("?")
            else:
                cells.append(_connection(node, at, beside, peers[one.number], peers[two.number]))
        rows.append(tuple(cells))
    return tuple(rows)


def _connection(node: Node, at: int, beside: int, one: _Peers, two: _Peers) -> str:
    """`NV12` where NVLink joins the two, else the way over PCIe."""
    direct = one.gpus.get(node.gpus[beside].number, 0)
    if direct:
        return f"NV{direct}"
    over_nvlink = node.peers[at][beside] in (0, None) if node.peers else True
    if one.switched and two.switched and over_nvlink:
        return f"NV{min(one.switched, two.switched)}"
    ancestor = node.ancestors[at][beside] if node.ancestors else None
    return "?" if ancestor is None else ANCESTORS.get(ancestor, "?")
