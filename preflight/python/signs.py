"""Whether a text is worth parsing: signs that a Python file may start a training program or configure one.

In: the bytes of a file.  Out: yes or no, by a few searches, without parsing.  A yes is no promise; a no is
final, so every spelling that the evaluator understands has its word here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from preflight.values import Text


class Signs:
    """Spellings, any of which is a sign; each begins with letters that it cannot do without.

    To look for letters costs a hundredth of what it costs to try a pattern at every place.
    """

    def __init__(self, *patterns: bytes) -> None:
        self.patterns = [re.compile(pattern) for pattern in patterns]

    def within(self, data: bytes) -> bool:
        """Whether one of them occurs."""
        return any(pattern.search(data) is not None for pattern in self.patterns)


def _words(words: str, ending: bytes, beginning: bytes = rb"\b") -> tuple[bytes, ...]:
    """Patterns of words that begin as a word does, with what follows them."""
    return tuple(b"%s(?<=%s%s)%s" % (word, beginning, word, ending) for word in words.encode().split())


_STARTING = (
    *(
        rb"subprocess",
        rb"from\s+os\s+import",
        rb"import(?<=\bimport)\s+os\s+as",
        rb"pty(?<=\bpty)\b",
        rb"submitit",
    ),
    *(rb"os(?<=\bos)\s*\.\s*(?:system|popen|exec|spawn|posix_spawn)", rb"elastic_launch", rb"entrypoint\s*="),
)
_STARTERS = Signs(*_STARTING, rb"torch\.distributed\.(?:run|launch)\b")
_CALLS = Signs(*_STARTING, rb"torch\.distributed\.(?:run|launch)\.main")
_RUNNERS = Signs(*_STARTING, rb"torch\.distributed")
_PROGRAM = rb"\w*\.(?:py|sh)\b"
_TRAINING = Signs(
    *(
        rb"torchrun",
        rb"torch\.distributed(?:\.(?:run|launch)\b|\s+import\s+(?:run|launch))",
        rb"elastic_launch",
    ),
    *(rb"torch_run", rb"msrun", rb"mpirun", rb"sbatch", rb"submitit", rb"--n(?:proc|nodes)", rb"ray job"),
    *_words("deepspeed accelerate srun", rb"\b"),
    *(word + _PROGRAM for word in b"train tune sft rlhf grpo ppo dpo benchmark".split()),
    *(rb"pretrain_\w+", rb"main_ppo", rb"verl\.trainer"),
    *_words("swift megatron", rb"[\s'\",]+(?:sft|pt|rlhf|export|infer|train)\b"),
)
_FLAGS = re.compile(
    rb"--(?:tensor|pipeline|context|expert)[-_]model[-_]parallel|--context[-_]parallel|--num[-_]layers"
    rb"|--micro[-_]batch[-_]size|--global[-_]batch[-_]size|--hidden[-_]size|--num[-_]attention[-_]heads"
)
_COMMANDS = Signs(
    *(
        rb"torchrun",
        rb"torch\.distributed\.(?:run|launch)\b",
        rb"torch_run",
        rb"msrun",
        rb"mpirun",
        rb"sbatch",
    ),
    *(quote + rb"\s*(?:deepspeed|accelerate|swift|megatron)\s" for quote in (b"'", b'"')),
    *(
        rb"\[\s*['\"](?:deepspeed|accelerate|swift)['\"]\s*,",
        rb"submitit",
        rb"--n(?:proc|nodes)",
        rb"ray job",
    ),
    *(*_words("srun", rb"\b"), rb"entrypoint\s*=", rb"main_ppo", rb"verl\.trainer"),
    *(word + _PROGRAM for word in b"train tune sft rlhf grpo ppo dpo".split()),
    *(rb"exec(?:ute)?_train", rb"launch_train", rb"submit_train", rb"run_train"),
)
_SCRIPT = re.compile(rb"\.(?:sh|bash|slurm|sbatch)\b")
_PYTHON = re.compile(rb"\.py\b|\s-[mc]\b")
_HELPED = rb"_(?:command|cmd|train(?:ing)?|job|shell)(?:_\w{1,4})?\s*\("
_HELPERS = Signs(*(verb + _HELPED for verb in (rb"exec(?:ute)?", rb"launch", rb"submit", rb"run")))
_OWN_HELPERS = Signs(*_words("exec execute launch submit run", _HELPED, rb"(?<![A-Za-z])"))
"""Those whose names say so in words of their own: `torchrun_cmd` makes a command, `run_cmd` runs one."""
_CLASSES = (rb"TransformerConfig\s*\(", rb"ModelParallelConfig\s*\(", rb"ModelProvider\w*\s*\(")
_SETTINGS = Signs(
    *(*_CLASSES, rb"_config\(\)", rb"tensor_model_parallel_size\s*=", rb"pipeline_model_parallel_size\s*="),
    *(rb"context_parallel_size\s*=", rb"global_batch_size\s*=", rb"micro_batch_size\s*="),
)
_FIELDS = Signs(
    *_CLASSES,
    rb"\.(?<!self\.)(?<!args\.)(?<!rollout\.)(?:tensor_model_parallel_size"
    rb"|pipeline_model_parallel_size|context_parallel_size|expert_model_parallel_size|sequence_parallel"
    rb"|global_batch_size|micro_batch_size|num_layers|train_iters)\s*=[^=]",
)

_PARTS = Signs(
    *_words("TrainingConfig SchedulerConfig CheckpointConfig", rb"\s*\("),
    rb"\.(?:(?<=\bmodel\.)|(?<=\bdataset\.)|(?<=\btrain\.)|(?<=\bscheduler\.)|(?<=\bcheckpoint\.))"
    rb"(?:seq_length|sequence_length|train_samples|async_save|lr_\w+)\s*=[^=]",
)
"""Parts of Megatron-Bridge's configuration that say nothing of sizes."""
_VIRTUAL = re.compile(
    rb"virtual_pipeline_model_parallel_size(?<=\bvirtual_pipeline_model_parallel_size)\s*=\s*\d"
)
"""What makes the process groups of an interleaved pipeline, where the number of its stages stands there."""


def may_hold_launch(data: bytes) -> bool:
    """Whether the text holds words that a launch cannot do without."""
    return starts_programs(data) or builds_settings(data)


def starts_programs(data: bytes) -> bool:
    """Whether something is run, and something of training is named."""
    if _FLAGS.search(data) is not None:
        return True
    if _HELPERS.within(data) and b"train" in data:
        return True
    return _RUNNERS.within(data) and _TRAINING.within(data)


def names_training(data: bytes) -> bool:
    """Whether words name training, or a shell script that may start it."""
    return _TRAINING.within(data) or _FLAGS.search(data) is not None or _SCRIPT.search(data) is not None


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
    if _HELPERS.within(data) and b"train" in data:
        return True
    return _STARTERS.within(data) and _TRAINING.within(data)


def starts_program(data: bytes) -> bool:
    """Whether code runs a program, or hands it to a function that by its name does."""
    if not any(word in data for word in _STARTING_WORDS):
        return False
    if _OWN_HELPERS.within(data):
        return True
    return _CALLS.within(data) and (_ANYTHING.within(data) or words_launch(data))


_ANYTHING = Signs(
    *(rb"python", rb"bash", rb"executable", rb"\.(?:sh|py)\b", rb"command", rb"words", rb"script"),
    *(rb"cmd(?<=\bcmd)s?\b", rb"arg(?<=\barg)v?s?\b", rb"shell\s*=\s*True"),
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


_WRITTEN = Signs(
    *(
        rb"torchrun(?:\s+-|['\"][\s,\]])",
        rb"torch\.distributed\.(?:run|launch)(?:\s+-|['\"][\s,\]])",
        rb"--nproc",
        rb"ray job submit",
    ),
    rb"mpirun(?:\s+-|['\"][\s,\]])",
)
"""What begins a command line of training, rather than a remark about one."""


def writes_launch(data: bytes) -> bool:
    """Whether a text has a command line of training written out: its words and several of its flags."""
    return _WRITTEN.within(data) and len(set(_FLAGS.findall(data))) > 2


def sets_sizes(data: bytes) -> bool:
    """Whether code builds a configuration or sets a size of one."""
    return _FIELDS.within(data)


def words_launch(data: bytes) -> bool:
    """Whether code has a word of a command line that launches training."""
    return _COMMANDS.within(data)


def is_likely(data: bytes) -> bool:
    """Whether a text starts training or builds a configuration, rather than naming what they need."""
    return starts_training(data) or builds_settings(data)


def builds_settings(data: bytes) -> bool:
    """Whether a configuration may be built by code."""
    if b"megatron.bridge" in data and _PARTS.within(data):
        return True
    if b"initialize_model_parallel" in data and _VIRTUAL.search(data) is not None:
        return True
    return _SETTINGS.within(data) and _FIELDS.within(data)
