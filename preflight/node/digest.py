"""What one node tells the fleet: a short record that fits into a frame or two.

In: a `Node` and what the rules found on it.  Out: a `Digest`, and its plain JSON form.  It holds what must agree
between nodes, the cliques of a fabric that spans nodes, and the findings; everything else stays in the node's record.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from preflight.node.model import Gpu, Node
from preflight.node.topology import read_topology
from preflight.record import NamedTuple

SCHEMA = 1


class Report(NamedTuple):
    """One finding of a node, as the fleet shows it."""

    rule: str
    severity: str
    message: str
    help: str | None


class Digest(NamedTuple):
    """One node's word: `silence` says why there is nothing else, `facts` are what a vote compares."""

    host: str
    silence: str | None = None
    remedy: str | None = None
    facts: Mapping[str, str] = {}
    cliques: Mapping[str, int] = {}
    findings: tuple[Report, ...] = ()
    seconds: float = 0.0


class DigestError(ValueError):
    """What is wrong with a digest."""


def make_digest(node: Node, findings: Iterable[Report] = ()) -> Digest:
    """Sum a node up."""
    if node.silence is not None:
        return Digest(node.host, node.silence.text, node.silence.remedy, seconds=node.seconds)
    keys = Counter(gpu.fabric.key for gpu in node.usable if gpu.fabric is not None and gpu.fabric.key)
    return Digest(
        node.host,
        facts={name: value for name, value in _facts(node).items() if value},
        cliques={str(key): count for key, count in keys.items()},
        findings=tuple(findings),
        seconds=node.seconds,
    )


def _facts(node: Node) -> dict[str, str | None]:
    software = node.software
    return {
        "product": _all(node, lambda gpu: gpu.name),
        "gpus": str(len(node.present)),
        "driver": node.driver,
        "cuda": None if node.cuda is None else f"{node.cuda // 1000}.{node.cuda % 1000 // 10}",
        "vbios": _all(node, lambda gpu: gpu.vbios),
        "memory": _all(node, lambda gpu: f"{gpu.memory_total >> 20} MiB" if gpu.memory_total else None),
        "links": _all(node, _links),
        "link version": _all(node, _link_version),
        "mig": _all(node, lambda gpu: None if gpu.mig is None else ("on" if gpu.mig else "off")),
        "ecc": _all(node, lambda gpu: None if gpu.ecc is None else ("on" if gpu.ecc else "off")),
        "graph": _graph(node),
        "confidential computing": None if not node.confidential else str(node.confidential),
        "nccl": software.get("nccl"),
        "torch": software.get("torch"),
        "transformer engine": software.get("transformer_engine"),
        "python": software.get("python"),
    }


def _all(node: Node, reading: Any) -> str | None:
    """The one value of all GPUs that tell it, or all values."""
    values = {value for gpu in node.usable if (value := reading(gpu)) is not None}
    return " and ".join(sorted(values)) or None


def _links(gpu: Gpu) -> str | None:
    """Links that are up, of those that the chip has."""
    return (
        f"{sum(link.state == 1 for link in gpu.links)} of {gpu.link_count}"
        if gpu.link_count is not None
        else None
    )


def _link_version(gpu: Gpu) -> str | None:
    versions = {link.version for link in gpu.links if link.version is not None}
    return "/".join(map(str, sorted(versions))) or None


def _graph(node: Node) -> str | None:
    """Domains and matrix: two nodes with the same text have the same wiring."""
    topology = read_topology(node)
    if topology.domains is None:
        return None
    sizes = "+".join(str(len(domain.members)) for domain in topology.domains)
    matrix = zlib.crc32(repr(topology.matrix).encode())
    return f"domains of {sizes}, matrix {matrix:08x}"


def write_digest(digest: Digest) -> str:
    """One line of JSON."""
    content: dict[str, Any] = {"schema": SCHEMA, "digest": digest.host}
    if digest.silence is not None:
        content |= {"silence": digest.silence, "remedy": digest.remedy}
    if digest.facts:
        content["facts"] = dict(digest.facts)
    if digest.cliques:
        content["cliques"] = dict(digest.cliques)
    if digest.findings:
        content["findings"] = [list(finding) for finding in digest.findings]
    content["seconds"] = digest.seconds
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def read_digest(text: str | bytes) -> Digest:
    """The digest that a line of JSON holds."""
    try:
        content = json.loads(text)
        if content["schema"] != SCHEMA:
            raise DigestError(f"schema {content['schema']!r} is not {SCHEMA}: another version of preflight")
        return Digest(
            str(content["digest"]),
            _text(content.get("silence")),
            _text(content.get("remedy")),
            {str(name): str(value) for name, value in content.get("facts", {}).items()},
            {str(key): int(count) for key, count in content.get("cliques", {}).items()},
            tuple(
                Report(str(rule), str(severity), str(message), _text(advice))
                for rule, severity, message, advice in content.get("findings", ())
            ),
            float(content.get("seconds", 0.0)),
        )
    except DigestError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DigestError("not a node's digest (preflight node --out-dir DIR writes them)") from None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
