"""What one rank gets of the model.

In: model sizes and parallel sizes.  Out: shares by rank, the padded vocabulary.
"""

from __future__ import annotations

from preflight.configuration.model import Value
from preflight.facts.steps import Reader, Steps

STEPS = Steps()
step = STEPS.step

TP = "tensor_model_parallel_size"


@step("heads_per_rank", "attention heads over TP")
def _(at: Reader) -> Value:
    return at.number("num_attention_heads") // at.number(TP)


@step("local_sequence_length", "tokens of a sequence that one context-parallel rank holds")
def _(at: Reader) -> Value:
    return at.number("seq_length") // at.number("context_parallel_size")


@step("tokenizer_vocab_size", "a null tokenizer adds an end token")
def _(at: Reader) -> Value:
    size = at.number("vocab_size")
    return size + 1 if at("tokenizer_type") == "NullTokenizer" else size


@step("padded_vocab_size", "rounded up so that TP divides it")
def _(at: Reader) -> Value:
    if at("padded_vocab_size") is not None:
        return at("padded_vocab_size")
    multiple = at.number("make_vocab_size_divisible_by") * at.number(TP)
    return -(-at.number("tokenizer_vocab_size") // multiple) * multiple


@step("moe_layers", "layers that hold experts, one 0 or 1 for each layer")
def _(at: Reader) -> Value:
    layers, frequency = at.number("num_layers"), at("moe_layer_freq")
    if at("num_experts") is None or layers > 100_000:
        return None
    if isinstance(frequency, tuple):
        return frequency
    every = frequency if isinstance(frequency, int) and frequency > 0 else 1
    return tuple(int(layer % every == 0) for layer in range(layers))


@step("experts_per_rank", "experts over EP")
def _(at: Reader) -> Value:
    return at.number("num_experts") // at.number("expert_model_parallel_size")
