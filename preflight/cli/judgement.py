"""The node rules held against a node, and scripts against it: what `node` and `exec` share.

In: a `Node` and the session.  Out: findings about the node itself, kept apart from those about scripts, so that a bad
node is never called a bad script; and the exit status.  A rule whose conditions ask only for facts of the node is
about the node; every other rule is about the script.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence

from preflight.chain import Request, choose_rules, settle
from preflight.cli.session import MisuseError, Session
from preflight.diagnostics import Diagnostic, Severity
from preflight.engine.rule import Rule, RuleSet
from preflight.engine.run import Subject, facts_of_rule, run_rules
from preflight.facts.machine import describe_node
from preflight.facts.model import Fact
from preflight.fingerprint import stamp
from preflight.node.digest import Report
from preflight.node.model import Node
from preflight.node.probe import Probe
from preflight.outcome import Outcome, exit_status, reaches

UNRELEASED = "main"
"""Node rules hold whatever the release of Megatron."""


def node_rules(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules that are about the machine alone."""
    return tuple(rule for rule in rules if is_about_node(rule))


def is_about_node(rule: Rule) -> bool:
    if rule.remark is not None:
        return False
    names = facts_of_rule(rule)
    return bool(names) and all(name.startswith("node_") for name in names)


def judge_node(
    node: Node, session: Session, select: Sequence[str], ignore: Sequence[str]
) -> tuple[Diagnostic, ...]:
    """What the rules say of the machine; nothing where NVML gave no answer."""
    if node.silence is not None:
        return ()
    settings = session.here
    rules: RuleSet = session.rules_of(settings)
    chosen = node_rules(choose_rules(rules, select, ignore))
    subject = Subject(describe_node(node), (), UNRELEASED, "", None, node=node.host)
    outcome = run_rules(rules, subject, chosen)
    found = [settle(d._replace(releases=None), settings.severity) for d in outcome.findings]
    found.sort(key=lambda d: (("error", "warning", "note").index(d.severity), d.rule))
    return tuple(stamp(found, "."))


def explain_silence(node: Node) -> str | None:
    """Why NVML gave no answer, with what to do about it."""
    if node.silence is None:
        return None
    return f"node {node.host}: {node.silence.text}; {node.silence.remedy}"


def report_of(findings: Sequence[Diagnostic]) -> tuple[Report, ...]:
    """Findings as a node's digest carries them; notes stay at home."""
    return tuple(Report(d.rule, d.severity, d.message, d.help) for d in findings if d.severity != "note")


def status_of(outcome: Outcome, fail_on: Severity) -> int:
    """3 where something gave no answer, 1 for the script, 4 for the node, 0."""
    status = exit_status(outcome._replace(node=()))
    if status:
        return status
    return 4 if any(d.ignored is None and reaches(d.severity, fail_on) for d in outcome.node) else 0


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


def obtain_node(options: Namespace, probe: Probe | None) -> Node:
    """The recorded node that was asked for, else what the probe says."""
    if probe is None:
        from preflight.node.profiles import read_node
        from preflight.node.record import RecordError

        try:
            node = read_node(options.node)
        except RecordError as error:
            raise MisuseError(str(error)) from None
    else:
        from preflight.node.probe import finish_probe

        node = finish_probe(probe)
    return node._replace(expected_gpus=options.expect_gpus or node.expected_gpus)
