"""Tries of rules' examples through the whole chain.

In: rules and an example at one release.  Out: what a check of its script says, and the script as its fixes leave it.
The script is checked in a folder of its own that holds nothing but the files that the example names.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping

from preflight.chain import Request
from preflight.engine.rule import Rule, RuleSet
from preflight.examples import Answer, Example, list_examples, try_example
from preflight.facts.model import Fact
from preflight.facts.surroundings import Surroundings, find_profile
from preflight.fixes import mend
from preflight.outcome import FileOutcome
from preflight.ruling import check_source
from preflight.source import Source


def try_rules(
    rules: RuleSet, chosen: Iterable[Rule], releases: Iterable[str]
) -> Iterable[tuple[Example, list[str]]]:
    """Every example of the chosen rules with its complaints."""
    names = tuple(releases)
    for rule in chosen:
        for example in list_examples(rules, rule, names):
            yield example, try_example(example, lambda each: check_example(rules, each))


def check_example(rules: RuleSet, example: Example) -> Answer:
    """Check one example's script."""
    with tempfile.TemporaryDirectory(prefix="preflight-example-") as folder:
        for name, content in example.data.get("files", {}).items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(content)
        request = make_request(rules, example, folder)
        source = Source(example.name, example.script.encode())
        outcome = check_source(source, request)
        if outcome.error is not None:
            raise AssertionError(outcome.error)
        fixed = None
        if "fixed" in example.data:
            fixed = fix_example(source, request, example.rule)
        findings = tuple(d for d in outcome.diagnostics if d.ignored is None)
        return Answer(findings, outcome.undecided, fixed)


def make_request(rules: RuleSet, example: Example, folder: str) -> Request:
    """What the example says about its surroundings."""
    data = example.data
    node = data.get("node")
    arguments = data.get("arguments")
    return Request(
        rules=rules,
        target=example.release,
        surroundings=Surroundings(
            nodes=data.get("nodes"),
            gpus_per_node=data.get("gpus_per_node"),
            gpu=find_profile(data["gpu"]) if "gpu" in data else None,
            te=data.get("te"),
            node=plant_node(node) if node else {},
            exists=(lambda path: os.path.exists(os.path.join(folder, path))) if node else None,
        ),
        environment={name: str(value) for name, value in data.get("env", {}).items()},
        closed_environment=bool(data.get("closed_env", False)),
        arguments=dict(enumerate(map(str, arguments or ()), 1)),
        closed_arguments=arguments is not None,
        directory=folder,
        root=folder,
    )


def plant_node(text: str) -> Mapping[str, Fact]:
    """The facts of a node profile, with the changes that an example plants in it."""
    from preflight.facts.machine import describe_node
    from preflight.node.profiles import build_node

    return describe_node(build_node(text))


def fix_example(source: Source, request: Request, rule: str) -> str:
    """The script after the fixes of its rule, unsafe ones too."""
    alone = request._replace(select=(rule,))

    def check(contents: Mapping[str, bytes]) -> FileOutcome:
        own = Source(source.path, contents.get(source.path, source.data))
        return check_source(own, alone._replace(overlay=contents))

    return mend(check, unsafe=True).after.get(source.path, source.data).decode()
