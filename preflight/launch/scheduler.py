"""What a scheduler's options mean in numbers, and the variables that it will set.

In: the options of a header, a submission or a job step.  Out: `Request` (nodes, tasks, GPUs, each a `Number`) and
the `SLURM_*` variables of the batch script.  A number that the options leave to the scheduler is unknown, with
reason "scheduler"; one that they do not speak of is absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from preflight.launch.model import Header, Number, Setting
from preflight.patterns import pattern as lazy_pattern
from preflight.record import NamedTuple
from preflight.source import Span
from preflight.values import Piece, Step, Text, Unknown

ABSENT = Number(None, "scheduler")
_COUNT = lazy_pattern(r"\d+[kKmM]?$")
_RANGE = lazy_pattern(r"(\d+[kKmM]?)-(\d+[kKmM]?)$")

_NAMES = """
    ARRAY_JOB_ID ARRAY_TASK_COUNT ARRAY_TASK_ID ARRAY_TASK_MAX ARRAY_TASK_MIN ARRAY_TASK_STEP CLUSTER_NAME CLUSTERS
    CONF CONTAINER CPU_BIND CPU_BIND_LIST CPU_BIND_TYPE CPU_BIND_VERBOSE CPU_FREQ_REQ CPUS_ON_NODE CPUS_PER_GPU
    CPUS_PER_TASK DEBUG DIST_PLANESIZE DISTRIBUTION ERRORMODE EXPORT_ENV EXPORT_FILE GPU_BIND GPU_FREQ GPUS
    GPUS_ON_NODE GPUS_PER_NODE GPUS_PER_SOCKET GPUS_PER_TASK GTIDS HET_SIZE HINT INPUTMODE JOB_ACCOUNT JOB_CPUS_PER_NODE
    JOB_DEPENDENCY JOB_END_TIME JOB_GID JOB_GPUS JOB_GROUP JOB_ID JOBID JOB_LICENSES JOB_NAME JOB_NODELIST JOB_NUM_NODES
    JOB_PARTITION JOB_QOS JOB_RESERVATION JOB_SEGMENT_SIZE JOB_START_TIME JOB_UID JOB_USER KILL_BAD_EXIT LABELIO
    LAUNCH_NODE_IPADDR LOCALID MEM_BIND MEM_BIND_LIST MEM_PER_CPU MEM_PER_GPU MEM_PER_NODE MPI_TYPE NNODES NODE_ALIASES
    NODEFILE NODEID NODELIST NO_KILL NPROCS NTASKS NTASKS_PER_CORE NTASKS_PER_GPU NTASKS_PER_NODE NTASKS_PER_SOCKET
    OVERCOMMIT OVERLAP PRIO_PROCESS PROCID PROFILE RESTART_COUNT RESV_PORTS RLIMIT_NOFILE SHARDS_ON_NODE SPANK
    SRUN_COMM_HOST SRUN_COMM_PORT STEP_GPUS STEP_ID STEPID STEP_LAUNCHER_PORT STEP_NODELIST STEP_NUM_NODES
    STEP_NUM_TASKS STEP_RESV_PORTS STEP_TASKS_PER_NODE STEPMGR SUBMIT_DIR SUBMIT_HOST SWITCHES TASKS_PER_NODE TASK_PID
    TASK_EPILOG TASK_PROLOG TASK_USER TASK_HOST THREADS_PER_CORE TIMELIMIT TOPOLOGY_ADDR TOPOLOGY_ADDR_PATTERN UMASK
    WCKEY WHOLE WORKING_CLUSTER JOB_NODES HOSTS ACCOUNT PARTITION QOS RESERVATION CONSTRAINT EXCLUSIVE JOB_COMMENT
    TRES_PER_TASK TRES_BIND SEND_LIBS OPEN_MODE NETWORK WAIT UNBUFFEREDIO EPILOG PROLOG STDOUTMODE STDERRMODE
    STDINMODE SPREAD_JOB USE_MIN_NODES SLURMD_DEBUG POWER MCS_LABEL GRES GRES_FLAGS MULTI_PROG IMMEDIATE THREADS
    HET_JOB_ID DELAY_BOOT DEADLINE_TIME CORE_SPEC CHECKPOINT BCAST BURST_BUFFER COMPRESS BCAST_EXCLUDE EXACT REMOTE_CWD
    REQ_SWITCH WAIT4SWITCH DISABLE_STATUS DEPENDENCY ACCTG_FREQ
"""
SLURM_VARIABLES = frozenset("SLURM_" + name for name in _NAMES.split())
"""Variables that Slurm sets or reads."""


class Request(NamedTuple):
    """What is asked of the scheduler."""

    nodes: Number = ABSENT
    nodes_maximum: Number = ABSENT
    tasks: Number = ABSENT
    tasks_per_node: Number = ABSENT
    gpus_per_node: Number = ABSENT
    gpus_per_task: Number = ABSENT
    gpus: Number = ABSENT
    cpus_per_task: Number = ABSENT
    exclusive: bool = False


def left_open(what: str, span: Span | None) -> Number:
    """A number that the options leave to the scheduler."""
    return Number(None, "scheduler", span, Unknown("scheduler", what))


def read_request(settings: Mapping[str, Setting], kind: str = "slurm") -> Request:
    """The numbers in a set of options."""
    if kind == "pbs":
        return _read_pbs(settings)
    if kind == "lsf":
        return _read_lsf(settings)
    nodes, maximum = read_nodes(settings.get("nodes"))
    request = Request(
        nodes=nodes,
        nodes_maximum=maximum,
        tasks=read_count(settings.get("ntasks")),
        tasks_per_node=read_count(settings.get("ntasks_per_node")),
        gpus_per_task=read_devices(settings.get("gpus_per_task")),
        gpus=read_devices(settings.get("gpus")),
        cpus_per_task=read_count(settings.get("cpus_per_task")),
        exclusive="exclusive" in settings,
    )
    return request._replace(gpus_per_node=_read_node_devices(settings, request))


def _read_node_devices(settings: Mapping[str, Setting], request: Request) -> Number:
    for name in ("gpus_per_node", "gres", "tres_per_node"):
        found = read_devices(settings.get(name), general=name != "gpus_per_node")
        if found.value is not None or not found.known:
            return found
    total, nodes = request.gpus, request.nodes
    if total.value is not None and nodes.value == 1:
        return total
    each, tasks = request.gpus_per_task, request.tasks_per_node
    if each.value is not None and tasks.value is not None:
        return each._replace(value=each.value * tasks.value)
    for number in (total, each):
        if number.value is not None or not number.known:
            return left_open(number.text or "GPUs of a node", number.span)
    return ABSENT


def read_count(setting: Setting | None, text: Text | None = None) -> Number:
    """A number; with a value that is no number, absent."""
    if setting is None:
        return ABSENT
    text = text if text is not None else setting.text
    if text is None:
        return ABSENT
    if not text.known:
        return Number(None, "scheduler", setting.span, text.unknowns[0], (), text.display())
    value = _parse_count(text.value or "")
    if value is None:
        unknown = Unknown("scheduler", text.display())
        return Number(None, "scheduler", setting.span, unknown, (), text.display())
    return Number(value, "scheduler", setting.span, None, text.assumptions, text.display())


def _parse_count(text: str) -> int | None:
    text = text.strip()
    if not _COUNT.match(text):
        return None
    scale = {"k": 1024, "m": 1024 * 1024}.get(text[-1].lower(), 1)
    return int(text.rstrip("kKmM")) * scale


def read_nodes(setting: Setting | None) -> tuple[Number, Number]:
    """The number of nodes (`4`), or the ends of a range (`2-4`); the first is known only where both are the same."""
    value = setting.text.value if setting is not None and setting.text is not None else None
    if setting is None or value is None or not (match := _RANGE.match(value.strip())):
        count = read_count(setting)
        return count, count
    low, high = _parse_count(match.group(1)), _parse_count(match.group(2))
    text = setting.text.display() if setting.text is not None else ""
    maximum = Number(high, "scheduler", setting.span, None, (), text)
    if low == high:
        return maximum, maximum
    return Number(None, "scheduler", setting.span, Unknown("scheduler", text), (), text), maximum


def read_devices(setting: Setting | None, *, general: bool = False) -> Number:
    """GPUs in `8`, `a100:8`, or with `general` resources `gpu:a100:8,nvme:1` and `gres/gpu:8`."""
    if setting is None or setting.text is None:
        return ABSENT
    if not setting.text.known:
        unknown = setting.text.unknowns[0]
        shown = setting.text.display()
        if not general or "gpu" in shown:
            return Number(None, "scheduler", setting.span, unknown, (), shown)
        return ABSENT
    total, found = 0, False
    value = setting.text.value or ""
    for item in value.split(","):
        parts = re.split(
            r"[:=]", re.sub(r"\(.*?\)", "", item.strip()).removeprefix("gres/").removeprefix("gres:")
        )
        if general:
            if parts[0] != "gpu":
                continue
            parts = parts[1:] or ["1"]
        count = _parse_count(parts[-1])
        if count is None:
            if not general or len(parts) != 1:
                unknown = Unknown("scheduler", value)
                return Number(None, "scheduler", setting.span, unknown, (), value)
            count = 1
        total, found = total + count, True
    if not found:
        return ABSENT
    return Number(total, "scheduler", setting.span, None, setting.text.assumptions, value)


def _number(setting: Setting, value: int | str | None) -> Number:
    return Number(int(value) if value is not None else None, "scheduler", setting.span)


def _read_pbs(settings: Mapping[str, Setting]) -> Request:
    """`-l select=2:ncpus=64:ngpus=8:mpiprocs=8`, or `-l nodes=2:ppn=8:gpus=8`; only one kind of chunk is understood."""
    setting = settings.get("l")
    value = setting.text.value if setting is not None and setting.text is not None else None
    if setting is None or value is None or "+" in value:
        return Request()
    head = re.search(r"\b(?:select|nodes)=(\d+)?", value)
    if head is None:
        return Request()
    found = {
        key: re.search(rf"\b{key}=(\d+)", value) for key in ("ngpus", "gpus", "mpiprocs", "ppn", "ncpus")
    }
    gpus, processes = found["ngpus"] or found["gpus"], found["mpiprocs"] or found["ppn"]
    return Request(
        nodes=_number(setting, head.group(1) or 1),
        nodes_maximum=_number(setting, head.group(1) or 1),
        gpus_per_node=_number(setting, gpus.group(1)) if gpus else ABSENT,
        tasks_per_node=_number(setting, processes.group(1)) if processes else ABSENT,
    )


def _read_lsf(settings: Mapping[str, Setting]) -> Request:
    """`-n 16 -R "span[ptile=8]" -gpu "num=8"`, or `-nnodes 2`."""
    request = Request(tasks=read_count(settings.get("n")), nodes=read_count(settings.get("nnodes")))
    request = request._replace(
        tasks_per_node=_read_match(settings.get("R"), r"\bptile=(\d+)"),
        gpus_per_node=_read_match(settings.get("gpu"), r"\bnum=(\d+)"),
    )
    tasks, tile = request.tasks, request.tasks_per_node
    if request.nodes.value is None and tasks.value and tile.value and tasks.value % tile.value == 0:
        request = request._replace(nodes=tasks._replace(value=tasks.value // tile.value))
    return request._replace(nodes_maximum=request.nodes)


def _read_match(setting: Setting | None, pattern: str) -> Number:
    value = setting.text.value if setting is not None and setting.text is not None else None
    match = re.search(pattern, value) if value is not None else None
    return _number(setting, match.group(1)) if setting is not None and match else ABSENT


def complete_request(request: Request) -> Request:
    """Fill in what follows from the rest: tasks from nodes and tasks per node, and the other way round."""
    nodes, tasks, each = request.nodes, request.tasks, request.tasks_per_node
    if nodes.value is not None and each.value is not None and tasks == ABSENT:
        tasks = each._replace(value=nodes.value * each.value, origin="derived")
    elif nodes.value and tasks.value is not None and each == ABSENT and tasks.value % nodes.value == 0:
        each = tasks._replace(value=tasks.value // nodes.value, origin="derived")
    elif nodes == ABSENT and tasks.value and each.value and tasks.value % each.value == 0:
        nodes = tasks._replace(value=tasks.value // each.value, origin="derived")
    return request._replace(nodes=nodes, tasks=tasks, tasks_per_node=each)


def overlay(job: Request, step: Request) -> Request:
    """What a job step gets: its own options where it has them, else what the job was given."""
    if step.nodes == ABSENT and step.tasks == ABSENT and step.tasks_per_node == ABSENT:
        merged = job
    else:
        nodes = step.nodes if step.nodes != ABSENT else job.nodes
        tasks, each = step.tasks, step.tasks_per_node
        if tasks == ABSENT and each == ABSENT:
            tasks, each = job.tasks, job.tasks_per_node if job.tasks == ABSENT else ABSENT
            if step.nodes != ABSENT and tasks.value is not None:
                # The job's number of tasks stays; how many land on each node is the scheduler's affair.
                each = left_open("tasks of a node", tasks.span)
        elif tasks == ABSENT and job.tasks.value is not None:
            # SLURM_NTASKS of the job takes precedence over --ntasks-per-node of the step.
            expected = nodes.value * each.value if nodes.value and each.value else None
            if expected != job.tasks.value:
                each = left_open(each.text or "tasks", each.span)
        merged = Request(nodes=nodes, nodes_maximum=nodes, tasks=tasks, tasks_per_node=each)
    return merged._replace(
        gpus_per_node=_first(step.gpus_per_node, job.gpus_per_node),
        gpus_per_task=_first(step.gpus_per_task, job.gpus_per_task),
        gpus=_first(step.gpus, job.gpus),
        cpus_per_task=_first(step.cpus_per_task, job.cpus_per_task),
        exclusive=job.exclusive or step.exclusive,
    )


def _first(one: Number, other: Number) -> Number:
    return one if one != ABSENT else other


def scheduler_variables(
    header: Header | None, environment: Mapping[str, str] | None = None
) -> Mapping[str, Text | None]:
    """The variables that the scheduler sets for the batch script, as far as the header tells.

    Those that only the running job has (its number, its nodes) are unknown with reason "scheduler".  Names in
    `environment` (what the caller says) are left out.
    """
    if header is None or header.kind != "slurm":
        return {}
    given = environment or {}
    found: dict[str, Text | None] = {
        name: Text.missing(Unknown("scheduler", f"${name}", name), header.span)
        for name in ("SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURMD_NODENAME")
    }
    if header.heterogeneous:
        return {name: text for name, text in found.items() if name not in given}
    for name, (value, span) in _known_variables(header).items():
        step = Step(span, f"{name} follows from here")
        found[name] = Text((Piece(value, span, None, (step,)),))
    return {name: text for name, text in found.items() if name not in given}


def _known_variables(header: Header) -> dict[str, tuple[str, Span]]:
    request = complete_request(read_request(header.options))
    numbers = {
        "SLURM_NNODES": request.nodes,
        "SLURM_JOB_NUM_NODES": request.nodes,
        "SLURM_NTASKS": request.tasks,
        "SLURM_NPROCS": request.tasks,
        "SLURM_GPUS_ON_NODE": request.gpus_per_node,
        "SLURM_CPUS_PER_TASK": request.cpus_per_task,
    }
    found = {
        name: (str(number.value), number.span)
        for name, number in numbers.items()
        if number.value is not None and number.span is not None
    }
    for name, option in {
        "SLURM_NTASKS_PER_NODE": "ntasks_per_node",
        "SLURM_GPUS_PER_NODE": "gpus_per_node",
        "SLURM_GPUS_PER_TASK": "gpus_per_task",
        "SLURM_GPUS": "gpus",
        "SLURM_JOB_NAME": "job_name",
    }.items():
        setting = header.options.get(option)
        if setting is not None and setting.text is not None and setting.text.value:
            found[name] = (setting.text.value, setting.span)
    export = header.options.get("export")
    if export is not None and export.text is not None and export.text.value:
        # What sbatch is told to hand over, srun hands over too.
        found["SLURM_EXPORT_ENV"] = (export.text.value, export.span)
    each, nodes = request.tasks_per_node, request.nodes
    if each.value is not None and nodes.value is not None and each.span is not None:
        shown = str(each.value) if nodes.value == 1 else f"{each.value}(x{nodes.value})"
        found["SLURM_TASKS_PER_NODE"] = (shown, each.span)
    for name in ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID"):
        # The batch script itself runs once, as the first task of the first node.
        found[name] = ("0", header.span)
    return found
