"""How many processes a launcher starts, and on how many nodes.

In: the launcher's options, the wrappers around it, the scheduler's header and the environment.  Out: `Launcher` with
three numbers, each with its origin.  A number is known only where the launcher itself would arrive at it: what the
machine or the scheduler decides is unknown, and so is the world size of plain python, whose caller may set it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from preflight.execution import Context
from preflight.launch.command import Command
from preflight.launch.model import Header, Launcher, Layer, Number, Setting
from preflight.launch.options import cut, known_prefix, split_text
from preflight.launch.scheduler import ABSENT, Request, complete_request, overlay, read_request
from preflight.launch.start import Start, find_displaced
from preflight.patterns import pattern
from preflight.source import Refusal, Span
from preflight.values import Text, Unknown

ONE = Number(1, "default")
_NODES = pattern(r"\$\{?((?:\w*_)?N?NODES|(?:\w*_)?NODE_COUNT|(?:\w*_)?NUM_NODES)\b")
"""A variable that says how many nodes there are."""


def measure(start: Start, command: Command, context: Context) -> Launcher:
    """The launcher of a command with its numbers."""
    options = dict(start.options.settings)
    span = start.command[0].span
    kind = start.kind
    if find_displaced(start) is not None and start.program is not None:
        lost = Number(None, "launcher", start.program.span, Unknown("syntax", start.program.text.display()))
        return Launcher(kind, lost, lost, lost, options, span, start.options.open)
    if kind in {"torchrun", "torch.distributed.launch"}:
        numbers = _torchrun(start, command, options)
    elif kind == "deepspeed":
        numbers = _deepspeed(start, command, options, context)
    elif kind == "accelerate":
        from preflight.launch.accelerate import read_configuration

        stated = read_configuration(options.get("config_file"), command.directory, context.files)
        numbers = _accelerate(options, stated, span)
    elif kind == "msrun":
        numbers = _msrun(start, options)
    elif kind in {"megatron", "swift"}:
        numbers = _swift(command, context)
    else:
        kind, numbers, options = _plain(start, command, context)
    return Launcher(kind, *_doubt_header(numbers, command, options), options, span, start.options.open)


Numbers = tuple[Number, Number, Number]


def _doubt_header(numbers: Numbers, command: Command, options: Mapping[str, Setting]) -> Numbers:
    """A branch that asks the caller for the number of nodes is one for other jobs than the header's, too."""
    name = next((found for c in command.conditions if (found := _NODES.search(c.text))), None)
    nodes, processes, _ = numbers
    stated = options.get("nnodes")
    places = [nodes.span, *(piece.span for piece in (stated.text.pieces if stated and stated.text else ()))]
    if name is None or command.header is None or not _stands_in(command.header, places):
        return numbers
    unknown = Unknown("environment", f"${name[1]}", name[1])
    nodes = Number(None, nodes.origin, nodes.span, unknown, (), nodes.text)
    return nodes, processes, multiply(nodes, processes)


def _stands_in(header: Header, places: Iterable[Span | None]) -> bool:
    """Whether any of these places is in a line of the header."""
    return any(
        line.source is place.source and line.start <= place.start and place.end <= line.end
        for place in places
        if place is not None
        for line in header.lines
    )


def multiply(one: Number, other: Number) -> Number:
    """The product, where both are known and there."""
    for number in (one, other):
        if not number.known:
            return Number(None, "derived", number.span, number.unknown, number.assumptions, number.text)
    if one.value is None or other.value is None:
        return Number(None, "derived")
    assumptions = tuple(dict.fromkeys((*one.assumptions, *other.assumptions)))
    return Number(one.value * other.value, "derived", other.span or one.span, None, assumptions)


def read_number(text: Text | None, origin: str, span: Span | None) -> Number:
    """A count in a text; what is no count is unknown."""
    if text is None:
        return Number(None, origin, span, Unknown("syntax", "a missing value"))
    if not text.known:
        return Number(None, origin, span, text.unknowns[0], text.assumptions, text.display())
    value = (text.value or "").strip()
    if not re.fullmatch(r"\d+", value):
        return Number(None, origin, span, Unknown("syntax", value), text.assumptions, value)
    return Number(int(value), origin, span, None, text.assumptions, value)


def from_setting(setting: Setting | None, default: Number) -> Number:
    if setting is None:
        return default
    return read_number(setting.text, "launcher", setting.span)


def job_request(command: Command) -> Request:
    """What the scheduler was asked for the job."""
    if command.header is None or command.header.heterogeneous:
        return Request()
    return complete_request(read_request(command.header.options, command.header.kind))


def step_request(command: Command) -> Request | None:
    """What the innermost srun was asked for, on top of the job; None without srun."""
    layer = next((layer for layer in reversed(command.layers) if layer.kind == "srun"), None)
    return request_step(layer, command) if layer is not None else None


def request_step(layer: Layer, command: Command) -> Request:
    """What one srun was asked for, on top of the job."""
    return complete_request(overlay(job_request(command), read_request(layer.options)))


def _opened(start: Start, number: Number) -> Number:
    """A default that words of unknown length in front of the program may override."""
    if number.origin == "default" and start.options.open:
        return Number(None, "launcher", None, start.options.open[0], (), start.options.open[0].text)
    return number


def _from_environment(command: Command, name: str, default: Number) -> Number:
    text = command.environment.get(name)
    if text is None:
        return default
    return read_number(text, "environment", text.pieces[0].span if text.pieces else None)


def _torchrun(start: Start, command: Command, options: Mapping[str, Setting]) -> Numbers:
    nodes = _from_environment(command, "PET_NNODES", _opened(start, ONE))
    if "nnodes" in options:
        nodes = read_range(options["nnodes"])
    processes = _from_environment(command, "PET_NPROC_PER_NODE", _opened(start, ONE))
    if "nproc_per_node" in options:
        processes = _read_processes(options["nproc_per_node"], command)
    return nodes, processes, multiply(nodes, processes)


def read_range(setting: Setting) -> Number:
    """`2`, or `1:4`, where the number of nodes is settled when the job starts."""
    text = setting.text
    if text is None or ":" not in text.display() or not text.known:
        return from_setting(setting, ONE)
    low, high = split_text(text, ":")[:2]
    if low.value == high.value:
        return read_number(low, "launcher", setting.span)
    unknown = Unknown("scheduler", text.display())
    return Number(None, "launcher", setting.span, unknown, text.assumptions, text.display())


def _read_processes(setting: Setting, command: Command) -> Number:
    """`8`, or `gpu` and `auto`: as many as the node shows, which the script may have said elsewhere."""
    value = setting.text.value if setting.text is not None else None
    if value not in {"gpu", "auto"}:
        return from_setting(setting, ONE)
    return node_devices(command, setting.span, value)


def node_devices(command: Command, span: Span | None, text: str) -> Number:
    """The GPUs that a process sees: CUDA_VISIBLE_DEVICES, else what the scheduler was asked for."""
    visible = count_visible(command.environment.get("CUDA_VISIBLE_DEVICES"))
    if visible is not None:
        return visible._replace(span=visible.span or span, text=text)
    step = step_request(command) or job_request(command)
    if step.gpus_per_node.value is not None and step.gpus_per_task.value is None:
        return step.gpus_per_node
    return Number(None, "launcher", span, Unknown("node", text), (), text)


def count_visible(text: Text | None) -> Number | None:
    """The number of devices in `0,1,2,3`; None where it is not set or not known."""
    if text is None or not text.pieces:
        return None
    span = text.pieces[0].span
    if not text.known:
        return Number(None, "environment", span, text.unknowns[0], (), text.display())
    items = [item.strip() for item in (text.value or "").split(",") if item.strip()]
    if not all(re.fullmatch(r"\d+(?:-\d+)?|GPU-[\w-]+|MIG-[\w/-]+", item) for item in items):
        return None
    ranges = [number for number, item in enumerate(items) if re.fullmatch(r"\d+-\d+", item)]
    if ranges:
        # Nothing expands `0-7`: its first number counts, and what follows is not looked at.
        items = items[: ranges[0] + 1]
    return Number(len(items), "environment", span, None, text.assumptions, text.display())


def _deepspeed(start: Start, command: Command, options: Mapping[str, Setting], context: Context) -> Numbers:
    slots = _read_hosts(options.get("hostfile"), command, context)
    local = node_devices(command, start.command[0].span, "GPUs of the node")
    if "include" in options or "exclude" in options:
        unknown = Unknown("scheduler", "--include")
        setting = options.get("include") or options["exclude"]
        counted = _count_included(options.get("include"))
        if counted is None or "exclude" in options:
            number = Number(None, "launcher", setting.span, unknown)
            return number, number, number
        return counted
    nodes = from_setting(options.get("num_nodes"), ABSENT)
    processes = from_setting(options.get("num_gpus"), ABSENT)
    if slots is not None:
        counts = list(slots[0].values())
        if nodes == ABSENT:
            nodes = Number(len(counts), "launcher", slots[1])
        if processes == ABSENT and len(set(counts)) == 1:
            processes = Number(counts[0], "launcher", slots[1])
        elif processes == ABSENT:
            uneven = Number(None, "launcher", slots[1], Unknown("file", "slots differ"))
            taken = counts[: nodes.value] if nodes.value is not None else counts
            return nodes, uneven, Number(sum(taken), "launcher", slots[1])
    elif "hostfile" in options and nodes == ABSENT:
        setting = options["hostfile"]
        shown = setting.text.display() if setting.text is not None else "hostfile"
        nodes = Number(None, "launcher", setting.span, Unknown("file", shown))
    if nodes == ABSENT:
        # Without a host file of the user's, deepspeed still looks for /job/hostfile.
        nodes = _opened(start, ONE)
    if processes == ABSENT:
        processes = local if nodes.value == 1 else Number(None, "launcher", None, Unknown("file", "hostfile"))
    return nodes, processes, multiply(nodes, processes)


def _read_hosts(
    setting: Setting | None, command: Command, context: Context
) -> tuple[dict[str, int], Span] | None:
    """The slots of each host in a host file that can be read."""
    path = setting.text.value if setting is not None and setting.text is not None else None
    if path is None or setting is None:
        return None
    directory = command.directory.value if command.directory is not None else None
    source = context.files.read(path, directory)
    if isinstance(source, Refusal):
        return None
    slots: dict[str, int] = {}
    for line in source.text.splitlines():
        match = re.match(r"\s*([^\s#]+)\s+slots=(\d+)", line)
        if match:
            slots[match.group(1)] = int(match.group(2))
        elif line.strip() and not line.strip().startswith("#"):
            return None
    return (slots, setting.span) if slots else None


def _count_included(setting: Setting | None) -> Numbers | None:
    """`localhost:0,1,2,3` and `worker-0@worker-1:0,2`; hosts without a list of devices leave it open."""
    value = setting.text.value if setting is not None and setting.text is not None else None
    if value is None or setting is None:
        return None
    counts = []
    for host in value.split("@"):
        name, colon, devices = host.partition(":")
        if not name or not colon or not devices:
            return None
        counts.append(len([item for item in devices.split(",") if item.strip()]))
    nodes = Number(len(counts), "launcher", setting.span)
    if len(set(counts)) != 1:
        uneven = Number(None, "launcher", setting.span, Unknown("scheduler", value))
        return nodes, uneven, Number(sum(counts), "launcher", setting.span)
    processes = Number(counts[0], "launcher", setting.span)
    return nodes, processes, multiply(nodes, processes)


def _accelerate(options: Mapping[str, Setting], stated: Mapping[str, Number], span: Span) -> Numbers:
    """`--num_processes` counts the processes of all machines; the rest is in a configuration file."""
    unset = Number(None, "launcher", span, Unknown("file", "accelerate's configuration file"))
    configured = options.get("config_file")
    if configured is not None and configured.text is not None:
        unset = unset._replace(span=configured.span, unknown=Unknown("file", configured.text.display()))
    world = from_setting(options.get("num_processes"), stated.get("num_processes", unset))
    nodes = from_setting(options.get("num_machines"), stated.get("num_machines", unset))
    return nodes, divide(world, nodes), world


def divide(one: Number, other: Number) -> Number:
    for number in (one, other):
        if not number.known:
            return number._replace(value=None, origin="derived")
    if one.value is None or not other.value or one.value % other.value:
        return Number(
            None, "derived", one.span, Unknown("scheduler", f"{one.value} over {other.value} nodes")
        )
    return one._replace(value=one.value // other.value, origin="derived")


def _msrun(start: Start, options: Mapping[str, Setting]) -> Numbers:
    eight = _opened(start, Number(8, "default"))
    world = from_setting(options.get("worker_num"), eight)
    local = from_setting(options.get("local_worker_num"), eight)
    return divide(world, local), local, world


def _swift(command: Command, context: Context) -> Numbers:
    """ms-swift starts torchrun with what NNODES and NPROC_PER_NODE say."""
    numbers = []
    for name in ("NNODES", "NPROC_PER_NODE"):
        text = command.environment.get(name)
        closed = context.closed_environment or command.closed or name in command.environment
        if text is None and not closed:
            numbers.append(Number(None, "environment", None, Unknown("environment", f"${name}", name)))
        else:
            numbers.append(_from_environment(command, name, ONE))
    return numbers[0], numbers[1], multiply(numbers[0], numbers[1])


ACTOR_OPTIONS = ("actor_num_nodes", "actor_num_gpus_per_node")


def read_actors(start: Start) -> Numbers | None:
    """The ranks of the trained model, where a program that Ray distributes is told them (`--actor-num-nodes`)."""
    found: dict[str, Number] = {}
    for word, follower in zip(start.argv, (*start.argv[1:], None), strict=False):
        head = known_prefix(word.text)
        if not head.startswith("--actor"):
            continue
        name, equals, _ = head[2:].replace("-", "_").partition("=")
        if name in ACTOR_OPTIONS:
            text = cut(word.text, len(name) + 3) if equals else (follower.text if follower else None)
            found[name] = read_number(text, "launcher", word.span)
    if set(found) != set(ACTOR_OPTIONS):
        return None
    nodes, each = found["actor_num_nodes"], found["actor_num_gpus_per_node"]
    return nodes, each, multiply(nodes, each)


def is_megatron_entry(start: Start) -> bool:
    """Whether the program is a training that knows nothing of Ray."""
    name = known_prefix(start.program.text) if start.program is not None else ""
    return name.rsplit("/", 1)[-1].startswith("pretrain_")


def _plain(start: Start, command: Command, context: Context) -> tuple[str, Numbers, dict[str, Setting]]:
    """python by itself: one process for each task of srun or mpirun, or a client of Ray, or one process."""
    actors = read_actors(start)
    if actors is not None:
        return "ray", actors, {}
    if command.handed_to is not None:
        handed = Number(None, "launcher", command.span, Unknown("code", command.handed_to))
        return "code", (handed, handed, handed), {}
    if b"ray start" in command.span.resolve().source.data and not is_megatron_entry(start):
        # The program is a client of the Ray cluster that the script starts.
        workers = Number(None, "launcher", command.span, Unknown("program", "workers started by Ray"))
        return "ray", (workers, workers, workers), {}
    for layer in reversed(command.layers):
        if layer.kind == "srun":
            return "srun", _from_step(request_step(layer, command), layer), dict(layer.options)
        if layer.kind == "mpirun":
            return "mpirun", _from_mpi(layer, command, context), dict(layer.options)
        if layer.kind == "ray":
            workers = Number(None, "launcher", layer.span, Unknown("program", "workers started by Ray"))
            return "ray", (workers, workers, workers), dict(layer.options)
    world = _from_environment(command, "WORLD_SIZE", ABSENT)
    if world == ABSENT:
        if context.closed_environment or command.closed or "WORLD_SIZE" in command.environment:
            return "python", (ONE, ONE, ONE), {}
        unknown = Unknown("environment", "$WORLD_SIZE", "WORLD_SIZE")
        world = Number(None, "environment", start.command[0].span, unknown)
    other = Number(None, "environment", world.span, Unknown("environment", "the caller"))
    return "python", (other, other, world), {}


def _from_step(step: Request, layer: Layer) -> Numbers:
    unset = Number(None, "scheduler", layer.span, Unknown("scheduler", "srun"))
    nodes = step.nodes if step.nodes != ABSENT else unset
    each, tasks = step.tasks_per_node, step.tasks
    if each == ABSENT and tasks == ABSENT:
        # srun starts one task on each node unless told otherwise, here or in the environment.
        each = unset
    world = tasks if tasks != ABSENT else multiply(nodes, each)
    if each == ABSENT:
        each = divide(world, nodes)
    return nodes, each, world


def _from_mpi(layer: Layer, command: Command, context: Context) -> Numbers:
    unset = Number(None, "launcher", layer.span, Unknown("scheduler", "mpirun"))
    world = from_setting(layer.options.get("np"), ABSENT)
    each = from_setting(layer.options.get("ppn"), ABSENT)
    nodes, slots = _count_hosts(layer.options.get("hosts"))
    if nodes == ABSENT and "hostfile" in layer.options:
        found = _read_hosts(layer.options["hostfile"], command, context)
        if found is not None:
            nodes = Number(len(found[0]), "launcher", found[1])
    if world == ABSENT and slots is not None:
        world = slots
    if world == ABSENT and each != ABSENT:
        world = multiply(nodes if nodes != ABSENT else unset, each)
    if world == ABSENT:
        world = unset
    if nodes == ABSENT:
        nodes = divide(world, each) if each != ABSENT and world.known else unset
    if each == ABSENT:
        each = divide(world, nodes) if nodes.known and world.known else unset
    return nodes, each, world


def count_ranks(layers: Sequence[Layer]) -> Number:
    """Ranks that mpirun starts on each node, by its own options; what maps them otherwise leaves it open."""
    layer = next((layer for layer in reversed(layers) if layer.kind == "mpirun"), None)
    if layer is None or "map_by" in layer.options:
        return ABSENT
    each = from_setting(layer.options.get("ppn"), ABSENT)
    nodes, _ = _count_hosts(layer.options.get("hosts"))
    if each != ABSENT or nodes == ABSENT:
        return each
    return divide(from_setting(layer.options.get("np"), ABSENT), nodes)


def _count_hosts(setting: Setting | None) -> tuple[Number, Number | None]:
    """`a:8,b:8`: hosts, and their slots where each says its own."""
    value = setting.text.value if setting is not None and setting.text is not None else None
    if value is None or setting is None:
        return ABSENT, None
    items = [item.strip().rpartition(":") for item in value.split(",") if item.strip()]
    names = {head or tail for head, _, tail in items}
    nodes = Number(len(names), "launcher", setting.span)
    if all(head and tail.isdigit() for head, _, tail in items):
        return nodes, Number(sum(int(tail) for _, _, tail in items), "launcher", setting.span)
    return nodes, None
