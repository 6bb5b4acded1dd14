"""The launch stage's readings as facts.

In: a launch.  Out: the facts that `derive_facts` takes as given: launcher, rendezvous, scheduler, containers.
Nothing is computed here; a reading that waits for something becomes an unknown fact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from preflight.configuration.model import Configuration
from preflight.facts.model import Blocker, Evidence, Fact
from preflight.facts.surroundings import Surroundings
from preflight.launch.facts import LAUNCH_FACTS, launch_facts
from preflight.launch.model import Launch
from preflight.launch.reading import Reading


def describe_launch(launch: Launch) -> Mapping[str, Fact]:
    """All facts that the launch alone decides."""
    return {name: describe_reading(name, reading) for name, reading in launch_facts(launch).items()}


def describe_reading(name: str, reading: Reading) -> Fact:
    evidence = () if reading.span is None else (Evidence(reading.span, reading.text),)
    if reading.unknown is not None:
        blocked = (Blocker(name, reading.unknown, reading.span),)
        return Fact(name, None, reading.origin, evidence, reading.assumptions, blocked)
    return Fact(name, reading.value, reading.origin, evidence, reading.assumptions)


class _Last:
    """The readings of the launch that was asked about last; its facts are asked for one by one."""

    def __init__(self) -> None:
        self.launch: Launch | None = None
        self.facts: Mapping[str, Fact] = {}

    def find(self, launch: Launch, name: str) -> Fact:
        if self.launch is not launch:
            self.launch, self.facts = launch, describe_launch(launch)
        return self.facts[name]


_last = _Last()


def _source(name: str) -> Callable[[Configuration, Surroundings, Mapping[str, Fact]], Fact]:
    def read(configuration: Configuration, surroundings: Surroundings, given: Mapping[str, Fact]) -> Fact:
        return _last.find(configuration.launch, name)

    return read


LAUNCH_SOURCES = {
    name: _source(name)
    for name in (line.partition("|")[0].strip() for line in LAUNCH_FACTS.splitlines())
    if name
}
"""A source for each name in `LAUNCH_FACTS`."""
