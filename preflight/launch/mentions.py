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

_ELSEWHERE = pattern(
    rb"--env-file|\b(?:module|conda|spack)\s+(?:load|activate)\b"
    rb"|(?:^|[\s;&|({])(?:source|\.)\s+(?!\S*/activate\b)\S"
)
_BLACKWELL = pattern(rb"(?i)\bg?b[23]00|blackwell|nvl72|\bsm_?100|\bdgx[-_ ]?b")
_SIGNS = (b"b200", b"b300", b"blackwell", b"nvl72", b"sm_100", b"sm100", b"dgx")
"""One of these is in every text that the pattern finds, and looking for them costs next to nothing."""


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
    data = launch.source.data.lower()
    return any(sign in data for sign in _SIGNS) and mentions(_BLACKWELL, launch.source.data)


@lru_cache(maxsize=64)
def mentions(words: re.Pattern[bytes], data: bytes) -> bool:
    """Whether a script holds such words; kept, since each of its launches asks again."""
    return words.search(data) is not None
