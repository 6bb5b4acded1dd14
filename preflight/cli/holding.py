"""Scripts held against one node.

In: options and a `Node`, probed or recorded.  Out: a session whose scripts see the facts of that node, and whose
outcome has the findings about the node itself beside those about scripts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from preflight.chain import Request
from preflight.cli.judgement import explain_silence, judge_node, node_rules
from preflight.cli.options import MisuseError, split_names
from preflight.cli.session import Session, check_names
from preflight.facts.machine import describe_node
from preflight.facts.model import Fact
from preflight.node.model import Node
from preflight.outcome import FileOutcome, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace


class NodeSession(Session):
    """A session about one node; rules about the node alone are not repeated for each script."""

    def __init__(self, options: Namespace, arguments: tuple[str, ...] | None, node: Node) -> None:
        self.node = node
        super().__init__(options, arguments)

    def node_facts(self, path: str | None) -> Mapping[str, Fact]:
        return describe_node(self.node)

    def request_of(self, path: str) -> Request:
        request = super().request_of(path)
        alone = tuple(rule.name for rule in node_rules(request.rules.rules))
        return request._replace(ignore=(*request.ignore, *alone))

    def conclude(self, files: Sequence[FileOutcome], **more: Any) -> Outcome:
        settings = self.here
        rules = self.rules_of(settings)
        select = split_names(self.options.select) or settings.select
        ignore = (*settings.ignore, *split_names(self.options.ignore))
        check_names((*select, *ignore), rules)
        findings = judge_node(self.node, rules, select, ignore, settings.severity)
        return super().conclude(files, node=findings, node_error=explain_silence(self.node), **more)


def hold_against(path: str, options: Namespace, arguments: tuple[str, ...] | None) -> Session:
    """The session for a recorded node, or a shipped profile by its name."""
    from preflight.node.profiles import read_node
    from preflight.node.record import RecordError

    try:
        return NodeSession(options, arguments, read_node(path))
    except RecordError as error:
        raise MisuseError(str(error)) from None
