"""The facts of a node as the engine takes them.

In: a probe's or a record's `Node`.  Out: `Fact` records for `Surroundings.node`; what the readings
leave open is unknown, with the reason.
"""

from __future__ import annotations

from preflight.facts.model import Blocker, Fact
from preflight.node.facts import Doubt, node_facts
from preflight.node.model import Node
from preflight.values import Unknown


def describe_node(node: Node | None) -> dict[str, Fact]:
    """All facts `node_*` of a node."""
    facts: dict[str, Fact] = {}
    for name, value in node_facts(node).items():
        if isinstance(value, Doubt):
            blocked = (Blocker(name, Unknown("node", value.text)),)
            facts[name] = Fact(name, None, "node", blocked_by=blocked)
        else:
            facts[name] = Fact(name, value, "node")
    return facts
