"""Batch sizes, and the defaults of data and tokenizer that are settled with them.

In: micro batch size, data parallel size, data flags.  Out: global and evaluation batch sizes, split, tokenizer.
"""

from __future__ import annotations

from preflight.configuration.model import Value
from preflight.facts.steps import KEEP, Keep, Reader, Steps

STEPS = Steps()
step = STEPS.step

GPT_PROGRAMS = ("pretrain_gpt.py", "pretrain_mamba.py", "pretrain_hybrid.py")
LEGACY_SPLIT = "969, 30, 1"


@step("tokenizer_type", "the program's own default")
def _(at: Reader) -> Value | Keep:
    if at("tokenizer_type") is not None or at("program") not in GPT_PROGRAMS:
        return KEEP
    return "GPT2BPETokenizer"


@step("split", "an old default where data is given without one", since="0.8")
def _(at: Reader) -> Value | Keep:
    return LEGACY_SPLIT if at("split") is None and at("data_path") is not None else KEEP


@step("global_batch_size", "one micro batch for each data-parallel rank")
def _(at: Reader) -> Value | Keep:
    if at("global_batch_size") is not None:
        return KEEP
    ranks = at.number("data_parallel_size")
    return at.number("micro_batch_size") * ranks if ranks else KEEP


@step("eval_global_batch_size", "as in training", since="0.18")
def _(at: Reader) -> Value | Keep:
    return at("global_batch_size") if at("eval_global_batch_size") is None else KEEP


@step("eval_micro_batch_size", "as in training", since="0.18")
def _(at: Reader) -> Value | Keep:
    return at("micro_batch_size") if at("eval_micro_batch_size") is None else KEEP


@step("inference_samples", "samples of one inference iteration", since="0.15")
def _(at: Reader) -> Value | Keep:
    if not at("perform_rl_step"):
        return KEEP
    return at.number("grpo_samples_per_iteration") * at.number("grpo_iterations")
