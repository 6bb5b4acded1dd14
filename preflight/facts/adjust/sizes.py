"""Parallel sizes, and the deprecated flags that are folded in before anything else.

In: the settings as parsed, and the number of ranks.  Out: model, data and expert parallel sizes, and what stands for
the old spellings of recompute and CUDA graph flags.
"""

from __future__ import annotations

from preflight.configuration.model import Value
from preflight.facts.model import Blocker
from preflight.facts.steps import KEEP, Keep, MissingError, Reader, Steps
from preflight.values import Unknown

STEPS = Steps()
step = STEPS.step

TP, PP, CP = "tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size"


RETRIEVAL = (
    "data_path",
    "global_batch_size",
    "max_position_embeddings",
    "seq_length",
    "tokenizer_type",
    "train_samples",
    "vocab_file",
)
"""Settings that a retrieval project decides."""


def _take_from_project(name: str) -> None:
    @step(name, "a retrieval project says it", since="0.6", before="0.16")
    def _(at: Reader) -> Value | Keep:
        project = at("retro_project_dir")
        if project is None:
            return KEEP
        raise MissingError((Blocker(name, Unknown("file", f"--retro-project-dir {project}")),))


for _name in RETRIEVAL:
    _take_from_project(_name)


@step("exit_on_missing_checkpoint", "conversion asks for a checkpoint", since="0.18")
def _(at: Reader) -> Value | Keep:
    return KEEP if at("ckpt_convert_format") is None else True


@step("use_dist_ckpt", "every format but torch is distributed", since="0.9")
def _(at: Reader) -> Value:
    return at("ckpt_format") != "torch"


@step(TP, "no larger than the world", before="0.9")
def _(at: Reader) -> Value:
    return min(at.number(TP), at.number("world_size"))


@step(PP, "no larger than what TP leaves of the world", before="0.9")
def _(at: Reader) -> Value:
    return min(at.number(PP), at.number("world_size") // at.number(TP))


@step("tensor_parallel_num_weight_shards", "as many shards as TP unless said", since="0.19")
def _(at: Reader) -> Value | Keep:
    return at(TP) if at("tensor_parallel_num_weight_shards") is None else KEEP


@step("gtp_weight_remat_size", "the shards that TP does not cover", since="0.19")
def _(at: Reader) -> Value:
    return at.number("tensor_parallel_num_weight_shards") // at.number(TP)


@step("encoder_tensor_model_parallel_size", "the encoder takes the decoder's TP", since="0.9", before="0.14")
def _(at: Reader) -> Value | Keep:
    stages = at.number("encoder_pipeline_model_parallel_size")
    return at(TP) if stages > 0 and at("encoder_tensor_model_parallel_size") == 0 else KEEP


@step("model_parallel_ranks", "TP x PP x CP", before="0.9")
def _(at: Reader) -> Value:
    return at.number(TP) * at.number(PP) * at.number(CP)


@step("model_parallel_ranks", "TP x PP x CP of the encoder and of the decoder", since="0.9", before="0.14")
def _(at: Reader) -> Value:
    encoder = at.number("encoder_tensor_model_parallel_size") * at.number(
        "encoder_pipeline_model_parallel_size"
    )
    return (encoder + at.number(TP) * at.number(PP)) * at.number(CP)


@step("model_parallel_ranks", "TP x PP x CP", since="0.14", before="0.19")
def _(at: Reader) -> Value:
    return at.number(TP) * at.number(PP) * at.number(CP)


@step("model_parallel_ranks", "TP x PP x CP x weight shards beyond TP", since="0.19")
def _(at: Reader) -> Value:
    return at.number(TP) * at.number(PP) * at.number(CP) * at.number("gtp_weight_remat_size")


@step(
    "transformer_pipeline_model_parallel_size", "a standalone embedding stage holds no layers", before="0.11"
)
def _(at: Reader) -> Value:
    return at.number(PP) - (1 if at("standalone_embedding_stage") else 0)


@step("transformer_pipeline_model_parallel_size", "every stage holds layers", since="0.11")
def _(at: Reader) -> Value:
    return at(PP)


@step("data_parallel_size", "the ranks that one model does not take")
def _(at: Reader) -> Value:
    return at.number("world_size") // at.number("model_parallel_ranks")


@step(
    "encoder_pipeline_model_parallel_size", "the split rank counts encoder stages", since="0.9", before="0.14"
)
def _(at: Reader) -> Value | Keep:
    split = at("pipeline_model_parallel_split_rank")
    return KEEP if split is None else split


@step(PP, "encoder stages are taken off", since="0.9", before="0.14")
def _(at: Reader) -> Value | Keep:
    if at("pipeline_model_parallel_split_rank") is None:
        return KEEP
    return at.number(PP) - at.number("encoder_pipeline_model_parallel_size")


@step("grpo_samples_per_iteration", "prompts x group", since="0.15")
def _(at: Reader) -> Value | Keep:
    if not at("perform_rl_step"):
        return KEEP
    return at.number("grpo_prompts_per_step") * at.number("grpo_group_size")


@step("expert_tensor_parallel_size", "experts take TP unless said", since="0.10")
def _(at: Reader) -> Value | Keep:
    return at(TP) if at("expert_tensor_parallel_size") is None else KEEP


@step("recompute_granularity", "--recompute-activations means selective")
def _(at: Reader) -> Value | Keep:
    return "selective" if at("recompute_activations") else KEEP


@step("cuda_graph_impl", "--enable-cuda-graph means local", since="0.15")
def _(at: Reader) -> Value | Keep:
    return "local" if at("enable_cuda_graph") else KEEP


@step("cuda_graph_impl", "--external-cuda-graph means transformer_engine", since="0.15")
def _(at: Reader) -> Value | Keep:
    return "transformer_engine" if at("external_cuda_graph") else KEEP


@step("cuda_graph_modules", "--cuda-graph-scope stands for modules", since="0.18")
def _(at: Reader) -> Value | Keep:
    old = at("cuda_graph_scope_deprecated")
    return KEEP if old is None else old


@step("cuda_graph_impl", "the module full_iteration is an implementation now", since="0.18")
def _(at: Reader) -> Value | Keep:
    return "full_iteration" if "full_iteration" in _items(at("cuda_graph_modules")) else KEEP


@step("inference_cuda_graph_scope", "the module full_iteration_inference is a scope now", since="0.18")
def _(at: Reader) -> Value | Keep:
    migrates = "full_iteration_inference" in _items(at("cuda_graph_modules"))
    return "block" if migrates and at("cuda_graph_impl") != "none" else KEEP


@step("cuda_graph_modules", "deprecated names are taken out", since="0.18")
def _(at: Reader) -> Value:
    old = ("full", "full_iteration", "full_iteration_inference")
    return tuple(item for item in _items(at("cuda_graph_modules")) if item not in old)


@step("inference_cuda_graph_scope", "a default by implementation", since="0.18")
def _(at: Reader) -> Value | Keep:
    if at("inference_cuda_graph_scope") is not None:
        return KEEP
    return "layer" if at("cuda_graph_impl") == "local" else "none"


@step("cuda_graph_scope", "full means every layer as a whole", since="0.16", before="0.18")
def _(at: Reader) -> Value | Keep:
    return () if "full" in _items(at("cuda_graph_scope")) else KEEP


def _items(value: Value) -> tuple[Value, ...]:
    if isinstance(value, tuple):
        return value
    if isinstance(value, str):
        return tuple(value.split(",")) if value else ()
    return () if value is None else (value,)
