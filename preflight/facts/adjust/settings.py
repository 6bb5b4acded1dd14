"""Model sizes and the switches that depend on others.

In: everything before.  Out: the rest of the settings as Megatron uses them after its checks.
"""

from __future__ import annotations

from preflight.configuration.model import Value
from preflight.facts.steps import KEEP, Keep, Reader, Steps

STEPS = Steps()
step = STEPS.step

TP = "tensor_model_parallel_size"
FREQUENCIES = ("moe_layer_freq", "linear_attention_freq", "no_rope_freq", "window_attn_skip_freq")


@step("encoder_num_layers", "the layers")
def _(at: Reader) -> Value | Keep:
    layers = at("num_layers")
    return KEEP if layers is None else layers


@step("num_layers", "the encoder's layers")
def _(at: Reader) -> Value | Keep:
    return at("encoder_num_layers") if at("num_layers") is None else KEEP


@step("ffn_hidden_size", "four times the hidden size, two thirds of it with gates")
def _(at: Reader) -> Value | Keep:
    if at("ffn_hidden_size") is not None:
        return KEEP
    hidden = at.number("hidden_size")
    return int((4 * hidden * 2 / 3) / 64) * 64 if at("swiglu") else 4 * hidden


@step("kv_channels", "the hidden size over the heads")
def _(at: Reader) -> Value | Keep:
    if at("kv_channels") is not None:
        return KEEP
    return at.number("hidden_size") // at.number("num_attention_heads")


@step("create_attention_mask_in_dataloader", "masked documents need none", since="0.19")
def _(at: Reader) -> Value | Keep:
    return False if at("dataloader_inter_document_masking") else KEEP


@step("encoder_seq_length", "the sequence length")
def _(at: Reader) -> Value | Keep:
    length = at("seq_length")
    return KEEP if length is None else length


@step("seq_length", "the encoder's length")
def _(at: Reader) -> Value | Keep:
    return at("encoder_seq_length") if at("seq_length") is None else KEEP


@step("start_weight_decay", "constant decay")
def _(at: Reader) -> Value | Keep:
    return at("weight_decay") if at("weight_decay_incr_style") == "constant" else KEEP


@step("end_weight_decay", "constant decay")
def _(at: Reader) -> Value | Keep:
    return at("weight_decay") if at("weight_decay_incr_style") == "constant" else KEEP


@step("sequence_parallel", "nothing to split without TP")
def _(at: Reader) -> Value | Keep:
    if not at("sequence_parallel"):
        return KEEP
    return False if at(TP) == 1 else KEEP


@step("async_tensor_model_parallel_allreduce", "not with sequence parallelism", before="0.12")
def _(at: Reader) -> Value | Keep:
    return False if at("sequence_parallel") else KEEP


@step("expert_tensor_parallel_num_weight_shards", "as many as expert TP unless said", since="0.19")
def _(at: Reader) -> Value | Keep:
    shards = at("expert_tensor_parallel_num_weight_shards")
    return at("expert_tensor_parallel_size") if shards is None else KEEP


@step("expert_gtp_weight_remat_size", "the shards that expert TP does not cover", since="0.19")
def _(at: Reader) -> Value:
    return at.number("expert_tensor_parallel_num_weight_shards") // at.number("expert_tensor_parallel_size")


@step("bias_gelu_fusion", "no bias, nothing to fuse")
def _(at: Reader) -> Value | Keep:
    return False if at("add_bias_linear") is False else KEEP


@step("add_qkv_bias", "bias everywhere includes attention", since="0.10")
def _(at: Reader) -> Value | Keep:
    return True if at("add_bias_linear") else KEEP


@step("position_embedding_type", "--use-rotary-position-embeddings is the old way")
def _(at: Reader) -> Value | Keep:
    return "rope" if at("use_rotary_position_embeddings") else KEEP


@step("apply_rope_fusion", "only rotary embeddings fuse", since="0.10")
def _(at: Reader) -> Value | Keep:
    return False if at("position_embedding_type") != "rope" else KEEP


@step("num_experts", "no experts is a dense model", since="0.8")
def _(at: Reader) -> Value | Keep:
    return None if at("num_experts") == 0 else KEEP


@step("moe_ffn_hidden_size", "as in dense layers", since="0.10", before="0.13")
def _(at: Reader) -> Value | Keep:
    return at("ffn_hidden_size") if at("moe_ffn_hidden_size") is None else KEEP


@step("moe_ffn_hidden_size", "as in dense layers where there are experts", since="0.13")
def _(at: Reader) -> Value | Keep:
    if at("moe_ffn_hidden_size") is not None or at("num_experts") is None:
        return KEEP
    return at("ffn_hidden_size")


@step("moe_router_load_balancing_type", "a list of one is its element", since="0.14")
def _(at: Reader) -> Value | Keep:
    return _only(at("moe_router_load_balancing_type"))


@step("moe_aux_loss_coeff", "a list of one is its element", since="0.14")
def _(at: Reader) -> Value | Keep:
    return _only(at("moe_aux_loss_coeff"))


def _only(value: Value) -> Value | Keep:
    return value[0] if isinstance(value, tuple) and len(value) == 1 else KEEP


@step("attention_softmax_in_fp32", "scaling by layer needs it", since="0.8")
def _(at: Reader) -> Value | Keep:
    return True if at("apply_query_key_layer_scaling") else KEEP


@step("use_layer_wise_distributed_optimizer", "emerging optimizers distribute by layer", since="0.18")
def _(at: Reader) -> Value:
    optimizer = at("optimizer")
    if optimizer in ("sgd", "adam"):
        return False
    return optimizer == "dist_muon" or bool(at("use_distributed_optimizer"))


@step("use_distributed_optimizer", "emerging optimizers have their own", since="0.18")
def _(at: Reader) -> Value | Keep:
    return KEEP if at("optimizer") in ("sgd", "adam") else False


@step("optimizer", "dist_muon is muon", since="0.18")
def _(at: Reader) -> Value | Keep:
    return "muon" if at("optimizer") == "dist_muon" else KEEP


@step("check_for_nan_in_loss_and_grad", "not on fake processes", since="0.16")
def _(at: Reader) -> Value | Keep:
    return False if at("fake_process_group") else KEEP


@step("use_gloo_process_groups", "not on fake processes", since="0.17")
def _(at: Reader) -> Value | Keep:
    return False if at("fake_process_group") else KEEP


@step("enable_gloo_process_groups", "not on fake processes", since="0.16", before="0.17")
def _(at: Reader) -> Value | Keep:
    return False if at("fake_process_group") else KEEP


@step("async_save", "needs the persistent worker", since="0.16")
def _(at: Reader) -> Value | Keep:
    if not at("async_save"):
        return KEEP
    return False if at("use_dist_ckpt") and not at("use_persistent_ckpt_worker") else KEEP


@step("async_strategy", "mcore unless saves are asynchronous", since="0.17")
def _(at: Reader) -> Value | Keep:
    return KEEP if at("async_save") else "mcore"


@step("use_distributed_optimizer", "nothing to optimize", since="0.19")
def _(at: Reader) -> Value | Keep:
    return False if at("freeze_all_layers") else KEEP


@step("overlap_param_gather", "nothing to gather", since="0.19")
def _(at: Reader) -> Value | Keep:
    return False if at("freeze_all_layers") else KEEP


@step("no_load_optim", "upcycling starts a new optimizer", since="0.9")
def _(at: Reader) -> Value | Keep:
    return True if at("moe_use_upcycling") else KEEP


@step("no_load_rng", "upcycling starts new random states", since="0.9")
def _(at: Reader) -> Value | Keep:
    return True if at("moe_use_upcycling") else KEEP


@step("no_load_optim", "no training, no optimizer", since="0.16", before="0.17")
def _(at: Reader) -> Value | Keep:
    return True if at("skip_train") else KEEP


@step("no_load_optim", "no training outside RL, no optimizer", since="0.17")
def _(at: Reader) -> Value | Keep:
    return True if at("skip_train") and not at("perform_rl_step") else KEEP


@step("replication_jump", "nothing to jump without replication", since="0.11")
def _(at: Reader) -> Value | Keep:
    return KEEP if at("replication") else None


@step("cpu_offloading", "layers to offload switch it on", since="0.16")
def _(at: Reader) -> Value | Keep:
    layers = at("cpu_offloading_num_layers")
    return isinstance(layers, int) and layers > 0


@step("te_rng_tracker", "graphs need it", since="0.14", before="0.15")
def _(at: Reader) -> Value | Keep:
    graphs = at("enable_cuda_graph") or at("external_cuda_graph")
    return True if graphs and at("transformer_impl") == "transformer_engine" else KEEP


@step("te_rng_tracker", "graphs need it", since="0.15", before="0.16")
def _(at: Reader) -> Value | Keep:
    graphs = at("cuda_graph_impl") != "none"
    return True if graphs and at("transformer_impl") == "transformer_engine" else KEEP


@step("te_rng_tracker", "graphs need it", since="0.16")
def _(at: Reader) -> Value | Keep:
    implementation = at("cuda_graph_impl")
    if implementation in (None, "none"):
        return KEEP
    return True if "transformer_engine" in (at("transformer_impl"), implementation) else KEEP


def _read(name: str) -> None:
    @step(name, "a text is a number or a list")
    def _(at: Reader) -> Value | Keep:
        value = at(name)
        if not isinstance(value, str):
            return KEEP
        from preflight.facts.sequences import parse_frequency

        parsed = parse_frequency(value)
        return KEEP if parsed is None else parsed


for _name in FREQUENCIES:
    _read(_name)
