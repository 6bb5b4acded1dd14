"""Settings that Python code builds, by Megatron's own names: `TransformerConfig(num_layers=4)`.

In: a `CodeConfiguration`.  Out: a `Configuration`.  Fields that are none of Megatron's make it unrecognised.  What the
code leaves out is unknown, apart from the sizes that lay the model out over ranks: those are 1 as in the parser.
"""

from __future__ import annotations

from preflight.configuration.layout import KEPT
from preflight.configuration.model import Bound, Configuration, Value
from preflight.execution import CodeConfiguration, Word
from preflight.launch.model import Launch
from preflight.targets.table import Table
from preflight.values import Unknown

FIELDS: dict[str, str] = {
    "num_moe_experts": "num_experts",
    "num_layers_in_first_pipeline_stage": "decoder_first_pipeline_num_layers",
    "num_layers_in_last_pipeline_stage": "decoder_last_pipeline_num_layers",
    "fp8_param": "fp8_param_gather",
    "tensor_parallel_size": "tensor_model_parallel_size",
    "pipeline_parallel_size": "pipeline_model_parallel_size",
    "virtual_pipeline_model_parallel_size": "num_virtual_stages_per_pipeline_rank",
}
"""Fields of Megatron's configuration classes whose destination has another name."""

ARGUMENTS_ONLY = ("recompute_activations", "num_layers_per_virtual_pipeline_stage")
"""Arguments that Megatron turns into other settings: no field of a configuration."""

_LEFT_OUT = """
account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split bf16 calculate_per_token_loss
decoder_first_pipeline_num_layers decoder_last_pipeline_num_layers delay_wgrad_compute deterministic_mode
distribute_saved_activations expert_tensor_parallel_size ffn_hidden_size fp16 fp8_format fp8_param_gather
hierarchical_context_parallel_sizes kv_channels moe_enable_deepep moe_expert_capacity_factor moe_extended_tp
moe_ffn_hidden_size moe_grouped_gemm moe_layer_recompute moe_pad_expert_input_to_capacity
moe_router_enable_expert_bias moe_router_group_topk moe_router_num_groups moe_router_pre_softmax
moe_shared_expert_intermediate_size moe_shared_expert_overlap mtp_num_layers multi_latent_attention num_experts
num_virtual_stages_per_pipeline_rank overlap_moe_expert_parallel_comm pipeline_model_parallel_layout
pipeline_model_parallel_split_rank recompute_granularity recompute_method recompute_modules recompute_num_layers
sequence_parallel tp_comm_overlap
"""
LEFT_OUT = frozenset(_LEFT_OUT.split())
"""Fields of these classes that are None or False where a call leaves them out, in every release that has them."""

LAYOUT = frozenset(
    {"account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split"}
    | {"decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers"}
    | {"num_virtual_stages_per_pipeline_rank", "pipeline_model_parallel_layout", "mtp_num_layers"}
    | {"hybrid_layer_pattern", "hybrid_override_pattern", "mtp_hybrid_override_pattern"}
)
"""How layers lie over stages: what a plain provider leaves out is not there."""

FEWEST = 2
"""So many fields must be Megatron's."""


def bind_code(launch: Launch, code: CodeConfiguration, table: Table) -> Configuration:
    """The configuration that code builds; False in place of a text or number (`fp8=False`) is none."""
    destinations = {option.destination: option for option in table.options if option.action != "help"}
    values: dict[str, Bound] = {}
    for field, word in code.settings.items():
        name = FIELDS.get(field, field)
        if name in destinations and name not in values:
            bound = bind_setting(name, word)
            off = bound.value is False and bound.unknown is None and destinations[name].action == "store"
            values[name] = bound._replace(value=None) if off else bound
    recognised = len(values) >= min(FEWEST, max(1, len(code.settings)))
    if "num_query_groups" in values:
        values["group_query_attention"] = values["num_query_groups"]._replace(
            destination="group_query_attention", value=values["num_query_groups"].value is not None
        )
    reason = code.open[0] if code.open else None
    typed = read_precision(code)
    for name, option in destinations.items():
        if name not in values:
            laid_out = option.default is not None and KEPT.search(name) is not None
            told = laid_out or name in ARGUMENTS_ONLY
            known = (told and reason is None) or (name in LEFT_OUT and is_settled(code))
            known = known or (code.plain and name in LAYOUT)
            why = reason
            if typed is not None and name in ("bf16", "fp16"):
                known, why = False, typed
            unknown = None if known else why or Unknown("code", f"{code.name} does not set {name}")
            values[name] = Bound(name, option.default, "default", unknown)
    return Configuration(launch, code.name, table.release, values, (), recognised)


def read_precision(code: CodeConfiguration) -> Unknown | None:
    """Why the switches of a precision say nothing: the parameters have a type of their own."""
    word = code.settings.get("params_dtype")
    if word is None or word.text.value in ("torch.float32", "torch.float", "None"):
        return None
    return Unknown("code", f"params_dtype={word.text.display()}")


def is_settled(code: CodeConfiguration) -> bool:
    """Whether what the code leaves out has the default of a class of Megatron's that describes a model."""
    return code.strict and not code.open and not code.name.endswith("ModelParallelConfig")


def bind_setting(name: str, word: Word) -> Bound:
    """A field that the code sets; its text is a Python literal."""
    text = word.text.value
    if text is None:
        return Bound(name, None, "code", word.text.unknowns[0], (word,), word.text.assumptions)
    value, known = read_literal(text)
    unknown = None if known else Unknown("code", text)
    return Bound(name, value, "code", unknown, (word,), word.text.assumptions)


def read_literal(text: str) -> tuple[Value, bool]:
    """A Python literal as a value; plain words are text."""
    from ast import literal_eval

    try:
        value = literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return (text, True) if text.replace("_", "").replace("-", "").isalnum() else (None, False)
    if isinstance(value, (list, tuple)):
        items = tuple(item for item in value if isinstance(item, (bool, int, float, str)))
        return items, len(items) == len(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value, True
    return None, False
