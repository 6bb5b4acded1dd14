"""What several options say together: which layers, modules, losses and sources a run really has.

In: the settings as Megatron uses them.  Out: lists and yes-or-no facts that rules of several families ask for.
"""

from __future__ import annotations

from preflight.configuration.model import Value
from preflight.facts.steps import Reader, Steps

STEPS = Steps()
step = STEPS.step

NCCL_ALGORITHMS = ("Ring", "CollnetDirect", "CollnetChain", "^NVLS")
SPLITS = ("train_data_path", "valid_data_path", "test_data_path")


def list_items(value: Value) -> tuple[Value, ...]:
    """A list as it is, a single value as a list of one, nothing as an empty list."""
    if isinstance(value, tuple):
        return value
    return () if value is None else (value,)


@step("load_balancing_types", "one or several")
def _(at: Reader) -> Value:
    return list_items(at("moe_router_load_balancing_type"))


@step("aux_loss_coefficients", "one or several")
def _(at: Reader) -> Value:
    return list_items(at("moe_aux_loss_coeff"))


@step("moe_layers_mixed", "some layers are left dense")
def _(at: Reader) -> Value:
    frequency = at("moe_layer_freq")
    if isinstance(frequency, tuple):
        return 0 in frequency
    return isinstance(frequency, int) and frequency > 1


@step("linear_attention_pattern", "a list names each layer", since="0.16")
def _(at: Reader) -> Value:
    frequency = at("linear_attention_freq")
    return frequency if isinstance(frequency, tuple) else None


@step("no_rope_interval", "a number means every so many layers")
def _(at: Reader) -> Value:
    frequency = at("no_rope_freq")
    return frequency if isinstance(frequency, int) else None


@step("no_rope_pattern", "a list names each layer")
def _(at: Reader) -> Value:
    frequency = at("no_rope_freq")
    return frequency if isinstance(frequency, tuple) else None


@step("data_sources", "mock data, a blend, blends by split")
def _(at: Reader) -> Value:
    splits = any(list_items(at(name)) for name in SPLITS)
    return int(bool(at("mock_data"))) + int(bool(list_items(at("data_path")))) + int(splits)


@step("blend_strays", "words of a blend are weight and prefix in turn, or prefixes all")
def _(at: Reader) -> Value:
    blends = (list_items(at(name)) for name in ("data_path", *SPLITS))
    return tuple(word for blend in blends for word in find_strays(tuple(map(str, blend))))


def find_strays(blend: tuple[str, ...]) -> tuple[str, ...]:
    """Numbers of a blend that are read as names of files, because its words are not pairs with a weight in front."""
    numbers = tuple(word for word in blend if is_number(word))
    paired = len(blend) % 2 == 0 and all(map(is_number, blend[::2]))
    return () if paired or len(blend) < 2 else numbers


def is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


@step("phase_transitions_readable", "whole numbers with commas between them", since="0.16")
def _(at: Reader) -> Value:
    parts = [part.strip() for part in (at.text("phase_transition_iterations") or "").split(",")]
    return all(part.lstrip("+-").isdecimal() for part in parts)


@step("nccl_algorithms_accepted", "every one of the list is verified")
def _(at: Reader) -> Value:
    names = [part.strip() for part in (at.text("env_nccl_algo") or "").split(",") if part.strip()]
    return bool(names) and all(name in NCCL_ALGORITHMS for name in names)


@step("graph_modules_as_given", "the new flag, else the old one", since="0.18")
def _(at: Reader) -> Value:
    old = at("requested_cuda_graph_scope_deprecated")
    return list_items(at("requested_cuda_graph_modules") if old is None else old)


@step("graph_modules_as_given", "the flag", since="0.16", before="0.18")
def _(at: Reader) -> Value:
    return list_items(at("requested_cuda_graph_scope"))


@step("graph_implementation_as_given", "old flags stand for an implementation", since="0.15")
def _(at: Reader) -> Value:
    if at("external_cuda_graph"):
        return "transformer_engine"
    return "local" if at("enable_cuda_graph") else at("requested_cuda_graph_impl")


@step("graph_modules", "modules named for capture", since="0.16", before="0.18")
def _(at: Reader) -> Value:
    return list_items(at("cuda_graph_scope"))


@step("graph_modules", "modules named for capture", since="0.18")
def _(at: Reader) -> Value:
    return list_items(at("cuda_graph_modules"))


@step(
    "graphed_modules",
    "what is captured by module; local graphs take router and preprocessing together",
    since="0.16",
)
def _(at: Reader) -> Value:
    implementation = at("cuda_graph_impl")
    if implementation not in ("local", "transformer_engine"):
        return ()
    modules = list_items(at("graph_modules"))
    pair = ("moe_router", "moe_preprocess")
    if implementation == "local" and any(module in modules for module in pair):
        modules += tuple(module for module in pair if module not in modules)
    return modules


@step("graph_covers_layer", "no module named means all of the layer", since="0.16", before="0.18")
def _(at: Reader) -> Value:
    modules = list_items(at("graphed_modules"))
    return at("cuda_graph_impl") != "none" and (not modules or "full_iteration" in modules)


@step("graph_covers_layer", "no module named means all of the layer", since="0.18")
def _(at: Reader) -> Value:
    return at("cuda_graph_impl") != "none" and not list_items(at("graphed_modules"))


@step("graphed_weight_gradients", "attention, or shared experts that the router's graph holds", since="0.17")
def _(at: Reader) -> Value:
    modules = list_items(at("graph_modules"))
    shared = at("moe_shared_expert_intermediate_size") is not None and not at("moe_shared_expert_overlap")
    return "attn" in modules or ("moe_router" in modules and shared)


@step("moe_use_grouped_tensor", "fused grouped operations use it", since="0.20")
def _(at: Reader) -> Value:
    grouped = at("use_transformer_engine_op_fuser") and at("moe_grouped_gemm")
    return True if grouped else at("moe_use_grouped_tensor")
