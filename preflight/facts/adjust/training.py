"""Optimizer, FSDP, precision and data types.

In: the settings behind the pipeline's.  Out: what FSDP, fp16 and bf16 switch on and off.
"""

from __future__ import annotations

from preflight.configuration.model import Value
from preflight.facts.steps import KEEP, Keep, Reader, Steps

STEPS = Steps()
step = STEPS.step


@step("overlap_param_gather", "full sharding gathers while it computes", since="0.12", before="0.14")
def _(at: Reader) -> Value | Keep:
    return True if at("data_parallel_sharding_strategy") == "optim_grads_params" else KEEP


@step("overlap_grad_reduce", "sharded gradients are reduced while it computes", since="0.12", before="0.14")
def _(at: Reader) -> Value | Keep:
    return True if at("data_parallel_sharding_strategy") in ("optim_grads_params", "optim_grads") else KEEP


@step("fp8_param_gather", "FSDP2 gathers in bf16 instead", since="0.14")
def _(at: Reader) -> Value | Keep:
    if not at("fp8_param_gather") or not at("use_torch_fsdp2"):
        return KEEP
    version = at("te_version")
    return False if isinstance(version, tuple) and version >= (2,) else KEEP


@step("use_custom_fsdp", "the old name of Megatron-FSDP", since="0.14")
def _(at: Reader) -> Value | Keep:
    return True if at("use_megatron_fsdp") else KEEP


@step("use_distributed_optimizer", "Megatron-FSDP needs it", since="0.18", before="0.20")
def _(at: Reader) -> Value | Keep:
    return True if at("use_megatron_fsdp") else KEEP


@step("use_distributed_optimizer", "the first Megatron-FSDP needs it", since="0.20")
def _(at: Reader) -> Value | Keep:
    return True if at("use_megatron_fsdp") and at("megatron_fsdp_version") != 2 else KEEP


@step("reuse_grad_buf_for_mxfp8_param_ag", "not with registered FSDP", since="0.16", before="0.18")
def _(at: Reader) -> Value | Keep:
    return False if at("fsdp_manual_registration") and at("use_megatron_fsdp") else KEEP


@step("reuse_grad_buf_for_mxfp8_param_ag", "not with Megatron-FSDP", since="0.18")
def _(at: Reader) -> Value | Keep:
    return False if at("use_megatron_fsdp") else KEEP


@step("fsdp_manual_registration", "NCCL user buffers register", since="0.18")
def _(at: Reader) -> Value | Keep:
    return True if at("nccl_ub") and at("use_megatron_fsdp") else KEEP


@step("fsdp_double_buffer", "user buffers and pooled buffers are double", since="0.18")
def _(at: Reader) -> Value | Keep:
    if not at("use_megatron_fsdp"):
        return KEEP
    return True if at("nccl_ub") or at("megatron_fsdp_max_pool_double_buffer") else KEEP


@step("params_dtype", "fp16, bf16, else fp32")
def _(at: Reader) -> Value:
    if at("bf16"):
        return "bf16"
    return "fp16" if at("fp16") else "fp32"


@step("check_for_nan_in_loss_and_grad", "dynamic loss scaling expects NaN", since="0.6")
def _(at: Reader) -> Value | Keep:
    return False if at("fp16") and not at("loss_scale") else KEEP


@step("accumulate_allreduce_grads_in_fp32", "bf16 needs it", before="0.11")
def _(at: Reader) -> Value | Keep:
    return True if at("bf16") else KEEP


@step("accumulate_allreduce_grads_in_fp32", "bf16 with fp32 gradients needs it", since="0.11", before="0.12")
def _(at: Reader) -> Value | Keep:
    return True if at("bf16") and at("main_grads_dtype") == "fp32" else KEEP


@step("accumulate_allreduce_grads_in_fp32", "bf16 needs it unless gradients are bf16 too", since="0.12")
def _(at: Reader) -> Value | Keep:
    if not at("bf16"):
        return KEEP
    if at("grad_reduce_in_bf16"):
        return False
    return True if at("main_grads_dtype") == "fp32" else KEEP


@step("megatron_fsdp_grad_comm_dtype", "bf16 gradients travel so", since="0.17", before="0.19")
def _(at: Reader) -> Value | Keep:
    return "bf16" if at("grad_reduce_in_bf16") else KEEP


@step("stream_ckpt_dequant", "not with tensorwise fp8", since="0.19")
def _(at: Reader) -> Value | Keep:
    return False if at("fp8") and at("fp8_recipe") == "tensorwise" else KEEP


@step("dataloader_type", "single unless said")
def _(at: Reader) -> Value | Keep:
    return "single" if at("dataloader_type") is None else KEEP


@step("variable_seq_lengths", "lengths are constant")
def _(at: Reader) -> Value:
    return False
