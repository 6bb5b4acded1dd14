"""A plan of parallel sizes given as numbers, checked by the same rules as a script.

In: sizes, and further settings by short or by Megatron's own names.  Out: a `Plan`, or all violations at once, each
with its numbers.  The plan is written as the launch that it stands for and goes through the whole chain.
"""

from __future__ import annotations

from collections.abc import Mapping

from preflight.chain import Request
from preflight.diagnostics import Diagnostic
from preflight.engine.rule import RuleSet
from preflight.facts.surroundings import Surroundings, find_profile, read_te
from preflight.record import NamedTuple
from preflight.ruling import check_source
from preflight.source import Source

Setting = int | float | bool | str

SHORT = {
    "tp": "tensor_model_parallel_size",
    "pp": "pipeline_model_parallel_size",
    "cp": "context_parallel_size",
    "ep": "expert_model_parallel_size",
    "etp": "expert_tensor_parallel_size",
    "layers": "num_layers",
    "heads": "num_attention_heads",
    "num_heads": "num_attention_heads",
    "kv_heads": "num_query_groups",
    "experts": "num_experts",
    "mbs": "micro_batch_size",
    "gbs": "global_batch_size",
    "seq": "seq_length",
}
"""Short names of settings."""
REQUIRED = frozenset(SHORT[name] for name in ("tp", "pp", "layers", "heads"))
"""Settings that every plan gives under a short name, and none gives again."""
COUNTS = frozenset({
    "context_parallel_size", "expert_model_parallel_size", "expert_tensor_parallel_size", "micro_batch_size",
    "global_batch_size", "seq_length", "num_query_groups", "ffn_hidden_size", "gpus_per_node", "nodes",
})  # fmt: skip
"""Further settings that are whole numbers above 0."""
SURROUNDINGS = ("target", "te", "gpu", "gpus_per_node", "nodes")
PROGRAM = "pretrain_gpt.py"


class TopologyError(ValueError):
    """A plan that cannot work; `violations` has a sentence for each reason."""

    def __init__(self, violations: tuple[str, ...]) -> None:
        count = len(violations)
        head = f"{count} violation{'' if count == 1 else 's'}"
        super().__init__(
            "\n".join([f"the topology is not valid: {head}", *(f"- {words}" for words in violations)])
        )
        self.violations = violations


class Plan(NamedTuple):
    """A valid plan in numbers."""

    world_size: int
    tensor_parallel: int
    pipeline_parallel: int
    context_parallel: int
    data_parallel: int
    layers_per_stage: int | None
    heads_per_rank: int
    release: str
    warnings: tuple[str, ...] = ()


def verify_plan(
    rules: RuleSet,
    *,
    tp: int,
    pp: int,
    dp: int,
    world_size: int,
    layers: int,
    hidden_size: int,
    num_heads: int,
    **optional: Setting | None,
) -> Plan:
    """Check a plan; raises `TopologyError` with all violations."""
    sizes = {"tp": tp, "pp": pp, "dp": dp, "world_size": world_size, "layers": layers}
    sizes |= {"hidden_size": hidden_size, "num_heads": num_heads}
    counts = {
        name: value
        for name, value in optional.items()
        if SHORT.get(name, name) in COUNTS and value is not None
    }
    settings, given = sort_settings(optional)
    violations = check_sizes({**sizes, **counts})
    if violations:
        raise TopologyError(violations)
    cp = int(settings.get("context_parallel_size", 1))
    invented = () if "global_batch_size" in settings else ("batch",)
    settings = {
        "tensor_model_parallel_size": tp,
        "pipeline_model_parallel_size": pp,
        "num_layers": layers,
        "hidden_size": hidden_size,
        "num_attention_heads": num_heads,
        **fill(settings, tp=tp, pp=pp, cp=cp, dp=dp),
    }
    outcome = check_source(lay_out(settings, world_size, given), make_request(rules, given))
    if outcome.error is not None:
        raise RuntimeError(outcome.error)
    findings = [d for d in outcome.diagnostics if d.ignored is None]
    violations = check_product(tp, pp, cp, dp, world_size)
    violations += tuple(
        sentence(d)
        for d in findings
        if d.severity == "error" and d.family not in invented and not (violations and about_world(d))
    )
    if violations:
        raise TopologyError(tuple(dict.fromkeys(violations)))
    even = layers // pp if layers % pp == 0 else None
    warnings = tuple(dict.fromkeys(sentence(d) for d in findings if d.severity == "warning"))
    release = outcome.target or ""
    return Plan(world_size, tp, pp, cp, dp, even, num_heads // tp, release, warnings)


def check_sizes(sizes: Mapping[str, object]) -> tuple[str, ...]:
    """What is wrong with sizes that are no whole numbers above 0."""
    return tuple(
        f"{name} is {value!r}; it has to be a whole number above 0"
        for name, value in sizes.items()
        if not isinstance(value, int) or isinstance(value, bool) or value < 1
    )


def check_product(tp: int, pp: int, cp: int, dp: int, world_size: int) -> tuple[str, ...]:
    """What is wrong where TP x PP x CP x DP ranks do not make up the world."""
    product = tp * pp * cp * dp
    if product == world_size:
        return ()
    terms = f"TP {tp} x PP {pp} x " + (f"CP {cp} x " if cp > 1 else "") + f"DP {dp} = {product}"
    fitting, rest = divmod(world_size, tp * pp * cp)
    hint = f"; DP would have to be {fitting}" if not rest and fitting else ""
    return (f"{terms}, but the world size is {world_size}{hint}",)


def about_world(diagnostic: Diagnostic) -> bool:
    """Whether a finding only repeats that the sizes do not make up the world."""
    return "world_size" in diagnostic.facts and set(diagnostic.facts) <= {
        "world_size",
        "tensor_model_parallel_size",
        "pipeline_model_parallel_size",
        "context_parallel_size",
        "model_parallel_size",
        "data_parallel_size",
    }


def sentence(diagnostic: Diagnostic) -> str:
    help_ = f" ({diagnostic.help})" if diagnostic.help else ""
    return f"{diagnostic.message}{help_}"


def sort_settings(optional: Mapping[str, Setting | None]) -> tuple[dict[str, Setting], dict[str, Setting]]:
    """Megatron's settings by destination, and what is said of the surroundings; TypeError for unknown names."""
    from preflight.targets.releases import NEWEST
    from preflight.targets.table import load_table

    table = load_table(NEWEST)
    known = {option.destination for option in table.options}
    settings: dict[str, Setting] = {}
    given: dict[str, Setting] = {}
    for name, value in optional.items():
        if value is None:
            continue
        full = SHORT.get(name, name)
        if full in settings or full in REQUIRED:
            raise TypeError(f"{full} is given twice")
        if name in SURROUNDINGS:
            given[name] = value
        elif full in known:
            settings[full] = value
        else:
            from difflib import get_close_matches

            near = get_close_matches(name, [*SHORT, *SURROUNDINGS, *known], 1)
            raise TypeError(f"no setting named {name!r}" + (f"; did you mean {near[0]}?" if near else ""))
    return settings, given


def fill(settings: Mapping[str, Setting], *, tp: int, pp: int, cp: int, dp: int) -> dict[str, Setting]:
    """The settings with harmless ones for what a launch needs and the plan does not speak of."""
    micro = settings.get("micro_batch_size", 1)
    micro = micro if isinstance(micro, int) else 1
    chunks = 2 * tp * cp  # sequence parallelism splits a sequence over TP, context parallelism over 2 x CP
    length = settings.get("seq_length", -(-4096 // chunks) * chunks)
    filled: dict[str, Setting] = {
        "micro_batch_size": micro,
        "global_batch_size": micro * dp * pp * 4,
        "seq_length": length,
        "max_position_embeddings": length,
        "bf16": True,
        "train_iters": 100,
        "lr": "1e-4",
        "tokenizer_type": "NullTokenizer",
        "vocab_size": 32000,
        "mock_data": True,
    }
    if tp > 1:
        filled["sequence_parallel"] = True
    if "fp16" in settings:
        del filled["bf16"]
    groups = settings.get("num_query_groups")
    if groups is not None:
        filled["group_query_attention"] = True
    return {**filled, **settings}


def processes_per_node(world_size: int, gpus_per_node: int) -> int:
    """How many ranks a node gets: as many as it has GPUs where that comes out even."""
    if world_size <= gpus_per_node:
        return world_size
    return next(size for size in range(gpus_per_node, 0, -1) if world_size % size == 0)


def lay_out(settings: Mapping[str, Setting], world_size: int, given: Mapping[str, Setting]) -> Source:
    """The script of the launch that the plan stands for."""
    from shlex import quote

    per_node = given.get("gpus_per_node")
    processes = processes_per_node(world_size, per_node if isinstance(per_node, int) else 8)
    flags = []
    for name, value in settings.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            flags.append(flag)
        elif value is not False:
            flags.append(f"{flag} {quote(str(value))}")
    nodes = world_size // processes
    head = (
        f"torchrun --nnodes {nodes} --nproc-per-node {processes} --node-rank 0 --master-addr node0 {PROGRAM}"
    )
    script = "export CUDA_DEVICE_MAX_CONNECTIONS=1\n" + " \\\n    ".join([head, *flags]) + "\n"
    return Source("plan.sh", script.encode())


def make_request(rules: RuleSet, given: Mapping[str, Setting]) -> Request:
    gpu = given.get("gpu")
    per_node, nodes = given.get("gpus_per_node"), given.get("nodes")
    return Request(
        rules=rules,
        target=str(given["target"]) if "target" in given else None,
        surroundings=Surroundings(
            nodes=nodes if isinstance(nodes, int) else None,
            gpus_per_node=per_node if isinstance(per_node, int) else None,
            gpu=find_profile(str(gpu)) if gpu else None,
            te=read_te(str(given["te"]) if "te" in given else None),
        ),
        closed_environment=True,
        closed_arguments=True,
        use_ignores=False,
    )
