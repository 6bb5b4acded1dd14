"""Micro batches: how many a step runs, at the start and in a ramp-up.

In: batch sizes, the schedule flags.  Out: the number of micro batches at the first step, and what a schedule holds.
"""

from __future__ import annotations

from preflight.configuration.model import Value
from preflight.facts.steps import KEEP, AbsentError, Keep, Reader, Steps

STEPS = Steps()
step = STEPS.step


@step("samples_per_micro_step", "micro batch size x data parallel size", before="0.19")
def _(at: Reader) -> Value:
    return at.number("micro_batch_size") * at.number("data_parallel_size")


@step(
    "samples_per_micro_step", "micro batch size x data parallel size x weight shards beyond TP", since="0.19"
)
def _(at: Reader) -> Value:
    ranks = at.number("data_parallel_size") * at.number("gtp_weight_remat_size")
    return at.number("micro_batch_size") * ranks


def _rampup(at: Reader, index: int) -> Value:
    values = at("rampup_batch_size")
    if not isinstance(values, tuple) or len(values) != 3:
        return None
    try:
        return int(str(values[index]))
    except ValueError:
        return None


@step("rampup_start", "first of --rampup-batch-size")
def _(at: Reader) -> Value:
    return _rampup(at, 0)


@step("rampup_increment", "second of --rampup-batch-size")
def _(at: Reader) -> Value:
    return _rampup(at, 1)


@step("rampup_samples", "third of --rampup-batch-size")
def _(at: Reader) -> Value:
    return _rampup(at, 2)


@step("batch_schedule_thresholds", "samples at which the schedule changes", since="0.18")
def _(at: Reader) -> Value:
    return _schedule(at, 0)


@step("batch_schedule_sizes", "batch sizes of the schedule, by threshold", since="0.18")
def _(at: Reader) -> Value:
    return _schedule(at, 1)


def _schedule(at: Reader, index: int) -> Value:
    text = at.text("step_batch_size_schedule")
    if text is None:
        return None
    length = at("seq_length")
    from preflight.facts.sequences import parse_schedule

    steps = parse_schedule(text, length if isinstance(length, int) and length > 0 else None)
    return None if steps is None else tuple(entry[index] for entry in steps)


@step("first_global_batch_size", "where the ramp-up starts", before="0.18")
def _(at: Reader) -> Value:
    start = at("rampup_start")
    return at("global_batch_size") if start is None else start


@step("first_global_batch_size", "where the schedule starts", since="0.18")
def _(at: Reader) -> Value:
    sizes = at("batch_schedule_sizes")
    return sizes[0] if isinstance(sizes, tuple) and sizes else at("global_batch_size")


@step("num_microbatches", "batch size over samples of a micro step")
def _(at: Reader) -> Value:
    return at.number("first_global_batch_size") // at.number("samples_per_micro_step")


@step("full_num_microbatches", "micro batches once any ramp-up is over")
def _(at: Reader) -> Value:
    return at.number("global_batch_size") // at.number("samples_per_micro_step")


@step("training_samples", "samples that training asks for")
def _(at: Reader) -> Value | Keep:
    samples = at("train_samples")
    if samples is not None:
        return samples
    if at("train_iters") is None:
        raise AbsentError("train_iters")
    return at.number("train_iters") * at.number("global_batch_size")


@step("lr_decay_steps", "iterations over which the learning rate decays")
def _(at: Reader) -> Value | Keep:
    decay = at("lr_decay_iters")
    return at("train_iters") if decay is None else decay


@step("training_iterations_per_inference", "global batches of one inference iteration", since="0.15")
def _(at: Reader) -> Value | Keep:
    if not at("perform_rl_step"):
        return KEEP
    return at.number("inference_samples") // at.number("global_batch_size")
