"""How the ranks are grouped.

In: parallel sizes and the number of ranks.  Out: expert and optimizer groups, ranks of a node and of a model.
"""

from __future__ import annotations

from preflight.configuration.model import Value
from preflight.facts.steps import Reader, Steps

STEPS = Steps()
step = STEPS.step

EP, PP = "expert_model_parallel_size", "pipeline_model_parallel_size"


@step("expert_parallel_ranks", "expert TP x EP x PP", since="0.10", before="0.19")
def _(at: Reader) -> Value:
    return at.number("expert_tensor_parallel_size") * at.number(EP) * at.number(PP)


@step("expert_parallel_ranks", "expert TP x EP x PP x weight shards beyond", since="0.19")
def _(at: Reader) -> Value:
    ranks = at.number("expert_tensor_parallel_size") * at.number(EP) * at.number(PP)
    return ranks * at.number("expert_gtp_weight_remat_size")


@step("encoder_ranks", "ranks of an encoder with stages of its own", since="0.9", before="0.14")
def _(at: Reader) -> Value:
    tp, stages = at.number("tensor_model_parallel_size"), at.number("encoder_pipeline_model_parallel_size")
    tensor = at.number("encoder_tensor_model_parallel_size")
    if stages > 0 and tensor == 0:
        tensor = tp
    both = tensor * stages + tp * at.number(PP)
    copies = at.number("world_size") // (both * at.number("context_parallel_size"))
    return tensor * stages * at.number("context_parallel_size") * copies


@step("decoder_ranks", "the ranks that no encoder takes")
def _(at: Reader) -> Value:
    encoder = at("encoder_ranks")
    return at.number("world_size") - (encoder if isinstance(encoder, int) else 0)


@step("expert_data_parallel_size", "data parallel over EP", before="0.10")
def _(at: Reader) -> Value:
    return at.number("data_parallel_size") // at.number(EP)


@step("expert_data_parallel_size", "the ranks that one set of experts does not take", since="0.10")
def _(at: Reader) -> Value:
    return at.number("decoder_ranks") // at.number("expert_parallel_ranks")


@step("model_fills_nodes", "whether TP x CP ranks stay inside a node")
def _(at: Reader) -> Value:
    together = at.number("tensor_model_parallel_size") * at.number("context_parallel_size")
    return together <= at.number("gpus_per_node")


@step("optimizer_data_parallel_size", "data parallel x CP, which the distributed optimizer shards over")
def _(at: Reader) -> Value:
    return at.number("data_parallel_size") * at.number("context_parallel_size")
