"""Scripts held against one node.

In: options and a `Node`.  Out: a session whose scripts see the facts of that node.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from preflight.chain import Request
from preflight.cli.judgement import node_rules
from preflight.cli.session import Session
from preflight.facts.machine import describe_node
from preflight.facts.model import Fact
from preflight.node.model import Node


class NodeSession(Session):
    """A session whose scripts are held against one node; rules about the node alone are not repeated for scripts."""

    def __init__(self, options: Namespace, arguments: tuple[str, ...] | None, node: Node) -> None:
        self.node = node
        super().__init__(options, arguments)

    def node_facts(self, path: str | None) -> Mapping[str, Fact]:
        return describe_node(self.node)

    def request_of(self, path: str) -> Request:
        request = super().request_of(path)
        alone = tuple(rule.name for rule in node_rules(request.rules.rules))
        return request._replace(ignore=(*request.ignore, *alone))
