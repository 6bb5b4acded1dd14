"""Tries of rules' examples through the whole chain.

In: rules and an example at one release.  Out: what a check of its script says, and the script as its fixes leave it.
The script is checked in a folder of its own that holds nothing but the files that the example names.  An example that
cannot be tried (a GPU, node or release that is not known, a file outside its folder) is a complaint like any other.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping

from preflight.chain import Request
from preflight.engine.rule import Rule, RuleSet
from preflight.examples import Answer, Example, list_examples, try_example
from preflight.facts.model import Fact
from preflight.facts.surroundings import ProfileError, Surroundings, VersionError, find_profile, read_te
from preflight.fixes import mend
from preflight.node.record import RecordError
from preflight.outcome import FileOutcome
from preflight.ruling import check_source
from preflight.source import Source
from preflight.targets.choose import TargetError


def try_rules(
    rules: RuleSet, chosen: Iterable[Rule], releases: Iterable[str]
) -> Iterable[tuple[Example, list[str]]]:
    """Every example of the chosen rules with its complaints."""
    names = tuple(releases)
    for rule in chosen:
        for example in list_examples(rules, rule, names):
            try:
                complaints = try_example(example, lambda each: check_example(rules, each))
            except UNTRIED as error:
                complaints = [f"cannot be tried: {error}"]
            yield example, complaints


class TrialError(ValueError):
    """Why an example cannot be tried."""


UNTRIED = (TrialError, ProfileError, VersionError, RecordError, TargetError)


def check_example(rules: RuleSet, example: Example) -> Answer:
    """Check one example's script."""
    with tempfile.TemporaryDirectory(prefix="preflight-example-") as folder:
        for name, content in example.data.get("files", {}).items():
            lay_file(folder, name, content)
        request = make_request(rules, example, folder)
        source = Source(example.name, example.script.encode())
        outcome = check_source(source, request)
        if outcome.error is not None:
            raise TrialError(outcome.error)
        fixed = None
        if "fixed" in example.data:
            fixed = fix_example(source, request, example.rule)
        findings = tuple(d for d in outcome.diagnostics if d.ignored is None)
        return Answer(findings, outcome.undecided, fixed)


def lay_file(folder: str, name: str, content: str) -> None:
    path = os.path.normpath(os.path.join(folder, name))
    if not path.startswith(folder + os.sep):
        raise TrialError(f"its file {name!r} lies outside of its folder")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(content)


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
            te=read_te(data.get("te")),
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
