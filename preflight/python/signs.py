"""Whether a text is worth parsing: signs that a Python file may start a training program or configure one.

In: the bytes of a file.  Out: yes or no, by a few searches, without parsing.  A yes is no promise; a no is
final, so every spelling that the evaluator understands has its word here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight.values import Text

_STARTING = (
    rb"subprocess|\bos\s*\.\s*(?:system|popen|exec|spawn|posix_spawn)|from\s+os\s+import|\bpty\b|\bimport\s+os\s+as"
    rb"|torch\.distributed\.(?:run|launch)\b|elastic_launch|submitit|entrypoint\s*="
)
_STARTERS = re.compile(_STARTING)
_RUNNERS = re.compile(_STARTING + rb"|torch\.distributed")
_TRAINING = re.compile(
    rb"torchrun|torch\.distributed(?:\.(?:run|launch)\b|\s+import\s+(?:run|launch))|elastic_launch|torch_run"
    rb"|\bdeepspeed\b|\baccelerate\b|msrun|mpirun|\bsrun\b|sbatch|submitit|--nproc|--nnodes|ray job"
    rb"|(?:train|tune|sft|rlhf|grpo|ppo|dpo|benchmark)\w*\.(?:py|sh)\b|pretrain_\w+|main_ppo|verl\.trainer"
    rb"|\b(?:swift|megatron)[\s'\",]+(?:sft|pt|rlhf|export|infer|train)\b"
)
_FLAGS = re.compile(
    rb"--(?:tensor|pipeline|context|expert)[-_]model[-_]parallel|--context[-_]parallel|--num[-_]layers"
    rb"|--micro[-_]batch[-_]size|--global[-_]batch[-_]size|--hidden[-_]size|--num[-_]attention[-_]heads"
)
_COMMANDS = re.compile(
    rb"torchrun|torch\.distributed\.(?:run|launch)\b|torch_run|['\"]\s*(?:deepspeed|accelerate|swift|megatron)\s"
    rb"|\[\s*['\"](?:deepspeed|accelerate|swift)['\"]\s*,|msrun|mpirun|\bsrun\b|sbatch|submitit|--nproc|--nnodes"
    rb"|ray job|entrypoint\s*=|(?:train|tune|sft|rlhf|grpo|ppo|dpo)\w*\.(?:py|sh)\b|main_ppo|verl\.trainer"
    rb"|(?:exec(?:ute)?|launch|submit|run)_train"
)
_SCRIPT = re.compile(rb"\.(?:sh|bash|slurm|sbatch)\b")
_PYTHON = re.compile(rb"\.py\b|\s-[mc]\b")
_HELPERS = re.compile(
    rb"(?:exec(?:ute)?|launch|submit|run)_(?:command|cmd|train(?:ing)?|job|shell)(?:_\w{1,4})?\s*\("
)
_SETTINGS = re.compile(
    rb"(?:Transformer|ModelParallel)Config\s*\(|ModelProvider\w*\s*\(|(?:tensor|pipeline)_model_parallel_size\s*="
    rb"|context_parallel_size\s*=|_config\(\)|(?:global|micro)_batch_size\s*="
)
_FIELDS = re.compile(
    rb"(?:Transformer|ModelParallel)Config\s*\(|ModelProvider\w*\s*\("
    rb"|(?<!self)(?<!args)(?<!rollout)\.(?:tensor_model_parallel_size"
    rb"|pipeline_model_parallel_size|context_parallel_size|expert_model_parallel_size|sequence_parallel"
    rb"|global_batch_size|micro_batch_size|num_layers|train_iters)\s*=[^=]"
)

_PARTS = re.compile(
    rb"\b(?:Training|Scheduler|Checkpoint)Config\s*\("
    rb"|\b(?:model|dataset|train|scheduler|checkpoint)\.(?:seq_length|sequence_length|train_samples|async_save|lr_\w+)\s*=[^=]"
)
"""Parts of Megatron-Bridge's configuration that say nothing of sizes."""
_VIRTUAL = re.compile(rb"\bvirtual_pipeline_model_parallel_size\s*=\s*\d")
"""What makes the process groups of an interleaved pipeline, where the number of its stages stands there."""


def may_hold_launch(data: bytes) -> bool:
    """Whether the text holds words that a launch cannot do without."""
    return starts_programs(data) or builds_settings(data)


def starts_programs(data: bytes) -> bool:
    """Whether something is run, and something of training is named."""
    if _FLAGS.search(data) is not None:
        return True
    if _HELPERS.search(data) is not None and b"train" in data:
        return True
    return _RUNNERS.search(data) is not None and _TRAINING.search(data) is not None


def names_training(data: bytes) -> bool:
    """Whether words name training, or a shell script that may start it."""
    return any(sign.search(data) is not None for sign in (_TRAINING, _FLAGS, _SCRIPT))


def may_train(data: bytes) -> bool:
    """Whether a command line could be one of a training program."""
    return names_training(data) or _PYTHON.search(data) is not None


def may_launch(words: Sequence[Text]) -> bool:
    """Whether a command could start training: it is not known, or names a program or script that may."""
    if not words or words[0].value is None:
        return True
    return may_train(" ".join(word.display() for word in words).encode("utf-8", "replace"))


def starts_training(data: bytes) -> bool:
    """Whether a module runs programs of training itself; that it knows their flags is not enough."""
    if _HELPERS.search(data) is not None and b"train" in data:
        return True
    return _STARTERS.search(data) is not None and _TRAINING.search(data) is not None


def starts_program(data: bytes) -> bool:
    """Whether code runs a program, or hands it to a function that by its name does."""
    if not any(word in data for word in _STARTING_WORDS):
        return False
    if _HELPERS.search(data) is not None:
        return True
    return _STARTERS.search(data) is not None and (_ANYTHING.search(data) is not None or words_launch(data))


_ANYTHING = re.compile(
    rb"python|bash|executable|\.sh\b|\.py\b|\bcmds?\b|command|\bargv?s?\b|words|script|shell\s*=\s*True"
)
"""Code that starts a program and has none of these starts a certain one, such as git or make."""

_STARTING_WORDS = (
    *(
        b"subprocess",
        b"system",
        b"popen",
        b"exec",
        b"spawn",
        b"pty",
        b"from os ",
        b"import os as",
        b"elastic",
    ),
    *(b"torch.distributed.", b"submitit", b"entrypoint", b"_command", b"_cmd", b"_train", b"_job", b"_shell"),
)
"""One of these is in whatever starts a program; looking for words costs a tenth of looking for patterns."""


_WRITTEN = re.compile(rb"torchrun|torch\.distributed\.(?:run|launch)\b|--nproc|ray job|mpirun|train\w*\.py\b")


def writes_launch(data: bytes) -> bool:
    """Whether a text has a command line of training written out: its words and several of its flags."""
    return _WRITTEN.search(data) is not None and len(set(_FLAGS.findall(data))) > 2


def sets_sizes(data: bytes) -> bool:
    """Whether code builds a configuration or sets a size of one."""
    return _FIELDS.search(data) is not None


def words_launch(data: bytes) -> bool:
    """Whether code has a word of a command line that launches training."""
    return _COMMANDS.search(data) is not None


def is_likely(data: bytes) -> bool:
    """Whether a text starts training or builds a configuration, rather than naming what they need."""
    return starts_training(data) or builds_settings(data)


def builds_settings(data: bytes) -> bool:
    """Whether a configuration may be built by code."""
    if b"megatron.bridge" in data and _PARTS.search(data) is not None:
        return True
    if b"initialize_model_parallel" in data and _VIRTUAL.search(data) is not None:
        return True
    return _SETTINGS.search(data) is not None and _FIELDS.search(data) is not None
