"""The verdict on a fleet: for people, worst first, equal findings folded into one entry with their hosts; or as JSON.

In: a `Fleet`.  Out: text (long lists of hosts are folded, long lists of findings cut with a count), or a document that
holds everything.
"""

from __future__ import annotations

import json
from typing import Any

from preflight.node.fleet import Fleet
from preflight.node.frames import Collection
from preflight.node.hosts import fold_hosts
from preflight.node.vote import Verdict
from preflight.report.frame import Row, printable
from preflight.report.paint import paint

LONGEST_LIST = 50
"""Findings that the text shows; the JSON has all."""
LONGEST_FOLD = 120
RANKS = {"note": 0, "warning": 1, "error": 2}


def write_fleet(fleet: Fleet, collection: Collection, show: str = "note", colour: bool = False) -> str:
    """The text."""
    rows: list[Row] = []
    shown = [verdict for verdict in fleet.verdicts if RANKS[verdict.severity] >= RANKS[show]]
    for verdict in shown[:LONGEST_LIST]:
        rows += draw_verdict(verdict, len(fleet.hosts))
    if len(shown) > LONGEST_LIST:
        rows.append([(f"... and {len(shown) - LONGEST_LIST} more: --output json has all of them", "dim")])
    rows += summarise(fleet, collection)
    return paint(rows, colour)


def draw_verdict(verdict: Verdict, total: int) -> list[Row]:
    """One finding with its hosts and its remedy."""
    who = fold_hosts(verdict.hosts)
    if len(who) > LONGEST_FOLD:
        who = who[: LONGEST_FOLD - 3] + "..."
    number = len(verdict.hosts)
    nodes = f"{number} node{'' if number == 1 else 's'}"
    rows: list[Row] = [
        [
            (f"{verdict.severity}[{verdict.rule}]", verdict.severity),
            (f": {printable(verdict.message)}", "message"),
        ]
    ]
    if number:
        everyone = " (all)" if number == total and total > 1 else ""
        rows.append([("  --> ", "line"), (printable(who), "plain"), (f"  {nodes}{everyone}", "dim")])
    if verdict.help:
        rows.append([("  = ", "line"), ("help: ", "help"), (printable(verdict.help), "plain")])
    rows.append([])
    return rows


def summarise(fleet: Fleet, collection: Collection) -> list[Row]:
    """The last lines: who answered, what was found, what arrived damaged."""
    answered, total, healthy = len(fleet.answered), len(fleet.hosts), len(fleet.healthy)
    bad = {host for v in fleet.verdicts if v.severity == "error" for host in v.hosts}
    role = "error" if bad or answered < total else "good"
    rows: list[Row] = [
        [
            (f"{answered} of {total} node{'' if total == 1 else 's'} answered", role),
            (f"; {healthy} without findings, {len(bad)} with errors", "plain"),
        ]
    ]
    if collection.damaged:
        lines = (
            "a damaged line was" if collection.damaged == 1 else f"{collection.damaged} damaged lines were"
        )
        rows.append([(f"{lines} left out", "dim")])
    return rows


def describe_fleet(fleet: Fleet, collection: Collection, version: str) -> dict[str, Any]:
    """Everything, schema 1."""
    return {
        "schema": 1,
        "tool": f"preflight {version}",
        "hosts": list(fleet.hosts),
        "answered": list(fleet.answered),
        "silent": list(fleet.silent),
        "healthy": list(fleet.healthy),
        "findings": [
            {
                "rule": verdict.rule,
                "family": "fleet" if verdict.rule.startswith("fleet-") else "node",
                "severity": verdict.severity,
                "message": verdict.message,
                "help": verdict.help,
                "nodes": fold_hosts(verdict.hosts),
                "hosts": list(verdict.hosts),
                "facts": dict(verdict.facts),
            }
            for verdict in fleet.verdicts
        ],
        "nodes": {
            host: {"silence": digest.silence, "seconds": digest.seconds, "facts": dict(digest.facts)}
            for host, digest in sorted(collection.digests.items())
        },
        "cliques": {key: dict(hosts) for key, hosts in fleet.cliques.items()},
        "votes": {
            product: {fact: dict(c) for fact, c in facts.items()} for product, facts in fleet.votes.items()
        },
        "damaged": collection.damaged,
        "launcher": list(collection.lines),
        "summary": {
            severity + "s": sum(verdict.severity == severity for verdict in fleet.verdicts)
            for severity in ("error", "warning", "note")
        },
    }


def write_fleet_json(fleet: Fleet, collection: Collection, version: str) -> str:
    return json.dumps(describe_fleet(fleet, collection, version), indent=2, ensure_ascii=False) + "\n"
