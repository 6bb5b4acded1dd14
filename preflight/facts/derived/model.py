"""What one rank gets of the model.

In: model sizes and parallel sizes.  Out: shares by rank, the padded vocabulary.
"""

from __future__ import annotations

from math import prod

from preflight.configuration.model import Value
from preflight.facts.steps import AbsentError, Reader, Steps

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


@step("hierarchical_context_product", "product of the hierarchical sizes", since="0.10")
def _(at: Reader) -> Value:
    sizes = at("hierarchical_context_parallel_sizes")
    if not isinstance(sizes, tuple):
        return None
    return prod(size for size in sizes if isinstance(size, int))


@step("heterogeneous_activation", "activation of the description", since="0.12")
def _(at: Reader) -> Value:
    found = _describe(at).get("hidden_act")
    return found if isinstance(found, str) else None


@step("heterogeneous_groups", "heads in a group, by layer of the description", since="0.12")
def _(at: Reader) -> Value:
    return tuple(_groups(_describe(at)))


@step("heterogeneous_differences", "flags that the description contradicts", since="0.12")
def _(at: Reader) -> Value:
    described = _describe(at)
    groups, heads = _groups(described), described.get("num_attention_heads")
    scaling = described.get("rope_scaling")
    wanted: dict[str, object] = {
        "swiglu": True,
        "normalization": "RMSNorm",
        "group_query_attention": True,
        "position_embedding_type": "rope",
        "rotary_percent": 1.0,
        "use_rope_scaling": True,
        "use_rotary_position_embeddings": True,
        "num_layers": described.get("num_hidden_layers"),
        "hidden_size": described.get("hidden_size"),
        "num_attention_heads": heads,
        "untie_embeddings_and_output_weights": not described.get("tie_word_embeddings"),
        "rotary_base": described.get("rope_theta"),
        "rope_scaling_factor": scaling.get("factor") if isinstance(scaling, dict) else None,
    }
    if groups and isinstance(heads, int):
        wanted["num_query_groups"] = heads // groups[0]
    return tuple(
        f"--{name.replace('_', '-')} should {state_value(value)}"
        for name, value in wanted.items()
        if at(f"requested_{name}") != value
    )


def state_value(value: object) -> str:
    """What a flag should be for a value that the description has."""
    if isinstance(value, bool) or value is None:
        return "be given" if value else "not be given"
    return f"be {value}"


def _describe(at: Reader) -> dict[str, object]:
    """The description of a heterogeneous model where it stands on the command line."""
    text = at.text("heterogeneous_layers_config_encoded_json")
    if text is None:
        raise AbsentError("heterogeneous_layers_config_encoded_json")
    import json

    try:
        described = json.loads(text)
    except (ValueError, RecursionError):
        raise AbsentError("heterogeneous_layers_config_encoded_json") from None
    if not isinstance(described, dict):
        raise AbsentError("heterogeneous_layers_config_encoded_json")
    return described


def _groups(described: dict[str, object]) -> list[int]:
    blocks = described.get("block_configs")
    found: list[int] = []
    for block in blocks if isinstance(blocks, list) else ():
        attention = block.get("attention") if isinstance(block, dict) else None
        heads = attention.get("n_heads_in_group") if isinstance(attention, dict) else None
        if isinstance(heads, int) and heads > 0:
            found.append(heads)
    return found
