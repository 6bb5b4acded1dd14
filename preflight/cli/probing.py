"""Options about the probe, shared by `node` and `exec`, and its start: early, so that it runs beside all imports.

In: a parser; parsed options.  Out: the same with more options; a probe under way, or None where a record replays.
"""

from __future__ import annotations

import os

from preflight.cli.sheet import Sheet, refuse
from preflight.node.probe import DEADLINE, Probe, start_probe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace


def begin_probe(options: Namespace, calls: bool = False) -> Probe | None:
    """Start asking NVML, unless a recorded node is to be used."""
    return None if options.node else start_probe(os.environ, options.deadline, calls)


def add_probe_options(sheet: Sheet) -> None:
    """What `node` and `exec` may say about the probe."""
    group = sheet.add_argument_group("the probe")
    group.add_argument(
        "--deadline",
        type=read_seconds,
        default=DEADLINE,
        metavar="S",
        help=f"seconds for NVML (default: {DEADLINE:g})",
    )
    group.add_argument("--expect-gpus", type=read_count, metavar="N", help="GPUs that the node must have")


def read_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        refuse(f"{text!r} is not a number of seconds above 0")
    return seconds


def read_count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1000:
        refuse(f"{text!r} is not a number of GPUs")
    return int(text)
