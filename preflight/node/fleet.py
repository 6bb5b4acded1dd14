"""One verdict from many nodes.

In: digests, the hosts that should have answered, and what is expected of each node.  Out: a `Fleet`: findings with
their hosts, worst first.  A host that did not answer is named, never dropped.  What the caller expects beats the
vote, since a whole fleet can be wrong; a vote needs three nodes of a product and more than half of them, and where
there is none, nobody is blamed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from preflight.node.digest import Digest
from preflight.node.frames import Collection
from preflight.node.hosts import mentions, natural
from preflight.node.vote import BALLOTS, Verdict, slug, vote
from preflight.record import NamedTuple

SEVERITIES = ("error", "warning", "note")


class Expectation(NamedTuple):
    """What every node should be, as the caller says; None is not said.

    `hosts` should have answered; `number` is how many where only that is known.  `facts` has the
    values that are right.  `domain` is the number of GPUs
    that the plan wants in one NVLink domain.
    """

    hosts: tuple[str, ...] | None = None
    number: int | None = None
    facts: Mapping[str, tuple[str, ...]] = {}
    domain: int | None = None


class Fleet(NamedTuple):
    """What came of it.  `silent` are hosts without an answer, from themselves or from their NVML."""

    hosts: tuple[str, ...]
    answered: tuple[str, ...]
    silent: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    cliques: Mapping[str, Mapping[str, int]]
    votes: Mapping[str, Mapping[str, Mapping[str, int]]]

    @property
    def healthy(self) -> tuple[str, ...]:
        """Hosts that no error or warning names."""
        named = {host for v in self.verdicts if v.severity in ("error", "warning") for host in v.hosts}
        return tuple(host for host in self.answered if host not in named)


def merge(collection: Collection, expectation: Expectation) -> Fleet:
    """Everything at once."""
    collection = use_expected_names(collection, expectation.hosts)
    digests = dict(sorted(collection.digests.items(), key=lambda item: natural(item[0])))
    hosts = tuple(dict.fromkeys((*(expectation.hosts or ()), *digests)))
    verdicts = [
        *find_missing(collection, expectation),
        *find_silent(digests),
        *group_findings(digests),
        *hold_expectations(digests, expectation.facts),
        *count_cliques(digests, expectation.domain),
    ]
    voted, votes = vote(digests, frozenset(expectation.facts))
    verdicts += voted
    missing = [host for verdict in verdicts if verdict.rule == "fleet-no-answer" for host in verdict.hosts]
    quiet = [host for host, digest in digests.items() if digest.silence is not None]
    return Fleet(
        hosts,
        tuple(host for host, digest in digests.items() if digest.silence is None),
        (*missing, *quiet),
        tuple(sorted(verdicts, key=_weight)),
        _cliques(digests),
        votes,
    )


def _weight(verdict: Verdict) -> tuple[int, int, str, str]:
    first = 0 if verdict.rule in ("fleet-no-answer", "fleet-nvml-silent") else 1
    return SEVERITIES.index(verdict.severity), first, verdict.rule, verdict.message


def use_expected_names(collection: Collection, expected: tuple[str, ...] | None) -> Collection:
    """Where `n1` is expected and `n1.cluster` answers, they are the same, as long as no two answer for one."""
    if expected is None:
        return collection
    known = frozenset(expected)
    wanted = known - collection.digests.keys()
    short = {host.partition(".")[0]: host for host in wanted}
    renamed: dict[str, str] = {}
    for host in (*collection.digests, *collection.partial):
        name = short.get(host.partition(".")[0])
        if host not in known and name is not None and name not in renamed.values():
            renamed[host] = name
    if not renamed:
        return collection
    return collection._replace(
        digests={renamed.get(host, host): digest for host, digest in collection.digests.items()},
        partial={renamed.get(host, host): parts for host, parts in collection.partial.items()},
        repeated={renamed.get(host, host): count for host, count in collection.repeated.items()},
    )


def find_missing(collection: Collection, expectation: Expectation) -> Iterable[Verdict]:
    """Hosts without a whole digest, hosts that nobody expected, hosts that answered twice."""
    expected = expectation.hosts
    absent = [host for host in expected or () if host not in collection.digests]
    if expected is None:
        absent = list(collection.partial)
    cut = [host for host in absent if host in collection.partial]
    gone = [host for host in absent if host not in collection.partial]
    for host in sorted(gone, key=natural):
        said = [line for line in collection.lines if mentions(line, host)]
        if said:
            gone.remove(host)
            yield _no_answer((host,), f"no answer; the launcher says: {said[0]}")
    if gone:
        yield _no_answer(tuple(gone), "no answer")
    for host in cut:
        got, count = collection.partial[host]
        yield _no_answer((host,), f"no whole answer: {got} of {count} frames arrived")
    if expected is None and expectation.number is not None and len(collection.digests) < expectation.number:
        yield Verdict(
            "fleet-no-answer", "error",
            f"{len(collection.digests)} of {expectation.number} nodes answered; --expect HOSTS tells which did not",
            None, (),
        )  # fmt: skip
    known = frozenset(expected or collection.digests)
    strange = [host for host in collection.digests if host not in known]
    if strange:
        yield Verdict(
            "fleet-unexpected-node", "warning", "answered without being expected", None, tuple(strange)
        )
    for count, names in _by_value(collection.repeated).items():
        yield Verdict(
            "fleet-repeated-answer", "note", f"answered {count} times; the last answer counts",
            "start one task on each node (srun --ntasks-per-node=1)", names,
        )  # fmt: skip


def _no_answer(hosts: tuple[str, ...], text: str) -> Verdict:
    advice = "see whether the node is up and its scheduler daemon runs; drain it if it is not"
    return Verdict("fleet-no-answer", "error", text, advice, hosts)


def _by_value(values: Mapping[str, int]) -> dict[int, tuple[str, ...]]:
    groups: dict[int, list[str]] = defaultdict(list)
    for name, value in values.items():
        groups[value].append(name)
    return {value: tuple(names) for value, names in groups.items()}


def find_silent(digests: Mapping[str, Digest]) -> Iterable[Verdict]:
    """Nodes whose NVML gave no answer."""
    groups: dict[tuple[str, str | None], list[str]] = defaultdict(list)
    for host, digest in digests.items():
        if digest.silence is not None:
            groups[digest.silence, digest.remedy].append(host)
    for (text, remedy), hosts in groups.items():
        yield Verdict("fleet-nvml-silent", "error", text, remedy, tuple(hosts))


def group_findings(digests: Mapping[str, Digest]) -> Iterable[Verdict]:
    """What the nodes' own rules found, one entry for equal words."""
    groups: dict[tuple[str, str, str, str | None], list[str]] = defaultdict(list)
    for host, digest in digests.items():
        for finding in digest.findings:
            severity = finding.severity if finding.severity in SEVERITIES else "error"
            groups[finding.rule, severity, finding.message, finding.help].append(host)
    for (rule, severity, message, advice), hosts in groups.items():
        yield Verdict(rule, severity, message, advice, tuple(hosts))


def hold_expectations(
    digests: Mapping[str, Digest], expected: Mapping[str, tuple[str, ...]]
) -> Iterable[Verdict]:
    """Nodes that are not what the caller expects."""
    for fact, wanted in expected.items():
        groups: dict[str, list[str]] = defaultdict(list)
        for host, digest in digests.items():
            got = digest.facts.get(fact)
            if digest.silence is None and got is not None and got not in wanted:
                groups[got].append(host)
        title = BALLOTS[fact].title if fact in BALLOTS else fact
        for got, hosts in groups.items():
            yield Verdict(
                f"fleet-{slug(fact)}-unexpected", "error", f"{title}: {got}, expected {wanted[0]}",
                BALLOTS[fact].remedy if fact in BALLOTS else None, tuple(hosts), {fact: got},
            )  # fmt: skip


def _cliques(digests: Mapping[str, Digest]) -> dict[str, dict[str, int]]:
    """GPUs of each clique by host."""
    cliques: dict[str, dict[str, int]] = defaultdict(dict)
    for host, digest in digests.items():
        for key, count in digest.cliques.items():
            cliques[key][host] = count
    return dict(cliques)


def count_cliques(digests: Mapping[str, Digest], planned: int | None) -> Iterable[Verdict]:
    """NVLink domains that span nodes, counted, and held against the plan."""
    cliques = _cliques(digests)
    for key, hosts in cliques.items():
        size = sum(hosts.values())
        name = f"clique {key.rpartition(':')[2]} of cluster {key[:8]}"
        if planned is not None and size < planned:
            yield Verdict(
                "fleet-clique-below-plan", "error",
                f"{name} has {size} GPUs here, the plan wants {planned} in one NVLink domain",
                "choose nodes of one rack (Slurm: --segment or the block topology plugin)", tuple(hosts),
            )  # fmt: skip
        elif planned is not None and size % planned:
            yield Verdict(
                "fleet-clique-not-whole", "warning",
                f"{name} has {size} GPUs here: no multiple of the {planned} that the plan wants in one domain",
                "choose whole segments of a rack (Slurm: --segment)", tuple(hosts),
            )  # fmt: skip
        else:
            yield Verdict(
                "fleet-clique", "note", f"{name}: {size} GPUs on {len(hosts)} nodes", None, tuple(hosts)
            )
    if planned is not None and cliques:
        outside = [h for h, d in digests.items() if d.silence is None and not d.cliques]
        if outside:
            yield Verdict(
                "fleet-clique-none", "error", "in no NVLink clique, while other nodes are",
                "see whether nvidia-imex and the fabric manager run", tuple(outside),
            )  # fmt: skip
