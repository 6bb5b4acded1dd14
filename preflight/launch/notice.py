"""What a launch shows that no number says: remarks for rules.

In: a launch.  Out: the launch with remarks about its environment: a variable that a wrapper does not hand over, a name
that is one slip away from one that matters, a variable that Slurm never sets, a port that each task draws for itself.
It refuses to guess: a name that is merely unknown to us is no slip.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from preflight.execution import Related, Remark
from preflight.later import later
from preflight.launch.addresses import notice_addresses
from preflight.launch.model import Launch, Layer
from preflight.launch.pipes import notice_hidden_status
from preflight.launch.scheduler import SLURM_VARIABLES
from preflight.source import Span
from preflight.values import Text

notice_apart = later("preflight.launch.apart", "notice_apart")
notice_early = later("preflight.launch.early", "notice_early")
notice_steps = later("preflight.launch.steps", "notice_steps")

TELLING_PREFIXES = (
    "NCCL_",
    "NVTE_",
    "CUDA_",
    "TORCH_",
    "GLOO_",
    "UCX_",
    "NVSHMEM_",
    "HCCL_",
    "TRITON_",
    "MEGATRON_",
)
TELLING_NAMES = frozenset(
    {"MASTER_ADDR", "MASTER_PORT", "PYTHONPATH", "PYTORCH_CUDA_ALLOC_CONF", "LD_LIBRARY_PATH"}
)
CONNECTIONS = "CUDA_DEVICE_MAX_CONNECTIONS"
SLIPS: Mapping[str, str] = {
    "CUDA_MAX_CONNECTIONS": CONNECTIONS,
    "DEVICE_MAX_CONNECTIONS": CONNECTIONS,
    "CUDA_VISIBLE_DEVICE": "CUDA_VISIBLE_DEVICES",
    "CUDA_VISABLE_DEVICES": "CUDA_VISIBLE_DEVICES",
    "CUDA_VISIBLES_DEVICES": "CUDA_VISIBLE_DEVICES",
    "NCCL_SOCKET_IFACE": "NCCL_SOCKET_IFNAME",
    "NCCL_IB_HCAS": "NCCL_IB_HCA",
    "PYTORCH_CUDA_ALLOC_CONFIG": "PYTORCH_CUDA_ALLOC_CONF",
}
"""Names that nothing reads, with the name that was meant."""


def notice(launch: Launch) -> Launch:
    """The launch with what is odd about its environment."""
    found = (
        *_notice_lost(launch),
        *_notice_slips(launch),
        *_notice_first_node_only(launch),
        *_notice_scheduler_names(launch),
        *notice_addresses(launch),
        *_notice_unset(launch),
        *(notice_early(launch) if launch.wrappers or launch.header is not None else ()),
        *(notice_apart(launch) if launch.wrappers else ()),
        *(notice_steps(launch) if launch.header is not None else ()),
        *_notice_slots(launch),
        *_notice_misplaced(launch),
        *_notice_program(launch),
        *notice_hidden_status(launch),
    )
    return launch._replace(remarks=(*launch.remarks, *found)) if found else launch


def _place(text: Text, otherwise: Span) -> Span:
    return text.pieces[0].span if text.pieces else otherwise


def _notice_lost(launch: Launch) -> Iterable[Remark]:
    """Variables that the script exports for the ranks and that stop at a wrapper."""
    for name, (text, layer) in launch.lost.items():
        if layer.kind == "ray":
            # What was set before `ray start` reaches the jobs all the same.
            continue
        if not is_telling(name):
            continue
        values = {"name": name, "value": text.display(), "wrapper": layer.kind}
        related = (Related(_place(text, layer.span), f"{name} is set here"),)
        yield Remark("environment-lost", layer.span, values, related)


def is_telling(name: str) -> bool:
    """Whether a variable is one that ranks read."""
    return name.startswith(TELLING_PREFIXES) or name in TELLING_NAMES


OPEN_MPI = frozenset({"mca", "export", "allow_run_as_root", "map_by", "hostfile"})
MPICH = frozenset({"genv", "env", "envlist", "genvlist", "envall", "iface", "launcher"})


def _notice_first_node_only(launch: Launch) -> Iterable[Remark]:
    """Variables that Open MPI keeps on the first node: it hands over to others only what `-x` names."""
    layer = next((layer for layer in reversed(launch.wrappers) if layer.kind == "mpirun"), None)
    nodes = launch.launcher.nodes.value
    if layer is None or nodes is None or nodes < 2 or launch.header is not None:
        return
    options = set(layer.options)
    if options & MPICH or (not options & OPEN_MPI and not _has_slots(layer)):
        return
    named = " ".join(word.text.display() for word in layer.words)
    for name, text in launch.environment.items():
        if text is None or not text.known or not is_telling(name) or name in named:
            continue
        values = {"name": name, "value": text.display()}
        related = (Related(_place(text, layer.span), f"{name} is set here"),)
        yield Remark("environment-on-first-node", layer.span, values, related)


def _has_slots(layer: Layer) -> bool:
    """`-H a:8,b:8` is Open MPI's way to write hosts."""
    setting = layer.options.get("hosts")
    return setting is not None and setting.text is not None and ":" in setting.text.display()


def _notice_slips(launch: Launch) -> Iterable[Remark]:
    """A variable whose name nothing reads, while the one that it resembles is not set."""
    for name, text in launch.environment.items():
        meant = SLIPS.get(name) or nearest_connections(name)
        if meant is None or text is None or launch.environment.get(meant) is not None:
            continue
        place = _place(text, launch.span)
        values = {"name": name, "value": text.display(), "suggestion": meant}
        yield Remark("environment-misspelt", place, values, edits=_rename(place, name, meant))


def nearest_connections(name: str) -> str | None:
    """CUDA_DEVICE_MAX_CONNECTIONS, where a name can only be a slip of it."""
    if name == CONNECTIONS or "CONN" not in name.upper() or not name.upper().startswith("CUDA"):
        return None
    from difflib import SequenceMatcher

    return CONNECTIONS if SequenceMatcher(None, name.upper(), CONNECTIONS).ratio() > 0.85 else None


def _rename(place: Span, name: str, meant: str) -> tuple[tuple[Span, str], ...]:
    """The edit that mends an assignment whose value stands at `place`."""
    place = place.resolve()
    data, start = place.source.data, place.start
    for quote in (b"", b"'", b'"'):
        head = name.encode() + b"=" + quote
        begin = start - len(head)
        if begin >= 0 and data[begin:start] == head:
            return ((Span(place.source, begin, begin + len(name)), meant),)
    return ()


def _notice_scheduler_names(launch: Launch) -> Iterable[Remark]:
    """`SLURM_` variables that Slurm never sets, one slip away from one that it sets."""
    texts = [word.text for word in launch.command]
    texts += [text for text in launch.environment.values() if text is not None and not text.known]
    seen: set[str] = set()
    for text in texts:
        for piece in text.pieces:
            name = piece.unknown.name if piece.unknown is not None else None
            if name is None or not name.startswith("SLURM_") or name in seen or name in SLURM_VARIABLES:
                continue
            seen.add(name)
            meant = nearest_variable(name)
            if meant is not None:
                values = {"name": name, "suggestion": meant}
                yield Remark("scheduler-variable-misspelt", piece.span, values)


OPTION_VARIABLES = {
    "SLURM_GPUS_PER_NODE": "gpus_per_node",
    "SLURM_NTASKS_PER_NODE": "ntasks_per_node",
    "SLURM_CPUS_PER_TASK": "cpus_per_task",
    "SLURM_GPUS_PER_TASK": "gpus_per_task",
    "SLURM_GPUS": "gpus",
}
"""Variables that Slurm sets only where their option is given."""


def _notice_unset(launch: Launch) -> Iterable[Remark]:
    """Variables that stay unset because the directives say the same thing with another option."""
    header = launch.header
    if header is None or header.kind != "slurm" or header.heterogeneous or not header.lines:
        return
    for word in launch.command:
        for piece in word.text.pieces:
            name = piece.unknown.name if piece.unknown is not None else None
            option = OPTION_VARIABLES.get(name or "")
            if name is None or option is None or option in header.options:
                continue
            processes = launch.launcher.options.get("nproc_per_node")
            counts = processes is not None and processes.text is not None and piece in processes.text.pieces
            alone = (
                counts and name == "SLURM_GPUS_PER_NODE" and bool({"gres", "gpus"} & header.options.keys())
            )
            values = {"name": name, "option": "--" + option.replace("_", "-"), "processes": alone}
            yield Remark("scheduler-variable-unset", piece.span, values)
            return


def _notice_slots(launch: Launch) -> Iterable[Remark]:
    if launch.launcher.kind != "deepspeed" or "include" not in launch.launcher.options:
        return ()
    from preflight.launch.deepspeed import notice_slots

    return notice_slots(launch)


def _notice_program(launch: Launch) -> Iterable[Remark]:
    """A file where a module is asked for, and a launcher where a file is."""
    program = launch.program
    name = program.text.value if program is not None else None
    if program is None or name is None:
        return
    if launch.module and name.endswith(".py"):
        yield Remark("module-with-ending", program.span, {"name": name})
    elif launch.launcher.kind == "python" and not launch.module and name in LAUNCHERS:
        yield Remark("launcher-as-file", program.span, {"name": name})


LAUNCHERS = frozenset({"torchrun", "deepspeed", "accelerate", "megatron", "swift", "msrun", "mpirun", "srun"})


def _notice_misplaced(launch: Launch) -> Iterable[Remark]:
    """Options of a container that stand behind its image."""
    for layer in launch.wrappers:
        setting = layer.options.get("misplaced")
        if setting is not None and setting.text is not None:
            option = setting.text.display().partition("=")[0]
            values = {"option": option, "container": layer.span.text}
            yield Remark("container-option-behind-image", setting.span, values)


def nearest_variable(name: str) -> str | None:
    """The variable of Slurm that a name probably means: other underscores, another word order, one letter."""
    key = _key(name)
    same = sorted(known for known in SLURM_VARIABLES if _key(known) == key)
    if same:
        return same[0]
    from difflib import get_close_matches

    close = get_close_matches(name, sorted(SLURM_VARIABLES), 1, 0.93)
    return close[0] if close else None


def _key(name: str) -> tuple[str, ...]:
    """The letters of a name without underscores, JOB, and the two spellings of numbers and nodes."""
    words = name.removeprefix("SLURM_").replace("NUMBER", "NUM").split("_")
    return ("".join(sorted(word for word in words if word != "JOB")),)
