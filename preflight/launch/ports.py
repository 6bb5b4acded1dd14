"""Launches that run at the same time on one machine and listen on the same port.

In: the launches of a script with what each was started from.  Out: a remark on the second of two that cannot both
listen.  It refuses whatever may run elsewhere or at another time: behind ssh or srun, after `wait`, in another branch.
"""

from __future__ import annotations

import re

from preflight.execution import Related, Remark
from preflight.launch.model import Launch
from preflight.launch.rendezvous import Placed, read_node_rank, read_rendezvous
from preflight.source import Span

LISTENING = frozenset({"torchrun", "torch.distributed.launch"})
ELSEWHERE = frozenset({"srun", "ssh", "pdsh", "mpirun", "docker", "ray"})


class Listener:
    """The launches that are still running, in the order of the script."""

    def __init__(self) -> None:
        self.running: list[tuple[Launch, str, Span]] = []

    def start(self, launch: Launch, background: bool) -> Launch:
        """The launch, with a remark if its port is taken."""
        port = _listens_on(launch)
        if port is None:
            return launch
        number, place = port
        for other, taken, where in self.running:
            together = other.conditions == launch.conditions and not waits_between(other.span, launch.span)
            if taken == number and together and other.span != launch.span:
                remark = Remark(
                    "port-used-twice",
                    place,
                    {"port": number},
                    (Related(where, "the launch before it listens on the same port"),),
                )
                launch = launch._replace(remarks=(*launch.remarks, remark))
                break
        if background:
            self.running.append((launch, number, place))
        return launch


def _listens_on(launch: Launch) -> tuple[str, Span] | None:
    """The port of a launch that listens on this machine as its first node."""
    if launch.launcher.kind not in LISTENING or any(layer.kind in ELSEWHERE for layer in launch.wrappers):
        return None
    meeting = read_rendezvous(launch)
    rank, _ = read_node_rank(launch)
    if _value(meeting.backend) != "static" or _value(rank) != "0":
        return None
    number = _value(meeting.port)
    if number is None or not number.isdigit() or number == "0":
        return None
    return number, meeting.port[1] or launch.launcher.span


def waits_between(one: Span, other: Span) -> bool:
    """Whether the script waits for the first before it comes to the second, as far as their places tell."""
    first, second = one.resolve(), other.resolve()
    if first.source is not second.source or second.start < first.end:
        return True
    return re.search(rb"\bwait\b", first.source.data[first.end : second.start]) is not None


def _value(place: Placed) -> str | None:
    return place[0].value if place[0] is not None else None
