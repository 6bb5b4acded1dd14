"""The node rules held against a node: what `node` and `exec` share.

In: a `Node` and the rules.  Out: findings about the node itself, kept apart from those about scripts, so that a bad
node is never called a bad script; and the exit status.  A rule whose conditions ask only for facts of the node is
about the node; every other rule is about the script.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from preflight.diagnostics import Diagnostic, Severity
from preflight.engine.rule import Rule, RuleSet, choose_rules
from preflight.engine.run import Subject, run_rules
from preflight.engine.tree import list_names
from preflight.facts.machine import describe_node
from preflight.fingerprint import stamp
from preflight.node.digest import Report
from preflight.node.model import Node
from preflight.node.probe import Probe
from preflight.outcome import Outcome, exit_status, reaches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

UNRELEASED = "main"
"""Node rules hold whatever the release of Megatron."""


def node_rules(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules that are about the machine alone."""
    return tuple(rule for rule in rules if is_about_node(rule))


def is_about_node(rule: Rule) -> bool:
    trees = [tree for form in rule.forms for tree in (form.when, form.require) if tree is not None]
    if rule.remark is not None or not trees:
        return False
    return all(name.startswith("node_") for tree in trees for name in list_names(tree))


def judge_node(
    node: Node,
    rules: RuleSet,
    select: Collection[str] = (),
    ignore: Collection[str] = (),
    severity: Mapping[str, Severity] = {},
) -> tuple[Diagnostic, ...]:
    """What the rules say of the machine; nothing where NVML gave no answer."""
    if node.silence is not None:
        return ()
    chosen = node_rules(choose_rules(rules, select, ignore))
    subject = Subject(describe_node(node), (), UNRELEASED, "", None, node=node.host)
    found = [
        d._replace(releases=None, severity=severity.get(d.rule, severity.get(d.family, d.severity)))
        for d in run_rules(rules, subject, chosen).findings
    ]
    found.sort(key=lambda d: (("error", "warning", "note").index(d.severity), d.rule))
    return tuple(stamp(found, "."))


def explain_silence(node: Node) -> str | None:
    """Why NVML gave no answer, with what to do about it."""
    if node.silence is None:
        return None
    bus = f" (the PCI bus has {len(node.pci)} NVIDIA GPU{'s' * (len(node.pci) > 1)})" if node.pci else ""
    return f"node {node.host}: {node.silence.text}{bus}; {node.silence.remedy}"


def report_of(findings: Sequence[Diagnostic]) -> tuple[Report, ...]:
    """Findings as a node's digest carries them; notes stay at home."""
    return tuple(Report(d.rule, d.severity, d.message, d.help) for d in findings if d.severity != "note")


def status_of(outcome: Outcome, fail_on: Severity) -> int:
    """3 where something gave no answer, 1 for the script, 4 for the node, 0."""
    status = exit_status(outcome._replace(node=()))
    if status:
        return status
    return 4 if any(d.ignored is None and reaches(d.severity, fail_on) for d in outcome.node) else 0


def obtain_node(options: Namespace, probe: Probe | None) -> Node:
    """The recorded node that was asked for (a bad record is a `RecordError`), else what the probe says."""
    if probe is None:
        from preflight.node.profiles import read_node

        node = read_node(options.node)
    else:
        from preflight.node.probe import finish_probe

        node = finish_probe(probe)
    return node._replace(expected_gpus=options.expect_gpus or node.expected_gpus)
