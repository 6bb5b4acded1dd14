"""Facts that stand before Megatron reads anything: processes, nodes, GPUs, versions, the program.

In: a configuration, the surroundings and what the launch stage says.  Out: one source for each name in `SOURCES`.  What
launcher, scheduler, options and environment leave open stays unknown, with what would decide it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from preflight.configuration.model import Configuration, Value
from preflight.facts.launches import LAUNCH_SOURCES
from preflight.facts.model import Blocker, Evidence, Fact
from preflight.facts.origins import describe_environment
from preflight.facts.surroundings import Surroundings
from preflight.launch.model import Number
from preflight.targets.history import list_releases
from preflight.targets.origin import ACCELERATORS, list_flags
from preflight.targets.releases import TE_VERSIONS, UNPINNED_TE, read_numbers
from preflight.values import Reason, Unknown

Given = Mapping[str, Fact]
Source = Callable[[Configuration, Surroundings, Given], Fact]


def describe_number(name: str, number: Number) -> Fact:
    """A fact from a count of the launch stage."""
    evidence = () if number.span is None else (Evidence(number.span, number.text or str(number.value)),)
    if number.unknown is not None:
        return Fact(
            name,
            None,
            number.origin,
            evidence,
            number.assumptions,
            (Blocker(name, number.unknown, number.span),),
        )
    return Fact(name, number.value, number.origin, evidence, number.assumptions)


def find_nodes(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    """Nodes as the launcher counts them, else as `--nodes` says."""
    return _count("nnodes", configuration.launch.launcher.nodes, surroundings.nodes, "--nodes N")


def find_processes(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    """Processes of each node as the launcher starts them, else one for each GPU."""
    per_node = surroundings.gpus_per_node
    return _count(
        "processes_per_node", configuration.launch.launcher.processes_per_node, per_node, "--gpus-per-node N"
    )


def _count(name: str, number: Number, option: int | None, remedy: str) -> Fact:
    fact = describe_number(name, number)
    if fact.known and fact.value is not None:
        return fact
    if option is not None:
        return Fact(name, option, "option")
    return fact if fact.blocked_by else _unknown(name, "scheduler", f"not said; give {remedy}")


def find_world(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    """The number of ranks: the launcher's, else nodes x processes, else WORLD_SIZE."""
    launcher = configuration.launch.launcher
    own = find_own_world(configuration)
    if own is not None:
        return own
    stated = describe_number("world_size", launcher.world_size)
    if stated.known and stated.value is not None:
        return stated
    nodes = find_nodes(configuration, surroundings, given)
    processes = find_processes(configuration, surroundings, given)
    if isinstance(nodes.value, int) and isinstance(processes.value, int):
        return Fact(
            "world_size",
            nodes.value * processes.value,
            "derived",
            tuple(dict.fromkeys((*nodes.evidence, *processes.evidence))),
            tuple(dict.fromkeys(nodes.assumptions + processes.assumptions)),
        )
    if stated.blocked_by:
        return stated
    if launcher.kind == "python" or stated.origin == "environment":
        variable = describe_environment(configuration.launch, "env_world_size")
        if isinstance(variable.value, str) and variable.value.strip().isdecimal():
            return variable._replace(name="world_size", value=int(variable.value))
        if variable.known and variable.value is None:
            return Fact("world_size", 1, "default")
    blocked = nodes.blocked_by or processes.blocked_by
    return Fact("world_size", None, "launcher", blocked_by=blocked) if blocked else _ask("world_size")


def find_own_world(configuration: Configuration) -> Fact | None:
    """Unknown, where a flag that is a fork's own names a world size: it may play more ranks than run."""
    flags = (flag for flag in list_flags(configuration.launch) if "world-size" in flag)
    flag = next((flag for flag in flags if not list_releases(flag)), None)
    return _unknown("world_size", "program", flag) if flag is not None else None


def _ask(name: str) -> Fact:
    return _unknown(name, "environment", "$WORLD_SIZE", "WORLD_SIZE")


def _unknown(name: str, reason: Reason, text: str, variable: str | None = None) -> Fact:
    return Fact(name, None, "default", blocked_by=(Blocker(name, Unknown(reason, text, variable)),))


def _launcher_world(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    return describe_number("launcher_world_size", configuration.launch.launcher.world_size)


def _launcher_kind(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    launcher = configuration.launch.launcher
    return Fact("launcher", launcher.kind, "launcher", (Evidence(launcher.span, launcher.kind),))


def _program(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    word = configuration.launch.program
    if word is None:
        return Fact("program", None, "launcher")
    value = word.text.value
    if value is None:
        blockers = tuple(Blocker("program", unknown, word.span) for unknown in word.text.unknowns)
        name = word.text.display().rsplit("/", 1)[-1]
        if "$" in name or not name.endswith(".py"):
            return Fact("program", None, "launcher", blocked_by=blockers)
        value = name
    return Fact("program", value.rsplit("/", 1)[-1], "launcher", (Evidence(word.span, "the program"),))


def _trains(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    word = configuration.launch.program
    evidence = (Evidence(word.span, "the program"),) if word is not None else ()
    if configuration.trains is None:
        fact = _unknown("trains", "program", "what the program does")
        return fact._replace(evidence=evidence)
    return Fact("trains", configuration.trains, "launcher", evidence)


def _fork(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    return Fact("fork", bool(configuration.fork), "launcher")


def _other_accelerator(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    data = configuration.launch.source.data[: 2**18].lower()
    return Fact("other_accelerator", any(sign in data for sign in ACCELERATORS), "launcher")


def _tp_from_variable(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    bound = configuration.values.get("tensor_model_parallel_size")
    words = bound.words[1:] if bound is not None else ()
    return Fact("tp_from_variable", any("$" in word.span.resolve().text for word in words), "launcher")


def _built_in_code(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    return Fact("built_in_code", configuration.launch.configuration is not None, "launcher")


def _built_by_megatron_class(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    code = configuration.launch.configuration
    return Fact("built_by_megatron_class", code is not None and code.strict, "launcher")


def _pipeline_dtype_left_out(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    code, left_out = configuration.launch.configuration, False
    if code is not None:
        from preflight.configuration.code import is_settled

        left_out = is_settled(code) and "pipeline_dtype" not in code.settings
    return Fact("pipeline_dtype_left_out", left_out, "launcher")


def _release(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    return Fact("release", configuration.release, "option")


def _te(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    text, origin = surroundings.te, "option"
    installed = surroundings.node.get("node_te_version")
    if text is None and installed is not None and isinstance(installed.value, str):
        text, origin = installed.value, "node"
    if text is None:
        origin = "default"
        text = TE_VERSIONS.get(configuration.release, UNPINNED_TE)
    return Fact("te_version", read_numbers(text)[:3], origin)


def _profile(name: str, field: str, node: str | None = None) -> Source:
    """A property of the GPU: from `--gpu`, else from the node's probe, else unknown."""

    def find(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
        found = surroundings.node.get(node) if node is not None else None
        if surroundings.gpu is not None:
            value: Value = getattr(surroundings.gpu, field)
            return Fact(name, value, "option")
        if found is not None and found.known and found.value is not None:
            value = found.value
            if isinstance(value, tuple) and value and not isinstance(value[0], tuple):
                value = min(part for part in value if isinstance(part, (int, float)))
            return found._replace(name=name, value=value)
        return _unknown(name, "node", "the GPU; say which with --gpu")

    return find


def _capability(name: str, index: int) -> Source:
    def find(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
        if surroundings.gpu is not None:
            return Fact(name, surroundings.gpu.capability[index], "option")
        found = surroundings.node.get("node_compute_capability")
        if found is not None and isinstance(found.value, tuple) and found.value:
            first = found.value[0]
            if isinstance(first, tuple) and isinstance(first[index], int):
                return found._replace(name=name, value=first[index])
            if isinstance(first, (int, float)):
                return found._replace(
                    name=name, value=round(first * 10) // (10, 1)[index] % (1000, 10)[index]
                )
        return _unknown(name, "node", "the GPU; say which with --gpu")

    return find


def _gpus_per_node(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    if surroundings.gpus_per_node is not None:
        return Fact("gpus_per_node", surroundings.gpus_per_node, "option")
    for name in ("node_gpu_count", "scheduler_gpus_per_node", "slurm_gpus_per_node"):
        found = surroundings.node.get(name) or given.get(name)
        if found is None and name in LAUNCH_SOURCES:
            found = LAUNCH_SOURCES[name](configuration, surroundings, given)
        if found is not None and isinstance(found.value, int):
            return found._replace(name="gpus_per_node")
    if surroundings.gpu is not None:
        return Fact("gpus_per_node", surroundings.gpu.gpus_per_node, "option")
    return _unknown("gpus_per_node", "node", "not said; give --gpus-per-node N")


def _nodes_option(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    return Fact("nodes_option", surroundings.nodes, "option")


def _gpus_option(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    return Fact("gpus_per_node_option", surroundings.gpus_per_node, "option")


def _gpu_name(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    return Fact("gpu", None if surroundings.gpu is None else surroundings.gpu.name, "option")


def _gpu_is_said(configuration: Configuration, surroundings: Surroundings, given: Given) -> Fact:
    said = surroundings.gpu is not None or "node_compute_capability" in surroundings.node
    return Fact("gpu_is_said", said, "option")


SOURCES: dict[str, Source] = {
    "release": _release,
    "program": _program,
    "trains": _trains,
    "built_in_code": _built_in_code,
    "built_by_megatron_class": _built_by_megatron_class,
    "pipeline_dtype_left_out": _pipeline_dtype_left_out,
    "fork": _fork,
    "other_accelerator": _other_accelerator,
    "tp_from_variable": _tp_from_variable,
    "launcher": _launcher_kind,
    "launcher_world_size": _launcher_world,
    "nnodes": find_nodes,
    "processes_per_node": find_processes,
    "world_size": find_world,
    "nodes_option": _nodes_option,
    "gpus_per_node_option": _gpus_option,
    "gpus_per_node": _gpus_per_node,
    "gpu": _gpu_name,
    "gpu_is_said": _gpu_is_said,
    "gpu_capability_major": _capability("gpu_capability_major", 0),
    "gpu_capability_minor": _capability("gpu_capability_minor", 1),
    "gpu_memory": _profile("gpu_memory", "memory", "node_gpu_memory"),
    "nvlink_domain_size": _profile("nvlink_domain_size", "nvlink_domain", "node_nvlink_domain"),
    "te_version": _te,
    **LAUNCH_SOURCES,
}
