"""Whose program a launch starts: one that Megatron ships, a fork's, or something else.

In: a launch.  Out: `Origin`.  A program that Megatron ships is Megatron's own by its name, wherever it lies, unless
something says that a fork of Megatron runs it.  Another program counts as built on Megatron where its flags say so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache

from preflight.launch.model import Launch
from preflight.record import NamedTuple
from preflight.targets.history import ELDER, find_programs, list_releases
from preflight.targets.releases import RELEASES

GENERIC_NAMES = frozenset(
    {"train.py", "main.py", "generate.py", "export.py", "finetune.py", "prune.py", "quantize.py"}
    | {
        "validate.py",
        "convert_model.py",
        "cli.py",
        "mmlu.py",
        "convert.py",
        "preprocess_data.py",
        "evaluate.py",
    }
    | {"offline_inference.py"}
)
"""Names that others use too: these count only with Megatron's folder in front of them."""

MEGATRON_FLAGS = frozenset(
    {"--tensor-model-parallel-size", "--pipeline-model-parallel-size", "--context-parallel-size"}
    | {
        "--sequence-parallel",
        "--expert-model-parallel-size",
        "--num-layers",
        "--hidden-size",
        "--lr-decay-style",
    }
    | {"--num-attention-heads", "--max-position-embeddings", "--micro-batch-size", "--global-batch-size"}
    | {
        "--train-iters",
        "--lr-decay-iters",
        "--use-distributed-optimizer",
        "--use-mcore-models",
        "--tokenizer-type",
    }
    | {"--ffn-hidden-size", "--num-query-groups"}
)
"""Flags by which one knows Megatron's command line."""

TELLING_FLAGS = frozenset({"--tensor-model-parallel-size", "--pipeline-model-parallel-size"})

FORK_LAUNCHERS = frozenset({"msrun", "deepspeed"})
ACCELERATORS = (b"mindspeed", b"mindspore", b"ascend", b"torch_npu", b"hccl", b"musa_", b"moore", b"habana")
FORK_SIGNS = (*ACCELERATORS, b"deepspeed")
"""Words in a launch script that say that not NVIDIA's Megatron runs: accelerators and frameworks that fork it."""


class Origin(NamedTuple):
    """`own`: Megatron ships a program of this name.  `based`: its flags are Megatron's.  `fork`: why not all of its
    flags need to be Megatron's, in words; empty where nothing says so.  `patched`: the same where it says that Megatron
    itself is not NVIDIA's, whatever release lies beside the script."""

    own: bool
    based: bool
    paths: tuple[str, ...] = ()
    fork: str = ""
    patched: str = ""

    def speaking(self, sign: str) -> Origin:
        """The same with a further sign of a fork."""
        return self._replace(fork=self.fork or sign, patched=self.patched or sign)


def find_origin(launch: Launch) -> Origin:
    """Whose program it is."""
    paths = match_program(launch)
    sign = find_fork_sign(launch)
    if paths:
        return Origin(True, True, paths, sign, sign)
    flags = set(list_flags(launch))
    based = bool(flags & TELLING_FLAGS) or len(flags & MEGATRON_FLAGS) >= 4
    return Origin(False, based, fork="the program is not one of Megatron's" if based else "", patched=sign)


def list_flags(launch: Launch) -> Iterable[str]:
    """The known option texts of a command line, without values."""
    for word in launch.argv:
        text = word.text.value
        if text is not None and text.startswith("--") and len(text) > 2:
            yield text.partition("=")[0]


def match_program(launch: Launch) -> tuple[str, ...]:
    """Megatron's paths of a program with this name; a generic name needs its folder too."""
    if launch.program is None:
        return ()
    shown = launch.program.text.display()
    if not shown.endswith(".py"):
        shown = shown.replace(".", "/") + ".py"
    name = os.path.basename(shown)
    candidates = find_programs(name)
    if name not in GENERIC_NAMES or not candidates:
        return tuple(candidates)
    directory = launch.directory.display() if launch.directory is not None else ""
    place = os.path.normpath(os.path.join(directory, shown)).split("/")[-2:]
    return tuple(path for path in candidates if path.split("/")[-2:] == place)


def find_fork_sign(launch: Launch) -> str:
    """What says that a fork of Megatron runs the program, or the empty text."""
    if launch.launcher.kind in FORK_LAUNCHERS:
        return f"{launch.launcher.kind} starts it"
    sign = find_sign(launch.source.data)
    return f"the script speaks of {sign.decode().strip('_')}" if sign else ""


@lru_cache(maxsize=64)
def find_sign(data: bytes) -> bytes:
    """The first of the signs that a script holds; kept, since each of its launches asks again."""
    beginning = data[: 2**18].lower()
    return next((sign for sign in FORK_SIGNS if sign in beginning), b"")


def find_elder_sign(launch: Launch) -> str:
    """What says that a Megatron from before core 0.5 runs the program: such a flag, and none that came later."""
    flags = list(list_flags(launch))
    elder = next((flag for flag in flags if flag in ELDER), "")
    if not elder or any(releases and RELEASES[0] not in releases for releases in map(list_releases, flags)):
        return ""
    return f"{elder} is from before Megatron core 0.5"
