"""The transformer configuration: what it makes of the settings that it is built from.

In: the settings after their checks.  Out: `config_*` facts, named as the configuration's fields, wherever a field can
differ from the setting of the same name.
"""

from __future__ import annotations

from preflight.configuration.model import Value
from preflight.facts.steps import KEEP, Keep, Reader, Steps

STEPS = Steps()
step = STEPS.step

UNCHANGED = (
    "ffn_hidden_size",
    "kv_channels",
    "moe_ffn_hidden_size",
    "recompute_granularity",
    "recompute_modules",
    "moe_expert_capacity_factor",
    "moe_router_padding_for_quantization",
    "moe_flex_dispatcher_backend",
    "moe_router_group_topk",
    "moe_router_num_groups",
    "microbatch_group_size_per_vp_stage",
    "attention_softmax_in_fp32",
)
"""Fields that begin as the setting of the same name."""


def _copy(name: str) -> None:
    @step(f"config_{name}", "as set")
    def _(at: Reader) -> Value:
        return at(name)


for _name in UNCHANGED:
    _copy(_name)


@step("config_cpu_offloading", "off unless switched on")
def _(at: Reader) -> Value:
    return bool(at("cpu_offloading"))


@step("config_num_query_groups", "only with --group-query-attention; else one for each head")
def _(at: Reader) -> Value:
    groups = at("num_query_groups") if at("group_query_attention") else None
    return at("num_attention_heads") if groups is None else groups


@step("config_pipeline_dtype", "as the parameters")
def _(at: Reader) -> Value:
    return at("params_dtype")


@step("config_pipeline_dtype", "an fp32 residual stream travels as fp32", since="0.17")
def _(at: Reader) -> Value | Keep:
    return "fp32" if at("fp32_residual_connection") else KEEP


@step("config_batch_p2p_comm", "what does not overlap is batched")
def _(at: Reader) -> Value:
    return not at("overlap_p2p_comm")


@step("config_microbatch_group_size_per_vp_stage", "as many as stages unless said", since="0.10")
def _(at: Reader) -> Value | Keep:
    if at("config_microbatch_group_size_per_vp_stage") is not None:
        return KEEP
    return at("pipeline_model_parallel_size")


@step("config_moe_ffn_hidden_size", "dense layers of a mixed model ignore it", since="0.18")
def _(at: Reader) -> Value | Keep:
    if at("num_experts") is not None or at("config_moe_ffn_hidden_size") is None:
        return KEEP
    frequency = at("moe_layer_freq")
    mixed = 0 in frequency if isinstance(frequency, tuple) else isinstance(frequency, int) and frequency > 1
    return None if mixed else KEEP


@step("config_moe_flex_dispatcher_backend", "--moe-enable-deepep is the old way", since="0.16")
def _(at: Reader) -> Value | Keep:
    return "deepep" if at("moe_enable_deepep") else KEEP


@step("config_moe_expert_capacity_factor", "negative is none", since="0.7")
def _(at: Reader) -> Value | Keep:
    factor = at("config_moe_expert_capacity_factor")
    return None if isinstance(factor, (int, float)) and factor < 0 else KEEP


@step("config_recompute_modules", "core_attn unless said", since="0.12")
def _(at: Reader) -> Value | Keep:
    return ("core_attn",) if at("config_recompute_modules") is None else KEEP


@step("config_recompute_granularity", "--moe-layer-recompute is selective", since="0.12")
def _(at: Reader) -> Value | Keep:
    return "selective" if at("moe_layer_recompute") else KEEP


@step("config_recompute_modules", "--moe-layer-recompute adds moe", since="0.12")
def _(at: Reader) -> Value | Keep:
    modules = at("config_recompute_modules")
    if not at("moe_layer_recompute") or not isinstance(modules, tuple) or "moe" in modules:
        return KEEP
    return (*modules, "moe")


@step("config_attention_softmax_in_fp32", "scaling by layer needs it")
def _(at: Reader) -> Value | Keep:
    return True if at("apply_query_key_layer_scaling") else KEEP


@step(
    "config_moe_router_padding_for_quantization", "--moe-router-padding-for-fp8 is the old way", since="0.16"
)
def _(at: Reader) -> Value | Keep:
    return True if at("moe_router_padding_for_fp8") else KEEP


@step("config_moe_router_num_groups", "limited devices are groups", since="0.11")
def _(at: Reader) -> Value | Keep:
    limited = not at("moe_router_group_topk") and at("moe_router_topk_limited_devices")
    return at("expert_model_parallel_size") if limited else KEEP


@step("config_moe_router_group_topk", "limited devices are groups", since="0.11")
def _(at: Reader) -> Value | Keep:
    limited = at("moe_router_topk_limited_devices")
    return limited if limited and not at("moe_router_group_topk") else KEEP


@step("activation", "by its flag, gelu without one")
def _(at: Reader) -> Value:
    if at("squared_relu"):
        return "squared_relu"
    if at("swiglu"):
        return "swiglu"
    return "quick_geglu" if at("quick_geglu") else "gelu"


@step("gated_linear_unit", "swiglu and quick_geglu have gates")
def _(at: Reader) -> Value:
    return bool(at("swiglu")) or bool(at("quick_geglu") and not at("squared_relu"))


@step("bias_activation_fusion", "by the activation")
def _(at: Reader) -> Value:
    return at("bias_swiglu_fusion") if at("swiglu") else at("bias_gelu_fusion")


@step("attention_variant", "sparse attention layers of a hybrid pattern", since="0.16")
def _(at: Reader) -> Value:
    pattern = at.text("hybrid_layer_pattern") or ""
    return "dsa" if "D" in pattern else at("experimental_attention_variant")
