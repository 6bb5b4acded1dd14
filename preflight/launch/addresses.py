"""Addresses, ports and names that every node works out for itself.

In: a launch.  Out: remarks about what has to be the same for all nodes and is not: a port or a rendezvous name drawn
at random, the address of whichever machine looks, the scheduler's list of nodes or its submit host as an address.
It refuses to judge what runs once, in the batch script or on the first node.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from preflight.execution import Related, Remark
from preflight.launch.model import Launch
from preflight.launch.rendezvous import Placed, Rendezvous, read_node_rank, read_rendezvous
from preflight.patterns import pattern
from preflight.values import Text

_RANDOM = pattern(r"\bRANDOM\b|\bSRANDOM\b|\bshuf\b|\buuidgen\b|/proc/sys/kernel/random|\$\$|\$\{?BASHPID")
_OWN_NAME = pattern(
    r"\bhostname\b(?!s)|\bHOSTNAME\b|\bSLURMD_NODENAME\b|\bip (?:addr|route|a)\b|\bifconfig\b"
)
_LIST = pattern(r"^\$\{?(SLURM_(?:JOB_|STEP_)?NODELIST)\}?$")
_SUBMIT = pattern(r"^\$\{?SLURM_SUBMIT_HOST\}?$")
TASKS = frozenset({"srun", "mpirun", "pdsh"})


def notice_addresses(launch: Launch) -> Iterable[Remark]:
    """What the nodes of this launch cannot agree on."""
    nodes = launch.launcher.nodes.value
    several = nodes is not None and nodes > 1
    tasks = any(layer.kind in TASKS for layer in launch.wrappers)
    meeting = read_rendezvous(launch)
    name: Placed = (None, None)
    setting = launch.launcher.options.get("rdzv_id")
    if setting is not None:
        name = (setting.text, setting.span)
    if (several or tasks) and not launch.launcher.options.get("standalone"):
        for what, place in (("MASTER_PORT", meeting.port), ("the rendezvous id", name)):
            if _is_drawn(place[0]) and runs_everywhere(launch, place[0]):
                yield _remark("port-drawn-per-task", launch, place, {"what": what})
    yield from _notice_numbers(launch, meeting, nodes)
    if not several or nodes is None:
        return
    if not launch.launcher.options.get("standalone"):
        yield from _notice_missing_rank(launch, meeting, nodes)
    host = meeting.host[0]
    if host is None or host.known:
        return
    shown = _shown(host)
    if _OWN_NAME.search(shown) and not _names_first(shown) and runs_everywhere(launch, host):
        yield _remark("own-address-on-every-node", launch, meeting.host, {"nodes": nodes, "sure": tasks})
    elif (match := _LIST.match(shown)) is not None:
        yield _remark("node-list-as-address", launch, meeting.host, {"variable": match.group(1)})
    elif _SUBMIT.match(shown):
        yield _remark("submit-host-as-address", launch, meeting.host, {"nodes": nodes})


def _notice_numbers(launch: Launch, meeting: Rendezvous, nodes: int | None) -> Iterable[Remark]:
    """A port that no machine has, and a rank that the number of nodes does not hold."""
    port, place = meeting.port
    number = (port.value or "").strip() if port is not None else ""
    if number.isdigit() and int(number[:12]) > 65535:
        yield Remark("port-out-of-range", place or launch.launcher.span, {"port": number})
    rank, where = read_node_rank(launch)[0]
    number = (rank.value or "").strip() if rank is not None else ""
    static = meeting.backend[0] is None or meeting.backend[0].value == "static"
    if nodes is not None and nodes > 1 and static and number.isdigit() and int(number[:12]) >= nodes:
        related = launch.launcher.nodes.span
        places = (Related(related, f"{nodes} nodes"),) if related is not None else ()
        values = {"rank": int(number[:12]), "nodes": nodes, "last": nodes - 1}
        yield Remark("node-rank-too-large", where or launch.launcher.span, values, places)


def _notice_missing_rank(launch: Launch, meeting: Rendezvous, nodes: int) -> Iterable[Remark]:
    """Several nodes that meet by rank, and no rank for this one."""
    launcher = launch.launcher
    program = launch.program.text.display() if launch.program is not None else ""
    static = meeting.backend[0] is not None and meeting.backend[0].value == "static"
    if static and "master_addr" in launcher.options and "node_rank" not in launcher.options:
        rank = read_node_rank(launch)[0]
        if rank[1] == launcher.span and not launcher.open and program.endswith(".py"):
            yield Remark("node-rank-missing", launcher.nodes.span or launcher.span, {"nodes": nodes})
    rank = read_node_rank(launch)[0]
    tasks = any(layer.kind in TASKS for layer in launch.wrappers)
    if static and not tasks and rank[0] is not None and rank[0].known and rank[0].assumptions:
        name = f"${rank[0].assumptions[0].name}"
        values = {"name": name, "rank": rank[0].display(), "nodes": nodes}
        yield Remark("node-rank-assumed", rank[1] or launcher.span, values)


def _is_drawn(text: Text | None) -> bool:
    return text is not None and not text.known and _RANDOM.search(_shown(text)) is not None


def _shown(text: Text) -> str:
    """The unknown parts as the user wrote them, with all of the pipe that a command's output comes from."""
    parts = []
    for piece in text.pieces:
        if piece.unknown is None:
            parts.append(piece.text)
            continue
        place = piece.span.resolve()
        before = place.source.data[max(0, place.start - 300) : place.start]
        begin = -1
        if piece.unknown.reason in ("command", "node") and not piece.unknown.text.startswith(("$(", "`")):
            begin = max(before.rfind(b"$("), before.rfind(b"`"))
        lead = before[begin:].decode("utf-8", "replace") if begin >= 0 else ""
        parts.append(lead + piece.unknown.text)
    return "".join(parts)


def _names_first(shown: str) -> bool:
    return "scontrol" in shown or "NODELIST" in shown


def runs_everywhere(launch: Launch, text: Text | None) -> bool:
    """Whether each node or task works the text out for itself.

    Text of a shell that srun starts is worked out in each task; text of the script itself once, if the script is a
    batch script or starts the nodes, and on every node if nothing in it reaches another node.  deepspeed reaches them.
    """
    if text is None:
        return False
    inside = any(
        piece.unknown is not None and piece.span.source is not launch.source and piece.span.source.origins
        for piece in text.pieces
    )
    if any(layer.kind in TASKS for layer in launch.wrappers):
        return inside
    if launch.header is not None or any(layer.kind == "ssh" for layer in launch.wrappers):
        return False
    if launch.launcher.kind == "deepspeed" and not launch.launcher.options.keys() & {"no_ssh", "node_rank"}:
        return False
    rank, _ = read_node_rank(launch)
    value = rank[0].value if rank[0] is not None and not rank[0].assumptions else None
    fixed = value is not None and rank[1] != launch.launcher.span
    return not fixed and re.search(rb"\b(srun|ssh|pdsh|clush|pssh|mpirun)\b", launch.source.data) is None


def _remark(kind: str, launch: Launch, place: Placed, values: dict[str, object]) -> Remark:
    text, span = place
    where = span or launch.launcher.span
    if text is not None:
        origin = next((piece.span for piece in text.pieces if piece.unknown is not None), where)
        where = origin if kind == "port-drawn-per-task" else where
        values = {**values, "value": _shown(text).strip()[:60]}
    return Remark(kind, where, values)
