"""Which releases know a flag, and what took the place of those that went.

In: `history.json`, generated from the flag tables.  Out: the releases of a flag, the first and last of them; from a
small declared table, what a removed or imagined flag is called now.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from preflight.constants import read_constant, write_constant
from preflight.targets.releases import RELEASES
from preflight.targets.table import COMPILED_TABLES, FOLDER, load_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

PATH = os.path.join(FOLDER, "history.json")

RENAMED: dict[str, str] = {
    "--activations-checkpoint-method": "--recompute-method",
    "--activations-checkpoint-num-layers": "--recompute-num-layers",
    "--checkpoint-num-layers": "--recompute-num-layers",
    "--distribute-checkpointed-activations": "--distribute-saved-activations",
    "--enable-one-logger": "--no-one-logger",
    "--grpo-default-temperature": "--rl-default-temperature",
    "--grpo-default-top-p": "--rl-default-top-p",
    "--inference-dynamic-batching-max-requests-override": "--inference-dynamic-batching-max-requests",
    "--inference-dynamic-batching-max-tokens-override": "--inference-dynamic-batching-max-tokens",
    "--local_rank": "--local-rank",
    "--min-scale": "--min-loss-scale",
    "--moe-extended-tp": "--expert-tensor-parallel-size",
    "--muon-use-nesterov": "--muon-nesterov",
    "--num-expert": "--num-experts",
    "--pipeline-parallel-size": "--pipeline-model-parallel-size",
    "--s3-cache-path": "--object-storage-cache-path",
    "--sequence-parallel-size": "--context-parallel-size",
    "--standalone-embedding-stage": "--account-for-embedding-in-pipeline-split",
    "--tensor-parallel-size": "--tensor-model-parallel-size",
    "--tiktoken-special-tokens": "--tokenizer-special-tokens",
    "--tokenizer-hf-include-special-tokens": "--tokenizer-hf-no-include-special-tokens",
    "--tokenizer-hf-use-fast": "--tokenizer-hf-no-use-fast",
    "--top-k": "--moe-router-topk",
    "--use-custom-fsdp": "--use-megatron-fsdp",
    "--use-fp8": "--fp8-format",
    "--fp8-e4m3": "--fp8-format",
    "--fp8-hybrid": "--fp8-format",
    "--lr-scheduler": "--lr-decay-style",
}
"""What a flag that a release does not know is called there. Not all take the same value: a look is needed."""

SAME_VALUE = frozenset(
    {
        "--checkpoint-num-layers",
        "--activations-checkpoint-num-layers",
        "--activations-checkpoint-method",
        "--distribute-checkpointed-activations",
        "--grpo-default-temperature",
        "--grpo-default-top-p",
        "--local_rank",
        "--min-scale",
        "--muon-use-nesterov",
        "--pipeline-parallel-size",
        "--s3-cache-path",
        "--tensor-parallel-size",
        "--use-custom-fsdp",
    }
)
"""Those of them where only the name changed."""

ELDER = frozenset(
    {"--data-impl", "--DDP-impl", "--no-contiguous-buffers-in-local-ddp", "--use-contiguous-buffers-in-ddp"}
    | {"--lazy-loader", "--use-npy-data-loader", "--val-data-path", "--use-tfrecords", "--pretrained-bert"}
    | {"--fp32-embedding", "--fp32-layernorm", "--fp32-tokentypes", "--loose-json", "--presplit-sentences"}
    | {"--override-lr-scheduler", "--use-checkpoint-lr-scheduler", "--fp32-allreduce", "--faiss-use-gpu"}
    | {"--scaled-upper-triang-masked-softmax-fusion", "--scaled-masked-softmax-fusion"}
    | {"--img-dim", "--deep-init", "--resume-dataloader", "--skip-mmap-warmup", "--tokenizer-model-type"}
)
"""Flags that Megatron had before core 0.5, the first release with a table, and that none has had since."""

_masks: dict[str, int] = {}
_programs: list[str] = []
_named: dict[str, list[str]] = {}


def read_masks() -> dict[str, int]:
    """The releases of each flag, a bit for each of them, the oldest in the lowest."""
    if not _masks:
        try:
            _masks.update(read_constant(os.path.join(COMPILED_TABLES, "history.py")))
        except FileNotFoundError:
            data = read_json(PATH)
            _masks.update(dict.fromkeys(data["everywhere"], (1 << len(RELEASES)) - 1))
            for mask, flags in data["some"].items():
                _masks.update(dict.fromkeys(flags, int(mask)))
    return _masks


def list_programs() -> Sequence[str]:
    """The entry points that any of the releases ships, by path."""
    if not _programs:
        try:
            _programs.extend(read_constant(os.path.join(COMPILED_TABLES, "programs.py")))
        except FileNotFoundError:
            _programs.extend(read_json(PATH)["programs"])
    return _programs


def find_programs(name: str) -> Sequence[str]:
    """Those of them whose file has this name."""
    if not _named:
        for path in list_programs():
            _named.setdefault(os.path.basename(path), []).append(path)
    return _named.get(name, ())


def read_json(path: str) -> Any:
    import json

    with open(path, "rb") as stream:
        return json.load(stream)


def compile_history(folder: Path) -> None:
    """Write the history as constants."""
    write_constant(folder / "history.py", read_masks())
    write_constant(folder / "programs.py", tuple(list_programs()))


def list_releases(flag: str) -> tuple[str, ...]:
    """The releases whose own parser knows a flag, from old to new."""
    mask = read_masks().get(flag, 0)
    return tuple(name for number, name in enumerate(RELEASES) if mask >> number & 1)


def write_history() -> str:
    """Generate the file from the tables."""
    import json

    masks: dict[str, int] = {}
    programs: dict[str, None] = {}
    for number, release in enumerate(RELEASES):
        table = load_table(release)
        for flag in table.flags:
            masks[flag] = masks.get(flag, 0) | 1 << number
        programs |= dict.fromkeys(table.programs)
    everywhere = (1 << len(RELEASES)) - 1
    some: dict[str, list[str]] = {}
    for flag, mask in sorted(masks.items()):
        if mask != everywhere:
            some.setdefault(str(mask), []).append(flag)
    data = {
        "everywhere": sorted(flag for flag, mask in masks.items() if mask == everywhere),
        "some": some,
        "programs": sorted(programs),
    }
    with open(PATH, "w", encoding="utf-8") as stream:
        json.dump(data, stream, indent=0)
        stream.write("\n")
    return PATH
