"""Configurations for tests: a command line, bound, with what the surroundings say."""

from __future__ import annotations

from preflight.configuration.bind import bind_launch
from preflight.facts.derive import NOTHING_SAID, Facts, derive_facts
from preflight.facts.surroundings import Surroundings
from preflight.targets.table import load_table
from tests.agreement.rows import build_launch

NEWEST = "core_v0.19.0"


def facts_of(
    arguments: str, release: str = NEWEST, world: int | None = 8, surroundings: Surroundings = NOTHING_SAID
) -> Facts:
    """The facts of `python pretrain_gpt.py ARGUMENTS` on so many ranks."""
    environment = {} if world is None else {"WORLD_SIZE": str(world)}
    launch = build_launch(arguments.split(), environment)
    (configuration,) = bind_launch(launch, load_table(release))
    return derive_facts(configuration, surroundings)
