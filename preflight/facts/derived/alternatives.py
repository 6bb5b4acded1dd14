"""Numbers that would work, for the help of messages.

In: the settings as Megatron uses them.  Out: short lists, nearest first or ascending.  What cannot be said without an
unknown fact is unknown, and the help leaves it out.
"""

from __future__ import annotations

from math import gcd, isqrt

from preflight.configuration.model import Value
from preflight.facts.steps import AbsentError, Reader, Steps

STEPS = Steps()
step = STEPS.step

TP, PP, CP = "tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size"
SHOWN = 6
LARGEST = 10**7


def list_divisors(number: int) -> list[int]:
    if not 0 < number <= LARGEST:
        return []
    small = [candidate for candidate in range(1, isqrt(number) + 1) if number % candidate == 0]
    return sorted({*small, *(number // candidate for candidate in small)})


def take_nearest(numbers: list[int], wanted: int) -> tuple[int, ...]:
    """The nearest few, ascending."""
    return tuple(sorted(sorted(numbers, key=lambda number: (abs(number - wanted), number))[:SHOWN]))


def _optional(at: Reader, name: str) -> int | None:
    """A count where it is known and there."""
    fact = at.fact(name)
    value = fact.value
    return value if fact.known and isinstance(value, int) and not isinstance(value, bool) else None


@step("tensor_parallel_choices", "sizes that divide the heads, groups, hidden size and the world")
def _(at: Reader) -> Value:
    heads = at.number("num_attention_heads")
    choices = list_divisors(heads)
    world, hidden = _optional(at, "world_size"), _optional(at, "hidden_size")
    rest = at.number(PP) * at.number(CP)
    if world is not None:
        choices = [size for size in choices if world % (size * rest) == 0]
    if hidden is not None:
        choices = [size for size in choices if hidden % size == 0]
    groups = _optional(at, "config_num_query_groups")
    if groups is not None and groups > 0:
        choices = [size for size in choices if groups % size == 0 or size % groups == 0]
    return take_nearest(choices, at.number(TP))


@step("pipeline_choices", "sizes that divide the layers and the world")
def _(at: Reader) -> Value:
    choices = list_divisors(at.number("pipeline_slots"))
    world = _optional(at, "world_size")
    if world is not None:
        rest = at.number(TP) * at.number(CP)
        choices = [size for size in choices if world % (size * rest) == 0]
    return take_nearest(choices, at.number(PP))


@step("layer_choices", "layer counts near this one that the stages divide")
def _(at: Reader) -> Value:
    stages, slots, layers = at.number(PP), at.number("pipeline_slots"), at.number("num_layers")
    virtual = _optional(at, "virtual_pipeline_model_parallel_size") or 1
    every = stages * virtual
    if every < 1:
        raise AbsentError(PP)
    low = slots // every * every
    extra = slots - layers
    return tuple(count - extra for count in (low, low + every) if count > extra)


@step("virtual_layer_choices", "layers of a virtual stage that divide a stage's layers into two or more")
def _(at: Reader) -> Value:
    slots, stages = at.number("pipeline_slots"), at.number(PP)
    if stages < 1 or slots % stages:
        raise AbsentError(PP)
    return tuple(list_divisors(slots // stages)[:-1])


@step("virtual_stage_choices", "virtual stages that divide the layers of every stage")
def _(at: Reader) -> Value:
    per_stage = at("layers_per_stage")
    if not isinstance(per_stage, tuple) or not per_stage:
        slots, stages = at.number("pipeline_slots"), at.number(PP)
        if stages < 1 or slots % stages:
            raise AbsentError(PP)
        return tuple(list_divisors(slots // stages)[1:])
    return tuple(list_divisors(gcd(*(count for count in per_stage if isinstance(count, int))))[1:])


@step("microbatch_choices", "micro batch counts that the interleaved schedule takes")
def _(at: Reader) -> Value:
    group = _optional(at, "config_microbatch_group_size_per_vp_stage") or at.number(PP)
    count = at.number("num_microbatches")
    if group < 1:
        raise AbsentError(PP)
    low = max(count // group * group, group)
    return (low,) if low == count else (low, low + group)


@step("interleaved_batch_choices", "global batch sizes that give such counts")
def _(at: Reader) -> Value:
    samples, counts = at.number("samples_per_micro_step"), at("microbatch_choices")
    return (
        tuple(count * samples for count in counts if isinstance(count, int))
        if isinstance(counts, tuple)
        else None
    )


@step("global_batch_choices", "global batch sizes near this one that divide evenly")
def _(at: Reader) -> Value:
    samples, size = at.number("samples_per_micro_step"), at.number("global_batch_size")
    if samples < 1:
        raise AbsentError("micro_batch_size")
    low = size // samples * samples
    return tuple(number for number in (low, low + samples) if number > 0)


@step("micro_batch_choices", "micro batch sizes that divide the global batch")
def _(at: Reader) -> Value:
    size, ranks = at.number("global_batch_size"), at.number("data_parallel_size")
    if ranks < 1 or size % ranks:
        return ()
    return take_nearest(list_divisors(size // ranks), at.number("micro_batch_size"))


@step("world_choices", "numbers of ranks near this one that the model divides")
def _(at: Reader) -> Value:
    ranks, world = at.number("model_parallel_ranks"), at.number("world_size")
    if ranks < 1:
        raise AbsentError(TP)
    low = world // ranks * ranks
    return tuple(number for number in (low, low + ranks) if number > 0)


@step("parallel_choices", "the nearest TP, PP and CP that fit the world, heads and layers")
def _(at: Reader) -> Value:
    world = at.number("world_size")
    wanted = (at.number(TP), at.number(PP), at.number(CP))
    heads, slots = _optional(at, "num_attention_heads"), _optional(at, "pipeline_slots")
    found: list[tuple[float, tuple[int, int, int]]] = []
    sizes = list_divisors(world)
    for tp in sizes:
        if tp > 64 or (heads is not None and heads % tp):
            continue
        for pp in list_divisors(world // tp):
            if slots is not None and slots % pp:
                continue
            for cp in list_divisors(world // tp // pp):
                if cp > max(wanted[2], 1) * 2:
                    break
                found.append((_distance((tp, pp, cp), wanted), (tp, pp, cp)))
    found.sort()
    return tuple(
        f"TP {tp} x PP {pp} x CP {cp} (DP {world // (tp * pp * cp)})" for _, (tp, pp, cp) in found[:4]
    )


def _distance(sizes: tuple[int, int, int], wanted: tuple[int, int, int]) -> float:
    """How far sizes are from those wanted, in factors; a change of two sizes counts more than of one."""
    total = 0.0
    for size, want in zip(sizes, wanted, strict=True):
        low, high = sorted((size, max(want, 1)))
        total += 0.0 if low == high else 1.0 + high / low
    return total


@step("expert_parallel_choices", "EP sizes that divide the experts and fit the world")
def _(at: Reader) -> Value:
    experts = at.number("num_experts")
    choices = list_divisors(experts)
    world, tensor = _optional(at, "decoder_ranks"), _optional(at, "expert_tensor_parallel_size")
    if world is not None:
        rest = (tensor or 1) * at.number(PP)
        choices = [size for size in choices if world % (size * rest) == 0]
    return take_nearest(choices, at.number("expert_model_parallel_size"))


@step("sequence_choices", "sequence lengths near this one that CP and TP divide")
def _(at: Reader) -> Value:
    length, cp = at.number("seq_length"), at.number(CP)
    every = (2 * cp if cp > 1 else 1) * (at.number(TP) if at("sequence_parallel") else 1)
    if every < 1:
        raise AbsentError(CP)
    low = length // every * every
    return tuple(number for number in (low, low + every) if number > 0)
