"""Facts that must agree between nodes, and the vote that finds the odd ones out.

In: digests.  Out: verdicts and the counts.  A vote is held within one product; it needs three nodes and more than
half of them.  Where there is no majority nobody is blamed: the values and their counts are said.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from preflight.node.digest import Digest
from preflight.record import NamedTuple

SMALLEST_VOTE = 3


class Verdict(NamedTuple):
    """One finding about some nodes; `facts` has the values behind it."""

    rule: str
    severity: str
    message: str
    help: str | None
    hosts: tuple[str, ...]
    facts: Mapping[str, str] = {}


class Ballot(NamedTuple):
    """A fact that must agree: how bad an odd one is, how it is called, and what to do."""

    severity: str
    title: str
    remedy: str


BALLOTS: Mapping[str, Ballot] = {
    "gpus": Ballot(
        "error", "number of GPUs", "drain the node: a GPU is missing; look for Xid 79 in the kernel log"
    ),
    "links": Ballot("error", "NVLinks up", "drain the node and reset all its GPUs together"),
    "link version": Ballot("error", "NVLink version", "drain the node and reset all its GPUs together"),
    "graph": Ballot("error", "NVLink wiring", "compare preflight node on this node with one of the others"),
    "memory": Ballot(
        "error", "memory of a GPU", "drain the node: a GPU has lost memory, or it is another product"
    ),
    "mig": Ballot("error", "MIG mode", "nvidia-smi -mig 0, then reset the GPU"),
    "ecc": Ballot("error", "ECC mode", "nvidia-smi -e 1, then reset the GPU"),
    "driver": Ballot("warning", "driver", "bring the node to the driver of the others"),
    "cuda": Ballot("warning", "CUDA version of the driver", "bring the node to the driver of the others"),
    "vbios": Ballot("warning", "VBIOS", "bring all GPUs to the same VBIOS"),
    "confidential computing": Ballot("warning", "confidential computing", "set it the same on all nodes"),
    "nccl": Ballot("warning", "NCCL", "use the same image on all nodes"),
    "torch": Ballot("warning", "PyTorch", "use the same image on all nodes"),
    "transformer engine": Ballot("warning", "TransformerEngine", "use the same image on all nodes"),
    "python": Ballot("warning", "Python", "use the same image on all nodes"),
}


def slug(fact: str) -> str:
    return fact.replace(" ", "-")


FOLLOWS: Mapping[str, str] = {"graph": "gpus", "cuda": "driver"}
"""A fact that is odd because another one is: the node is blamed once."""


def vote(
    digests: Mapping[str, Digest], settled: frozenset[str]
) -> tuple[list[Verdict], dict[str, dict[str, dict[str, int]]]]:
    """Find the odd ones out, within each product; facts that the caller settled are not voted on."""
    products: dict[str, list[str]] = defaultdict(list)
    for host, digest in digests.items():
        if digest.silence is None:
            products[digest.facts.get("product", "unknown product")].append(host)
    verdicts: list[Verdict] = []
    votes: dict[str, dict[str, dict[str, int]]] = {}
    if "product" not in settled and len(products) > 1:
        verdicts += _mixed(products)
    for product, hosts in products.items():
        votes[product] = {}
        for fact, ballot in BALLOTS.items():
            values = {host: value for host in hosts if (value := digests[host].facts.get(fact)) is not None}
            counts = Counter(values.values())
            if counts:
                votes[product][fact] = dict(counts.most_common())
            if len(counts) > 1 and fact not in settled:
                excused = _differing(digests, hosts, FOLLOWS.get(fact))
                verdicts += _odd_ones(fact, ballot, values, counts, excused)
    return verdicts, votes


def _differing(digests: Mapping[str, Digest], hosts: Sequence[str], fact: str | None) -> frozenset[str]:
    """Hosts that differ from most in the fact that explains this one."""
    if fact is None:
        return frozenset()
    values = {host: digests[host].facts.get(fact) for host in hosts}
    most = Counter(values.values()).most_common(1)[0][0]
    return frozenset(host for host, value in values.items() if value != most)


def _odd_ones(
    fact: str, ballot: Ballot, values: Mapping[str, str], counts: Counter[str], excused: frozenset[str]
) -> Iterable[Verdict]:
    winner, votes = counts.most_common(1)[0]
    total = len(values)
    if total < SMALLEST_VOTE or 2 * votes <= total:
        shown = ", ".join(f"{value} on {count}" for value, count in counts.most_common(5))
        hosts = tuple(values)
        text = f"{ballot.title} differs, and there is no majority: {shown}"
        yield Verdict(f"fleet-{slug(fact)}-split", "warning", text, f"say what is right with --expect-{slug(fact)}"
                      if fact in EXPECTABLE else None, hosts)  # fmt: skip
        return
    for value in counts:
        if value == winner:
            continue
        odd = tuple(host for host, got in values.items() if got == value and host not in excused)
        if not odd:
            continue
        message = f"{ballot.title}: {value}; {votes} of {total} nodes have {winner}"
        yield Verdict(f"fleet-{slug(fact)}-odd", ballot.severity, message, ballot.remedy, odd, {fact: value})


EXPECTABLE = ("gpus", "driver", "product")


def _mixed(products: Mapping[str, Sequence[str]]) -> Iterable[Verdict]:
    """Different products in one fleet: the smaller groups are odd where one holds more than half."""
    total = sum(len(hosts) for hosts in products.values())
    winner, most = max(products.items(), key=lambda item: len(item[1]))
    if total < SMALLEST_VOTE or 2 * len(most) <= total:
        shown = ", ".join(f"{product} on {len(hosts)}" for product, hosts in products.items())
        everyone = tuple(host for hosts in products.values() for host in hosts)
        yield Verdict("fleet-product-split", "warning", f"different GPUs: {shown}", None, everyone)
        return
    for product, hosts in products.items():
        if product != winner:
            text = f"{product}; {len(most)} of {total} nodes have {winner}"
            advice = "leave these nodes out of the job, or the slowest GPU sets the pace"
            yield Verdict("fleet-product-odd", "warning", text, advice, tuple(hosts), {"product": product})
