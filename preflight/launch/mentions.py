"""What a script speaks of without saying it to the launch: variables set elsewhere, kinds of GPU.

In: a launch.  Out: yes or no.  Only words are looked at, so that a no is certain and a yes is none: who asks takes a
yes for "cannot tell".
"""

from __future__ import annotations

import re
from functools import lru_cache

from preflight.launch.containers import read_container
from preflight.launch.model import Launch
from preflight.patterns import pattern

_READ = rb"\s+(?!\S*/activate\b)\S"
_ELSEWHERE = pattern(
    rb"--env-file|(?:module|conda|spack)\s+(?:load|activate)\b"
    rb"|source(?<![^\s;&|({]source)" + _READ + rb"|\.(?<![^\s;&|({]\.)" + _READ
)
"""What stands in front of a word is looked at last: so the search goes by letters, not from each place of the text."""
_BLACKWELL = pattern(rb"(?i)\bg?b[23]00|blackwell|nvl72|\bsm_?100|\bdgx[-_ ]?b")
_GENERATION = (b"b200", b"b300", b"blackwell", b"nvl72", b"sm_100", b"sm100", b"dgx")
_STARTERS = pattern(rb"\b(srun|ssh|pdsh|clush|pssh|parallel-ssh|mpirun|mpiexec)\b")
_STARTER_SIGNS = (b"srun", b"ssh", b"pdsh", b"clush", b"mpirun", b"mpiexec")
"""Signs: one of them is in every text that the pattern finds, and looking for them costs next to nothing."""


def may_set_connections(launch: Launch) -> bool:
    """Whether the script, or what it takes variables from, may set CUDA_DEVICE_MAX_CONNECTIONS for the ranks."""
    return (
        "CUDA_DEVICE_MAX_CONNECTIONS" in launch.environment
        or b"MAX_CONNECTION" in launch.source.data
        or takes_variables(launch)
    )


def takes_variables(launch: Launch) -> bool:
    """Whether the ranks may see variables that neither the script nor its caller sets."""
    return (
        launch.closed_environment
        or launch.source.path.endswith(".py")
        or any(layer.kind == "ray" for layer in launch.wrappers)
        or read_container(launch) is not None
        or mentions(_ELSEWHERE, launch.source.data)
    )


def speaks_of_blackwell(launch: Launch) -> bool:
    """Whether the script names a GPU of the Blackwell generation."""
    return mentions(_BLACKWELL, launch.source.data, _GENERATION)


def speaks_of_starters(launch: Launch) -> bool:
    """Whether the script names what starts something on other nodes."""
    return mentions(_STARTERS, launch.source.data, _STARTER_SIGNS)


@lru_cache(maxsize=64)
def mentions(words: re.Pattern[bytes], data: bytes, signs: tuple[bytes, ...] = ()) -> bool:
    """Whether a script holds such words, and so one of their signs; kept, since each of its launches asks again."""
    if signs:
        small = data.lower()
        if not any(sign in small for sign in signs):
            return False
    return words.search(data) is not None
