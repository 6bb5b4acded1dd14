"""The names that rules may use, each with its type, unit and a line of explanation.

In: the flag tables' destinations by type, where a caller has them.  Out: entries and types.  `env_x` is any environment
variable, `requested_x` a setting as the command line has it before Megatron adjusts it, `given_x` whether it is there,
`exists_x` whether the file that it names is on the machine of the job.
Types are those of the expression language: int, float, bool, str, version, any, and lists of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from preflight.launch.facts import LAUNCH_FACTS
from preflight.node.facts import NODE_FACTS
from preflight.record import NamedTuple


class Entry(NamedTuple):
    """What a name stands for. `origin`: launcher, option, node, derived, or flag."""

    name: str
    type: str
    unit: str
    doc: str
    origin: str = "derived"


def _read(text: str, origin: str) -> list[Entry]:
    entries = []
    for line in filter(None, (line.strip() for line in text.splitlines())):
        name, kind, unit, doc = (part.strip() for part in line.split("|", 3))
        entries.append(Entry(name, kind, "" if unit == "-" else unit, doc, origin))
    return entries


LAUNCH = """
release | str | - | the Megatron release that is checked against
program | str | - | file name of the program that is launched
built_in_code | bool | - | whether Python code builds the configuration, so that no argument check adjusts it first
built_by_megatron_class | bool | - | whether the configuration is of Megatron's own class, which checks what it is given
pipeline_dtype_left_out | bool | - | whether code makes Megatron's own configuration class without a pipeline_dtype
trains | bool | - | whether the program runs Megatron's training loop
other_accelerator | bool | - | whether the script speaks of accelerators that CUDA does not drive
fork | bool | - | whether a fork of Megatron runs the program, as far as the launch says
tp_from_variable | bool | - | whether a variable gives the tensor parallel size, so that it may be another next time
launcher | str | - | what starts the processes: torchrun, srun, deepspeed, python and others
launcher_world_size | int | ranks | ranks that the launcher itself starts
nnodes | int | nodes | nodes of the launch: the launcher's count, else --nodes
processes_per_node | int | ranks | ranks of each node: the launcher's count, else --gpus-per-node
world_size | int | ranks | ranks of the whole job
"""
OPTIONS = """
nodes_option | int | nodes | the option --nodes
gpus_per_node_option | int | GPUs | the option --gpus-per-node
gpus_per_node | int | GPUs | GPUs of a node: --gpus-per-node, the probed node, the scheduler, the GPU profile
gpu | str | - | name of the GPU profile chosen with --gpu
gpu_is_said | bool | - | whether an option or the node says what the GPUs are
gpu_capability_major | int | - | first number of the GPU's compute capability: 9 for Hopper, 10 for Blackwell
gpu_capability_minor | int | - | second number of the GPU's compute capability
gpu_memory | int | GiB | memory of one GPU
nvlink_domain_size | int | GPUs | GPUs that reach each other over NVLink
te_version | version | - | TransformerEngine: --te, the installed one, or the one that the release pins
"""
DERIVED = """
model_parallel_ranks | int | ranks | ranks that hold one copy of the model: TP x PP x CP and what the release adds
data_parallel_size | int | ranks | copies of the model
transformer_pipeline_model_parallel_size | int | stages | pipeline stages that hold transformer layers
virtual_pipeline_model_parallel_size | int | stages | virtual stages of each pipeline rank; none without interleaving
gtp_weight_remat_size | int | ranks | weight shards beyond tensor parallelism
expert_gtp_weight_remat_size | int | ranks | expert weight shards beyond expert tensor parallelism
expert_parallel_ranks | int | ranks | expert TP x EP x PP
expert_data_parallel_size | int | ranks | copies of one set of experts
encoder_ranks | int | ranks | ranks of an encoder with pipeline stages of its own
decoder_ranks | int | ranks | ranks that are not the encoder's
optimizer_data_parallel_size | int | ranks | data parallel size x CP
model_fills_nodes | bool | - | whether TP x CP ranks stay inside a node
use_dist_ckpt | bool | - | whether checkpoints are distributed: any format but torch
samples_per_micro_step | int | samples | micro batch size x data parallel size
rampup_start | int | samples | first number of --rampup-batch-size
rampup_increment | int | samples | second number of --rampup-batch-size
rampup_samples | int | samples | third number of --rampup-batch-size
batch_schedule_thresholds | list[int] | samples | where --step-batch-size-schedule changes the batch size
batch_schedule_sizes | list[int] | samples | batch sizes of --step-batch-size-schedule
first_global_batch_size | int | samples | batch size of the first step
num_microbatches | int | - | micro batches of the first step
full_num_microbatches | int | - | micro batches once a ramp-up is over
training_samples | int | samples | samples that training asks for
lr_decay_steps | int | steps | iterations over which the learning rate decays
inference_samples | int | samples | samples of one RL inference iteration
training_iterations_per_inference | int | steps | global batches of one RL inference iteration
grpo_samples_per_iteration | int | samples | prompts x group size
pipeline_slots | int | layers | layers, plus embedding and loss where the pipeline split counts them
uneven_stages | int | stages | pipeline ends whose layers are given
middle_stages | int | stages | pipeline stages that share the layers not given to an end
middle_layers | int | layers | layers not given to an end
layers_per_stage | list[int] | layers | decoder layers of each pipeline rank
layers_per_chunk | list[int] | layers | decoder layers of each virtual stage, rank after rank
built_layers | int | layers | layers that are built over all stages
layout_stages | list[str] | - | stages of --pipeline-model-parallel-layout, each as its letters
layout_letters | list[str] | - | letters of the layout in model order
layout_layers_per_stage | list[int] | layers | decoder layers of the layout by pipeline rank
layout_prediction_stages | list[int] | - | numbers of the layout's stages that hold prediction layers
layout_decoder_after_prediction | bool | - | whether a decoder layer of the layout stands behind a prediction layer
hybrid_depth_letters_known | bool | - | whether the prediction depths have letters of layers only
hierarchical_context_product | int | ranks | product of --hierarchical-context-parallel-sizes
heterogeneous_activation | str | - | activation in the description of a heterogeneous model
heterogeneous_groups | list[int] | heads | heads in a group, by layer of a heterogeneous model
heterogeneous_differences | list[str] | - | flags that the description of a heterogeneous model contradicts
hybrid_layer_pattern | str | - | the hybrid pattern, older spellings folded in
hybrid_segments | int | - | pipeline segments of the hybrid pattern
hybrid_layers | list[str] | - | layers of the hybrid pattern by letter
hybrid_depth_patterns | list[str] | - | one pattern for each multi-token prediction depth
params_dtype | str | - | fp32, fp16 or bf16
variable_seq_lengths | bool | - | whether sequence lengths vary between micro batches
use_layer_wise_distributed_optimizer | bool | - | whether an emerging optimizer distributes by layer
exit_on_missing_checkpoint | bool | - | whether training ends where there is no checkpoint to load
cpu_offloading | bool | - | whether activations of some layers go to the host
heads_per_rank | int | heads | attention heads of one tensor-parallel rank
local_sequence_length | int | tokens | tokens of a sequence on one context-parallel rank
tokenizer_vocab_size | int | tokens | vocabulary with what the tokenizer adds
padded_vocab_size | int | tokens | vocabulary rounded up so that TP divides it
moe_layers | list[int] | - | one 0 or 1 for each layer: whether it holds experts
experts_per_rank | int | experts | experts of one rank
load_balancing_types | list[str] | - | kinds of load balancing of the router
aux_loss_coefficients | list[float] | - | one coefficient for each kind of load balancing
moe_layers_mixed | bool | - | whether some layers are left without experts
linear_attention_pattern | list[int] | - | one entry for each layer: whether its attention is linear
no_rope_interval | int | layers | every how many layers one has no rotary embedding
no_rope_pattern | list[int] | - | one entry for each layer: whether it has no rotary embedding
data_sources | int | - | sources of samples: mock data, one blend, blends by split
blend_strays | list[str] | - | numbers in a blend of data sets that stand where no weight is expected
phase_transitions_readable | bool | - | whether --phase-transition-iterations is a list of whole numbers
nccl_algorithms_accepted | bool | - | whether NCCL_ALGO names only algorithms that deterministic mode takes
graph_modules_as_given | list[str] | - | modules for CUDA graphs as the command line names them
graph_implementation_as_given | str | - | CUDA graph implementation before modules change it
graph_modules | list[str] | - | modules named for capture, old words taken out
graphed_modules | list[str] | - | modules that are captured one by one
graph_covers_layer | bool | - | whether a graph holds whole layers
graphed_weight_gradients | bool | - | whether weight gradients of linear layers lie in a graph
moe_use_grouped_tensor | bool | - | whether experts share one grouped parameter tensor
activation | str | - | gelu, swiglu, quick_geglu or squared_relu
gated_linear_unit | bool | - | whether the feed-forward layer has gates
bias_activation_fusion | bool | - | whether bias and activation are fused
attention_variant | str | - | experimental attention variant, from its flag or from a hybrid pattern
config_cpu_offloading | bool | - | whether activations of some layers go to the host, in the configuration
config_ffn_hidden_size | int | - | feed-forward size in the transformer configuration
config_kv_channels | int | - | channels of a head in the transformer configuration
config_moe_ffn_hidden_size | int | - | feed-forward size of experts in the transformer configuration
config_num_query_groups | int | groups | key-value groups that attention really uses
config_pipeline_dtype | str | - | type of what travels between stages
config_batch_p2p_comm | bool | - | whether sends and receives between stages are batched
config_microbatch_group_size_per_vp_stage | int | - | contiguous micro batches of a virtual stage
config_recompute_granularity | str | - | recompute granularity in the transformer configuration
config_recompute_modules | list[str] | - | modules that selective recompute covers
config_moe_expert_capacity_factor | float | - | capacity factor; negative is none
config_moe_router_padding_for_quantization | bool | - | whether routing maps are padded for quantization
config_moe_flex_dispatcher_backend | str | - | backend of the flex dispatcher
config_moe_router_group_topk | int | groups | groups that a token may go to
config_moe_router_num_groups | int | groups | groups that experts are divided into
config_attention_softmax_in_fp32 | bool | - | whether attention's softmax runs in fp32
tensor_parallel_choices | list[int] | ranks | TP sizes that heads, groups, hidden size and world allow
pipeline_choices | list[int] | stages | PP sizes that layers and world allow
layer_choices | list[int] | layers | layer counts that the stages divide
virtual_layer_choices | list[int] | layers | layers of a virtual stage that divide a stage's layers
virtual_stage_choices | list[int] | stages | virtual stages that divide the layers of every stage
microbatch_choices | list[int] | - | micro batch counts that the interleaved schedule takes
interleaved_batch_choices | list[int] | samples | global batch sizes that give such counts
global_batch_choices | list[int] | samples | global batch sizes that divide evenly
micro_batch_choices | list[int] | samples | micro batch sizes that divide the global batch
world_choices | list[int] | ranks | numbers of ranks that the model divides
parallel_choices | list[str] | - | the nearest TP, PP and CP that fit world, heads and layers
expert_parallel_choices | list[int] | ranks | EP sizes that divide the experts and fit the world
sequence_choices | list[int] | tokens | sequence lengths that CP and TP divide
"""

ENTRIES: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        *_read(LAUNCH, "launcher"),
        *_read(LAUNCH_FACTS, "launcher"),
        *_read(OPTIONS, "option"),
        *_read(DERIVED, "derived"),
    )
}
ENTRIES.update(
    {name: Entry(name, kind, unit or "", doc, "node") for name, (kind, unit, doc) in NODE_FACTS.items()}
)

OVERRIDES = {
    "moe_layer_freq": "any",
    "linear_attention_freq": "any",
    "no_rope_freq": "any",
    "window_attn_skip_freq": "any",
    "moe_router_load_balancing_type": "any",
    "moe_aux_loss_coeff": "any",
    "cuda_graph_scope": "any",
    "rampup_batch_size": "list[any]",
}
"""Destinations whose value is not what the flag's own type says."""
_SCALARS = {
    "int": "int",
    "float": "float",
    "str": "str",
    "bool": "bool",
    None: "str",
    "moe_freq_type": "any",
    "la_freq_type": "any",
    "no_rope_freq_type": "any",
    "tuple_type": "list[int]",
}


def destination_type(destination: str, action: str, type_name: str | None, nargs: int | str | None) -> str:
    """The fact type of a flag's destination."""
    if destination in OVERRIDES:
        return OVERRIDES[destination]
    if action in ("store_true", "store_false", "boolean"):
        return "bool"
    if action == "count":
        return "int"
    scalar = _SCALARS.get(type_name, "str")
    many = action in ("append", "extend") or nargs in ("+", "*") or (isinstance(nargs, int) and nargs > 0)
    return f"list[{scalar}]" if many else scalar


def merge_types(first: str, second: str) -> str:
    """The type of a destination that two releases declare differently."""
    if first == second:
        return first
    return "float" if {first, second} == {"int", "float"} else "any"


def fact_types() -> FactTypes:
    """The types of all names, with the destinations of every release's flag table."""
    from preflight.targets.releases import RELEASES
    from preflight.targets.table import load_table

    destinations: dict[str, str] = {}
    for release in RELEASES:
        for option in load_table(release).options:
            kind = destination_type(option.destination, option.action, option.type, option.nargs)
            known = destinations.get(option.destination)
            destinations[option.destination] = kind if known is None else merge_types(known, kind)
    return FactTypes({**destinations, **OVERRIDES})


class FactTypes(Mapping[str, str]):
    """The type of every name that a rule may use."""

    def __init__(self, destinations: Mapping[str, str], more: Mapping[str, str] | None = None) -> None:
        self.destinations = destinations
        self.known: dict[str, str] = dict(destinations)
        self.known.update(more or {})
        self.known.update({entry.name: entry.type for entry in ENTRIES.values()})

    def __getitem__(self, name: str) -> str:
        found = self.known.get(name)
        if found is not None:
            return found
        if name.startswith("env_") and len(name) > len("env_"):
            return "str"
        for prefix in ("given_", "exists_"):
            if name.startswith(prefix) and name.removeprefix(prefix) in self.known:
                return "bool"
        if name.startswith("requested_") and name.removeprefix("requested_") in self.known:
            return self.known[name.removeprefix("requested_")]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)
