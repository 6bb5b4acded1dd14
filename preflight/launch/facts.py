"""What rules may ask about a launch: launcher, rendezvous, scheduler, containers, environment.

In: a launch.  Out: `launch_facts`, one `Reading` for each name in `LAUNCH_FACTS`.  A reading is known (None:
absent), or carries what it waits for.  Variables of the environment have no names here: `env_` and the name in
lower case is the general scheme (`env_master_addr`), served by the facts stage.
"""

from __future__ import annotations

from collections.abc import Mapping

from preflight.launch.arguments import read_values
from preflight.launch.containers import Container, read_container
from preflight.launch.mentions import (
    may_set_connections,
    speaks_of_blackwell,
    speaks_of_starters,
    takes_variables,
)
from preflight.launch.model import Header, Launch, Number, Setting
from preflight.launch.options import known_prefix
from preflight.launch.reading import Reading
from preflight.launch.rendezvous import read_node_rank, read_rendezvous, read_task_rank
from preflight.launch.scheduler import ABSENT, Request, complete_request, left_open, overlay, read_request
from preflight.launch.topology import count_ranks, count_visible
from preflight.patterns import pattern
from preflight.source import Span
from preflight.values import Text, Unknown

LAUNCH_FACTS = """
nproc_per_node | int | ranks | processes that the launcher starts on each node
nnodes_minimum | int | nodes | least number of nodes of an elastic launch, else the number of nodes
nnodes_maximum | int | nodes | largest number of nodes of an elastic launch, else the number of nodes
launcher_options | list[str] | - | options that the launcher is given
wrappers | list[str] | - | commands around the launcher, outermost first
standalone | bool | - | whether torchrun is told to rendezvous with itself alone
node_rank | int | - | rank of this node as the launcher is told
one_node_only | bool | - | whether the launch is written for one node alone: its rank stands there as a number
node_rank_per_task | bool | - | whether the node's rank is taken from what the scheduler tells each task
rdzv_backend | str | - | rendezvous backend of torchrun
rendezvous_host | str | - | where the ranks meet: host
rendezvous_port | int | - | where the ranks meet: port
scheduler | str | - | scheduler whose directives the script has: slurm, pbs, lsf
scheduler_options | list[str] | - | options in the scheduler's directives
slurm_nodes | int | nodes | nodes asked of the scheduler
slurm_nodes_maximum | int | nodes | largest number of nodes asked of the scheduler
slurm_ntasks | int | tasks | tasks asked of the scheduler
slurm_ntasks_per_node | int | tasks | tasks per node asked of the scheduler
slurm_gpus_per_node | int | GPUs | GPUs per node asked of the scheduler
slurm_gpus_per_task | int | GPUs | GPUs per task asked of the scheduler
slurm_gpus | int | GPUs | GPUs of the whole job asked of the scheduler
slurm_cpus_per_task | int | CPUs | CPUs per task asked of the scheduler
slurm_exclusive | bool | - | whether whole nodes are asked for
step_nodes | int | nodes | nodes on which srun runs the launcher
step_ntasks | int | tasks | tasks that srun starts
step_ntasks_per_node | int | tasks | tasks that srun starts on each node
step_gpus_per_node | int | GPUs | GPUs per node that the tasks of srun see
step_gpus_per_task | int | GPUs | GPUs that each task of srun sees
mpi_ranks_per_node | int | ranks | ranks that mpirun starts on each node, as far as its options say
step_cpus_per_task | int | CPUs | CPUs of each task of srun
visible_devices | int | GPUs | devices in CUDA_VISIBLE_DEVICES
visible_devices_distinct | int | GPUs | different devices in CUDA_VISIBLE_DEVICES
container | str | - | container around the launcher: docker, podman, apptainer, enroot, pyxis
container_gpus | bool | - | whether the container is given the GPUs
container_shared_memory | bool | - | whether the container's shared memory is enlarged or the host's
container_gpu_count | int | GPUs | GPUs that the container is given by number or by name
container_apart | bool | - | whether the container has a network of its own, without ports to the outside
environment_names | list[str] | - | variables that the script, or the caller, is known to set for the ranks
environment_lost | list[str] | - | variables that the script sets and a wrapper does not hand over
environment_elsewhere | bool | - | whether the ranks may see variables that neither the script nor its caller sets
connections_elsewhere | bool | - | whether the script, or what it reads, may set CUDA_DEVICE_MAX_CONNECTIONS
speaks_of_blackwell | bool | - | whether the script names a GPU of the Blackwell generation
rank_per_task | bool | - | whether each task of srun has a RANK of its own; none where the script sets none
program_words | list[str] | - | words that the program is given, as far as they are known
starts_elsewhere | bool | - | whether the script starts anything on other nodes: srun, ssh, pdsh, mpirun
deepspeed_pipeline | bool | - | whether DeepSpeed's pipeline engine trains, which it does unless it is told not to
deepspeed_zero_stage | int | - | ZeRO stage that DeepSpeed is told
deepspeed_train_batch | int | samples | global batch in DeepSpeed's configuration
deepspeed_micro_batch | int | samples | micro batch of a rank in DeepSpeed's configuration
deepspeed_accumulation | int | steps | steps that DeepSpeed accumulates gradients over
override_model_ranks | int | ranks | ranks of a model by the parallel sizes that overrides give
verl_gpus | int | GPUs | GPUs that verl's trainer is given
verl_engine_ranks | int | ranks | ranks of one of verl's rollout engines
verl_model_ranks | int | ranks | ranks of one copy of verl's actor under Megatron
ray_actor_nodes | int | nodes | nodes for the actors of a program that Ray distributes
ray_actor_gpus_per_node | int | GPUs | GPUs per node for the actors of a program that Ray distributes
ray_node_gpus | int | GPUs | GPUs of a node, as a program that Ray distributes is told
ray_colocated | bool | - | whether rollout and training of such a program share GPUs
"""
TRAINER_FACTS = """
verl_train_batch | int | samples | prompts of one step of verl
verl_mini_batch | int | samples | prompts of one update of verl's actor
verl_micro_batch | int | samples | micro batch of verl's actor over all GPUs, as older releases count it
verl_micro_batch_per_gpu | int | samples | micro batch of verl's actor on one GPU
verl_samples | int | samples | responses of verl to each prompt
verl_stages | int | stages | pipeline stages of verl's actor
verl_virtual_stages | int | stages | virtual stages of verl's actor, where they are given
verl_dynamic_batch | bool | - | whether verl's actor packs micro batches by tokens
verl_expert_ranks | int | ranks | ETP x EP x PP of verl's actor, where its expert sizes are given
swift_global_batch | int | samples | global batch that ms-swift is given
swift_micro_batch | int | samples | micro batch of ms-swift
swift_model_ranks | int | ranks | TP x PP x CP of ms-swift
swift_pipeline | int | stages | pipeline stages of ms-swift
swift_tensor | int | ranks | tensor-parallel ranks of ms-swift
swift_layers | int | layers | layers that ms-swift is given
swift_first_layers | int | layers | layers of the first stage that ms-swift is given
swift_last_layers | int | layers | layers of the last stage that ms-swift is given
swift_layout_stages | int | stages | stages of the layout that ms-swift is given
swift_recompute | str | - | recompute granularity that ms-swift is given
swift_recompute_method | str | - | recompute method that ms-swift is given
swift_tp_overlap | bool | - | whether ms-swift overlaps tensor-parallel communication
swift_sequence_parallel | bool | - | whether ms-swift is told sequence parallelism
slime_kl | float | - | coefficient of slime's penalty in the reward
slime_kl_loss | float | - | coefficient of slime's penalty in the loss
slime_rollout_samples | int | samples | samples of one rollout of slime
slime_steps | int | steps | training steps for each rollout of slime
slime_batch | int | samples | global batch that slime is given
slime_eval_interval | int | rollouts | rollouts of slime between evaluations
slime_eval_data | str | - | evaluation data of slime
slime_eval_config | str | - | file that describes slime's evaluations
slime_dynamic_batch | bool | - | whether slime packs micro batches by tokens
slime_token_limit | int | tokens | most tokens of a micro batch of slime
nemo_gpus | int | GPUs | GPUs of NeMo-RL's cluster, where overrides give them
nemo_megatron | bool | - | whether an override chooses Megatron for NeMo-RL's policy
nemo_model_ranks | int | ranks | TP x PP x CP of NeMo-RL's policy by overrides
"""
BRIDGE_FACTS = """
bridge_model_length | int | tokens | sequence length of the model in Megatron-Bridge's configuration
bridge_data_length | int | tokens | sequence length of the data in Megatron-Bridge's configuration
bridge_context_parallel | int | ranks | context-parallel size in Megatron-Bridge's configuration
bridge_iterations | int | iterations | length of training in iterations in Megatron-Bridge's configuration
bridge_samples | int | samples | length of training in samples in Megatron-Bridge's configuration
bridge_schedule_iterations | bool | - | whether Megatron-Bridge's schedule is counted in iterations
bridge_schedule_samples | bool | - | whether Megatron-Bridge's schedule is counted in samples
bridge_saves | bool | - | whether Megatron-Bridge is told where to save; none where nothing is said
groups_stages | int | stages | pipeline stages that code makes process groups for
groups_virtual_stages | int | stages | virtual stages that code makes process groups for
recipe_gpus | int | GPUs | GPUs that a recipe of NeMo is told of
recipe_model_ranks | int | ranks | TP x PP x CP of a recipe of NeMo, as far as its fields are set
bridge_async_save | bool | - | whether Megatron-Bridge saves asynchronously
"""
LAUNCH_FACTS += TRAINER_FACTS + BRIDGE_FACTS
"""Names with type, unit and meaning, one a line."""


ELSEWHERE = frozenset({"srun", "ssh", "pdsh", "mpirun"})
_TASK = pattern(r"\b(SLURM_LOCALID|SLURM_PROCID|LOCAL_RANK|OMPI_COMM_WORLD_LOCAL_RANK)\b")


def launch_facts(launch: Launch) -> Mapping[str, Reading]:
    """All readings of a launch."""
    facts: dict[str, Reading] = {}
    shown = "\n".join([word.text.display() for word in (*launch.command, *launch.argv)])
    facts.update(_read_launcher(launch))
    facts.update(_read_meeting(launch))
    facts.update(_read_scheduler(launch))
    facts.update(_read_surroundings(launch))
    facts.update(_read_ray(launch, shown))
    facts.update(_read_deepspeed(launch, shown))
    facts.update(_read_overrides(launch, shown))
    facts.update(_read_trainers(launch, shown))
    facts.update(_read_bridge(launch, shown))
    return facts


def from_number(number: Number) -> Reading:
    shown = number.text or ("" if number.value is None else str(number.value))
    return Reading(number.value, number.origin, number.span, shown, number.unknown, number.assumptions)


def from_text(text: Text | None, span: Span | None, origin: str, number: bool = False) -> Reading:
    if text is None:
        return Reading(None, origin, span)
    place = span or (text.pieces[0].span if text.pieces else None)
    shown = text.display()
    if not text.known:
        return Reading(None, origin, place, shown, text.unknowns[0], text.assumptions)
    value = (text.value or "").strip()
    if number and not value.isdigit():
        return Reading(None, origin, place, shown, Unknown("syntax", value), text.assumptions)
    return Reading(int(value) if number else value, origin, place, shown, None, text.assumptions)


def _read_launcher(launch: Launch) -> Mapping[str, Reading]:
    launcher = launch.launcher
    nodes = launcher.options.get("nnodes")
    low, high = _read_ends(nodes, launcher.nodes)
    return {
        "nproc_per_node": from_number(launcher.processes_per_node),
        "nnodes_minimum": low,
        "nnodes_maximum": high,
        "launcher_options": Reading(
            tuple(sorted(launcher.options)),
            "launcher",
            launcher.span,
            launcher.kind,
            launcher.open[0] if launcher.open else None,
        ),
        "mpi_ranks_per_node": from_number(count_ranks(launch.wrappers)),
        "wrappers": Reading(tuple(layer.kind for layer in launch.wrappers), "launcher"),
        "standalone": Reading(
            "standalone" in launcher.options,
            "launcher",
            launcher.options["standalone"].span if "standalone" in launcher.options else None,
            "--standalone",
        ),
    }


def _read_ends(setting: Setting | None, number: Number) -> tuple[Reading, Reading]:
    value = setting.text.value if setting is not None and setting.text is not None else None
    if setting is not None and value is not None and ":" in value:
        low, _, high = value.partition(":")
        if low.isdigit() and high.isdigit():
            return (
                Reading(int(low), "launcher", setting.span, value),
                Reading(int(high), "launcher", setting.span, value),
            )
    return from_number(number), from_number(number)


def _read_meeting(launch: Launch) -> Mapping[str, Reading]:
    meeting = read_rendezvous(launch)
    rank, per_task = read_node_rank(launch)
    (task_rank, task_place), own = read_task_rank(launch)
    return {
        "rank_per_task": Reading(own, "environment", task_place, task_rank.display() if task_rank else ""),
        "program_words": Reading(
            tuple(word.text.value for word in launch.argv if word.text.value is not None), "launcher"
        ),
        "starts_elsewhere": Reading(
            any(layer.kind in ELSEWHERE for layer in launch.wrappers) or speaks_of_starters(launch),
            "launcher",
        ),
        "node_rank": from_text(*rank, "launcher", number=True),
        "one_node_only": _read_one_node(launch, *rank),
        "node_rank_per_task": Reading(per_task[0], "launcher", rank[1], "", per_task[1]),
        "rdzv_backend": from_text(*meeting.backend, "launcher"),
        "rendezvous_host": from_text(*meeting.host, "launcher"),
        "rendezvous_port": from_text(*meeting.port, "launcher", number=True),
    }


def _read_one_node(launch: Launch, rank: Text | None, span: Span | None) -> Reading:
    """A rank that stands in the script is that of one node, unless srun runs the same words on several."""
    everywhere = any(layer.kind in {"srun", "pdsh", "mpirun"} for layer in launch.wrappers)
    written = rank is not None and rank.known and not rank.assumptions and span != launch.launcher.span
    return Reading(written and not everywhere, "launcher", span, rank.display() if rank is not None else "")


def _read_scheduler(launch: Launch) -> Mapping[str, Reading]:
    header = launch.header
    kind = header.kind if header is not None else ""
    options = header.options if header is not None else {}
    job = _read_job(header)
    step = _read_step(launch, job)
    return {
        "scheduler": Reading(kind or None, "scheduler", header.span if header else None, kind),
        "scheduler_options": Reading(tuple(sorted(options)), "scheduler"),
        "slurm_nodes": from_number(job.nodes),
        "slurm_nodes_maximum": from_number(job.nodes_maximum if job.nodes.value is None else job.nodes),
        "slurm_ntasks": from_number(job.tasks),
        "slurm_ntasks_per_node": from_number(job.tasks_per_node),
        "slurm_gpus_per_node": from_number(job.gpus_per_node),
        "slurm_gpus_per_task": from_number(job.gpus_per_task),
        "slurm_gpus": from_number(job.gpus),
        "slurm_cpus_per_task": from_number(job.cpus_per_task),
        "slurm_exclusive": Reading(job.exclusive, "scheduler"),
        "step_nodes": from_number(step.nodes),
        "step_ntasks": from_number(step.tasks),
        "step_ntasks_per_node": from_number(step.tasks_per_node),
        "step_gpus_per_node": from_number(step.gpus_per_node),
        "step_gpus_per_task": from_number(step.gpus_per_task),
        "step_cpus_per_task": from_number(step.cpus_per_task),
    }


def _read_job(header: Header | None) -> Request:
    """What the script's directives ask for; the numbers of a heterogeneous job depend on its part."""
    if header is None:
        return Request()
    if header.heterogeneous:
        mixed = left_open("a heterogeneous job", header.span)
        return Request(mixed, mixed, mixed, mixed, mixed, mixed, mixed, mixed)
    return complete_request(read_request(header.options, header.kind))


def _read_step(launch: Launch, job: Request) -> Request:
    """What the innermost `srun` around a launch gives its tasks; nothing where there is none."""
    layer = next((layer for layer in reversed(launch.wrappers) if layer.kind == "srun"), None)
    if layer is None:
        return Request()
    step = complete_request(overlay(job, read_request(layer.options)))
    if step.tasks_per_node == ABSENT:
        if step.tasks == ABSENT and launch.header is not None:
            one = Number(1, "default", layer.span, None, (), "srun")
            step = complete_request(step._replace(tasks_per_node=one))
        else:
            step = step._replace(tasks_per_node=left_open("tasks of srun", layer.span))
    if any(_TASK.search(condition.text) for condition in launch.conditions):
        # The script itself picks the tasks that start the launcher.
        step = step._replace(tasks_per_node=left_open("tasks that start it", layer.span))
    if _is_unbound(layer.options) or (launch.header is not None and _is_unbound(launch.header.options)):
        step = step._replace(gpus_per_task=ABSENT)
    if step.nodes == ABSENT:
        step = step._replace(nodes=left_open("nodes of the job", layer.span))
    return step


def _is_unbound(options: Mapping[str, Setting]) -> bool:
    """Whether every task sees all GPUs of its node, whatever it is given (`--gpu-bind=none`)."""
    setting = options.get("gpu_bind")
    return setting is not None and setting.text is not None and setting.text.value == "none"


def _read_surroundings(launch: Launch) -> Mapping[str, Reading]:
    devices = launch.environment.get("CUDA_VISIBLE_DEVICES")
    visible = count_visible(devices)
    distinct = Reading(None, "environment")
    if visible is not None:
        distinct = from_number(visible)
        if devices is not None and devices.known:
            items = {item.strip() for item in (devices.value or "").split(",") if item.strip()}
            distinct = distinct._replace(value=len(items))
    container = read_container(launch)
    span = container.span if container is not None else None
    kind = container.kind if container is not None else None
    known = tuple(sorted(name for name, text in launch.environment.items() if text is not None))
    return {
        "visible_devices": from_number(visible) if visible is not None else distinct,
        "visible_devices_distinct": distinct,
        "container": Reading(kind, "launcher", span, kind or ""),
        "container_gpus": _describe_given(container, container.gpus if container else None),
        "container_shared_memory": _describe_given(container, container.shared_memory if container else None),
        "container_gpu_count": Reading(container.given if container else None, "launcher", span, kind or ""),
        "container_apart": Reading(container is not None and container.apart, "launcher", span, kind or ""),
        "environment_names": Reading(known, "environment"),
        "environment_lost": Reading(tuple(sorted(launch.lost)), "environment"),
        "environment_elsewhere": Reading(takes_variables(launch), "environment"),
        "connections_elsewhere": Reading(may_set_connections(launch), "environment"),
        "speaks_of_blackwell": Reading(speaks_of_blackwell(launch), "environment"),
    }


def _describe_given(container: Container | None, value: bool | None) -> Reading:
    if container is None:
        return Reading(None, "launcher")
    waiting = container.because if value is None else None
    return Reading(value, "launcher", container.span, container.kind, waiting)


def _read_ray(launch: Launch, shown: str) -> Mapping[str, Reading]:
    """Options by which programs under Ray say where their workers go."""
    absent = Reading(None, "launcher")
    facts = dict.fromkeys(("ray_actor_nodes", "ray_actor_gpus_per_node", "ray_node_gpus"), absent)
    colocated = Reading(None, "launcher")
    given = read_values(launch.argv) if "actor" in shown else {}
    if "actor_num_gpus_per_node" in given:
        for name, option in (
            ("ray_actor_nodes", "actor_num_nodes"),
            ("ray_actor_gpus_per_node", "actor_num_gpus_per_node"),
            ("ray_node_gpus", "num_gpus_per_node"),
        ):
            if option in given:
                text, span = given[option]
                facts[name] = from_text(text, span, "launcher", number=True)
            elif launch.open:
                facts[name] = Reading(None, "launcher", unknown=launch.open[0])
        colocated = Reading(
            "colocate" in given, "launcher", given["colocate"][1] if "colocate" in given else None
        )
        if launch.open and not colocated.value:
            colocated = colocated._replace(value=None, unknown=launch.open[0])
    return {**facts, "ray_colocated": colocated}


def _read_deepspeed(launch: Launch, shown: str) -> Mapping[str, Reading]:
    """What DeepSpeed's engine is told, by flags or in the configuration that the script writes."""
    names = ("zero_stage", "train_batch", "micro_batch", "accumulation")
    if "--deepspeed" not in shown or not any(known_prefix(w.text) == "--deepspeed" for w in launch.argv):
        absent = Reading(None, "launcher")
        return {
            **{f"deepspeed_{n}": absent for n in names},
            "deepspeed_pipeline": absent._replace(value=False),
        }
    from preflight.launch.deepspeed import read_deepspeed

    told = read_deepspeed(launch)
    values = {name: getattr(told, name) for name in names}
    pipeline = Reading(told.pipeline, "launcher", told.place)
    if told.pipeline and launch.open:
        pipeline = pipeline._replace(value=None, unknown=launch.open[0])
    facts = {f"deepspeed_{n}": Reading(v, "launcher", told.place, str(v or "")) for n, v in values.items()}
    return {**facts, "deepspeed_pipeline": pipeline}


def _read_overrides(launch: Launch, shown: str) -> Mapping[str, Reading]:
    """Sizes that Hydra's overrides give: of a model, and of verl's actor and rollout."""
    names = ("override_model_ranks", "verl_gpus", "verl_engine_ranks", "verl_model_ranks")
    if "parallel_size" not in shown and "verl" not in shown:
        return dict.fromkeys(names, Reading(None, "launcher"))
    from preflight.launch.overrides import read_model, read_trainer

    sizes = (read_model(launch), *read_trainer(launch))
    return {
        name: Reading(size.value, "launcher", size.span, str(size.value or ""), size.unknown)
        for name, size in zip(names, sizes, strict=True)
    }


_TRAINERS = tuple(line.partition("|")[0].strip() for line in TRAINER_FACTS.splitlines() if line)
_TRAINER_SIGNS = ("verl.", "verl/", "--actor-num-gpus-per-node", "policy.megatron_cfg.")


def _read_trainers(launch: Launch, shown: str) -> Mapping[str, Reading]:
    """Settings of trainers that spell Megatron's their own way."""
    words = (launch.program, *launch.argv) if launch.program is not None else launch.argv
    signs = [sign for sign in _TRAINER_SIGNS if sign in shown]
    if launch.launcher.kind != "megatron" and not any(
        sign in word.text.display() for sign in signs for word in words
    ):
        return dict.fromkeys(_TRAINERS, Reading(None, "launcher"))
    from preflight.launch.trainers import read_trainers

    return read_trainers(launch)


_BRIDGE = tuple(line.partition("|")[0].strip() for line in BRIDGE_FACTS.splitlines() if line)
_BRIDGE_SIGNS = (
    "model.seq_length=",
    "train.train_",
    "dataset.seq",
    "checkpoint.async_save=",
    "scheduler.lr_",
)


def _read_bridge(launch: Launch, shown: str) -> Mapping[str, Reading]:
    """Settings of Megatron-Bridge's configuration."""
    if launch.configuration is None and not any(sign in shown for sign in _BRIDGE_SIGNS):
        return dict.fromkeys(_BRIDGE, Reading(None, "launcher"))
    from preflight.launch.bridge import read_bridge

    return read_bridge(launch)
