"""What only shows when the launches of a script are seen together.

In: the launches of a script, in their order.  Out: the same launches, with remarks about a rank that several hosts are
given, and about variables that are set for the ranks when the launch is over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from preflight.execution import Remark
from preflight.launch.mentions import mentions
from preflight.launch.model import Launch, Layer
from preflight.launch.notice import is_telling
from preflight.launch.rendezvous import read_node_rank, read_rendezvous
from preflight.patterns import pattern
from preflight.source import Span

_EXPORT = pattern(rb"^[ \t]*export[ \t]+([A-Za-z_]\w*)=([^\s;#]*)", re.MULTILINE)
_LOOP = pattern(rb"^[ \t]*(?:for|while|until)\b|\b(?:xargs|parallel)\b", re.MULTILINE)
_OTHERWISE = pattern(rb"^[ \t]*(?:else\b|elif\b|;;)|;;[ \t]*$", re.MULTILINE)
"""Where another branch begins."""

MOST_LAUNCHES = 200
"""Launches that are compared with each other; a sweep of more is no list of nodes."""


def compare_launches(launches: tuple[Launch, ...]) -> tuple[Launch, ...]:
    """The launches with what the others tell about them."""
    if not launches:
        return launches
    repeated = _find_repeated_ranks(launches) if 1 < len(launches) <= MOST_LAUNCHES else {}
    late = tuple(_notice_late(launches))
    alone = _find_alone(launches)
    if not repeated and not late and not alone:
        return launches
    found = []
    for number, launch in enumerate(launches):
        more = [*repeated.get(number, ()), *alone.get(number, ())]
        if number == len(launches) - 1:
            more += late
        found.append(launch._replace(remarks=(*launch.remarks, *more)) if more else launch)
    return tuple(found)


def _find_repeated_ranks(launches: tuple[Launch, ...]) -> dict[int, tuple[Remark, ...]]:
    """Launches of one place that ssh starts on host after host, all with the same rank."""
    groups: dict[object, list[int]] = {}
    for number, launch in enumerate(launches):
        nodes = launch.launcher.nodes.value
        if not any(layer.kind == "ssh" for layer in launch.wrappers) or nodes is None or nodes < 2:
            continue
        backend = read_rendezvous(launch).backend[0]
        rank = read_node_rank(launch)[0][0]
        if rank is None or not rank.known or backend is None or backend.value != "static":
            continue
        place = launch.span.resolve()
        key = (id(place.source), place.start, place.end, launch.conditions, rank.value)
        groups.setdefault(key, []).append(number)
    found: dict[int, tuple[Remark, ...]] = {}
    for numbers in groups.values():
        if len(numbers) < 2:
            continue
        for number in numbers:
            text, span = read_node_rank(launches[number])[0]
            where = span or launches[number].launcher.span
            values = {"rank": text.value if text is not None else "", "hosts": len(numbers)}
            found[number] = (Remark("node-rank-repeated", where, values),)
    return found


def _find_alone(launches: tuple[Launch, ...]) -> dict[int, tuple[Remark, ...]]:
    """Launchers that wait for more nodes than srun starts launchers on, all launches of the script taken together."""
    found: dict[int, tuple[Remark, ...]] = {}
    for number, launch in enumerate(launches):
        nodes, layers = launch.launcher.nodes.value, [x for x in launch.wrappers if x.kind == "srun"]
        if (
            launch.launcher.kind not in {"torchrun", "torch.distributed.launch"}
            or nodes is None
            or not layers
        ):
            continue
        place = _find_single(layers[-1])
        if place is None or mentions(_LOOP, launch.source.data):
            continue
        others = {(x.span, x.conditions) for x in launches if x.launcher.nodes.value == nodes}
        if len(others) < nodes and nodes > 1:
            values = {"option": place.resolve().text, "nodes": nodes, "launches": len(others)}
            found[number] = (Remark("launcher-on-one-node", place, values),)
    return found


def _find_single(layer: Layer) -> Span | None:
    """The option by which srun starts one task on any one node."""
    if {"nodelist", "relative", "het_group", "multi_prog"} & layer.options.keys():
        return None
    for name in ("nodes", "ntasks"):
        setting = layer.options.get(name)
        if setting is not None and setting.text is not None and setting.text.value == "1":
            return setting.span
    return None


def _notice_late(launches: tuple[Launch, ...]) -> Iterable[Remark]:
    """Variables that the ranks should see, exported behind the last launch; in another branch they are for that."""
    last = launches[-1]
    if last.header is None and any(layer.kind in {"ssh", "pdsh"} for layer in last.wrappers):
        return
    places = [launch.span.resolve() for launch in launches]
    end = max((place.end for place in places if place.source is last.source), default=None)
    if end is None or b"export" not in last.source.data[end:]:
        return
    branch = _OTHERWISE.search(last.source.data, end)
    stop = len(last.source.data) if branch is None else branch.start()
    for match in _EXPORT.finditer(last.source.data, end, stop):
        name = match.group(1).decode()
        if not is_telling(name) or any(launch.environment.get(name) is not None for launch in launches):
            continue
        span = Span(last.source, match.start(1), match.end(2))
        value = match.group(2).decode("utf-8", "replace").strip("\"'")
        yield Remark("environment-set-late", span, {"name": name, "value": value})
