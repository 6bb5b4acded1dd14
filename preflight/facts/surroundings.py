"""What the caller says about the machines: options and GPU profiles.

In: `--nodes`, `--gpus-per-node`, `--gpu`, `--te`, and what a node's probe found.  Out: `Surroundings`.  It refuses the
name of a GPU that has no profile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from preflight.facts.model import Fact
from preflight.record import NamedTuple


class Profile(NamedTuple):
    """A GPU model in its usual node: compute capability, memory in GiB, GPUs of a node and of an NVLink domain."""

    name: str
    capability: tuple[int, int]
    memory: int
    gpus_per_node: int
    nvlink_domain: int


class Surroundings(NamedTuple):
    """All that is known apart from the launch itself; None is not said.

    `exists` answers for paths where preflight runs on the machine of the job; elsewhere it is None.
    """

    nodes: int | None = None
    gpus_per_node: int | None = None
    gpu: Profile | None = None
    te: str | None = None
    node: Mapping[str, Fact] = {}
    exists: Callable[[str], bool] | None = None


class ProfileError(ValueError):
    """There is no profile for this GPU."""


PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("p100", (6, 0), 16, 8, 8),
        Profile("v100", (7, 0), 32, 8, 8),
        Profile("t4", (7, 5), 16, 4, 1),
        Profile("a100", (8, 0), 80, 8, 8),
        Profile("a100-40gb", (8, 0), 40, 8, 8),
        Profile("a800", (8, 0), 80, 8, 8),
        Profile("a30", (8, 0), 24, 4, 2),
        Profile("a10", (8, 6), 24, 4, 1),
        Profile("a40", (8, 6), 48, 8, 2),
        Profile("rtx3090", (8, 6), 24, 8, 1),
        Profile("l4", (8, 9), 24, 8, 1),
        Profile("l40", (8, 9), 48, 8, 1),
        Profile("l40s", (8, 9), 48, 8, 1),
        Profile("l20", (8, 9), 48, 8, 1),
        Profile("rtx4090", (8, 9), 24, 8, 1),
        Profile("h20", (9, 0), 96, 8, 8),
        Profile("h100", (9, 0), 80, 8, 8),
        Profile("h800", (9, 0), 80, 8, 8),
        Profile("h200", (9, 0), 141, 8, 8),
        Profile("gh200", (9, 0), 96, 1, 1),
        Profile("b200", (10, 0), 180, 8, 8),
        Profile("gb200", (10, 0), 186, 4, 72),
        Profile("b300", (10, 3), 270, 8, 8),
        Profile("gb300", (10, 3), 279, 4, 72),
    )
}


class VersionError(ValueError):
    """Text that names no version."""


def read_te(text: str | None) -> str | None:
    """TransformerEngine's version as it was given, or None where it was not."""
    if text is not None and not text.removeprefix("v")[:1].isdigit():
        raise VersionError(f"{text!r} is no version of TransformerEngine, such as 2.9")
    return text


def find_profile(name: str) -> Profile:
    """The profile of a GPU by its short name, in any case."""
    found = PROFILES.get(name.strip().lower().replace("_", "-"))
    if found is None:
        raise ProfileError(f"no GPU profile named {name!r}; known are {', '.join(PROFILES)}")
    return found
