"""Where the ranks of a launch meet, and which rank a node has.

In: a launch.  Out: host, port, backend and node rank, each a text and its place.  torchrun reads its own options and
no MASTER_ADDR; programs under srun, mpirun and plain python read the environment, unless a flag of their own says
otherwise; ms-swift hands the environment to
torchrun.  What a launcher finds out by itself (a hostfile, Ray) is absent.
"""

from __future__ import annotations

from preflight.launch.model import Launch, Setting
from preflight.launch.options import cut
from preflight.patterns import pattern
from preflight.record import NamedTuple
from preflight.source import Span
from preflight.values import Text, Unknown

Placed = tuple[Text | None, Span | None]
NOTHING: Placed = (None, None)
READ_ENVIRONMENT = frozenset({"srun", "mpirun", "python", "megatron", "swift"})
OWN_FLAGS = pattern(
    r"--(?:master|dist|init|rdzv)[-_](?:addr(?:ess)?|ip|host|port|url|method|init[-_]method)(?:=.*)?"
)
"""Flags by which a program is told the meeting point, whatever its environment says."""


class Rendezvous(NamedTuple):
    host: Placed = NOTHING
    port: Placed = NOTHING
    backend: Placed = NOTHING


def read_rendezvous(launch: Launch) -> Rendezvous:
    """The meeting point as the launcher or the ranks read it."""
    launcher = launch.launcher
    options = launcher.options
    if launcher.kind in {"torchrun", "torch.distributed.launch"}:
        return _read_torchrun(launch)
    if launcher.kind in READ_ENVIRONMENT:
        own = next((word for word in launch.argv if OWN_FLAGS.fullmatch(word.text.display())), None)
        if own is not None:
            told = Text.missing(Unknown("program", own.text.display()), own.span), own.span
            return Rendezvous(told, told)
        return Rendezvous(_variable(launch, "MASTER_ADDR"), _variable(launch, "MASTER_PORT"))
    if launcher.kind in {"msrun", "deepspeed"}:
        return Rendezvous(_place(options.get("master_addr")), _place(options.get("master_port")))
    if launcher.kind == "accelerate":
        return Rendezvous(_place(options.get("main_process_ip")), _place(options.get("main_process_port")))
    return Rendezvous()


def _read_torchrun(launch: Launch) -> Rendezvous:
    options, span = launch.launcher.options, launch.launcher.span
    backend = _place(options.get("rdzv_backend"))
    if backend == NOTHING:
        backend = _default(launch, "PET_RDZV_BACKEND", "static")
    if "standalone" in options:
        where = options["standalone"].span
        return Rendezvous(_literal("localhost", where), NOTHING, _literal("c10d", where))
    endpoint = _place(options.get("rdzv_endpoint"))
    if endpoint == NOTHING:
        endpoint = _variable(launch, "PET_RDZV_ENDPOINT", closed=True)
    if endpoint == NOTHING and launch.launcher.open and "master_addr" not in options:
        missing = Text.missing(launch.launcher.open[0], span)
        return Rendezvous((missing, span), (missing, span), backend)
    if endpoint[0] is not None and endpoint[0].pieces:
        return Rendezvous(*_split_endpoint(endpoint), backend)
    if backend[0] is not None and backend[0].known and backend[0].value != "static":
        # Without an endpoint, c10d listens on the machine itself.
        return Rendezvous(_literal("localhost", backend[1] or span), NOTHING, backend)
    host = _place(options.get("master_addr"))
    port = _place(options.get("master_port"))
    if host == NOTHING:
        host = _default(launch, "PET_MASTER_ADDR", "127.0.0.1")
    if port == NOTHING:
        port = _default(launch, "PET_MASTER_PORT", "29500")
    return Rendezvous(host, port, backend)


def _split_endpoint(endpoint: Placed) -> tuple[Placed, Placed]:
    text, span = endpoint
    if text is None:
        return NOTHING, NOTHING
    shown = text.display()
    at = shown.rfind(":")
    if at < 0:
        return endpoint, NOTHING
    host, port = cut(text, 0, at), cut(text, at + 1)
    if any(piece.unknown is not None for piece in host.pieces) and not host.known and host == text:
        return endpoint, NOTHING
    return (host, span), (port, span)


def read_node_rank(launch: Launch) -> tuple[Placed, tuple[bool | None, Unknown | None]]:
    """The node's rank, and whether it is a number that the scheduler gives to each task."""
    options = launch.launcher.options
    kind = launch.launcher.kind
    place = _place(options.get("node_rank") or options.get("machine_rank"))
    if place == NOTHING and kind in {"megatron", "swift"}:
        place = _variable(launch, "NODE_RANK")
    elif place == NOTHING and kind in {"torchrun", "torch.distributed.launch"}:
        place = _default(launch, "PET_NODE_RANK", "0")
    text = place[0]
    if text is None:
        return place, (None, None)
    if text.known:
        return place, _settle_known(launch, text, place[1])
    unknown = text.unknowns[0]
    if unknown.reason == "scheduler" or (unknown.name or "").startswith(("SLURM_", "OMPI_", "PMI")):
        return place, (True, None)
    return place, (None, unknown)


def _settle_known(launch: Launch, text: Text, use: Span | None) -> tuple[bool | None, Unknown | None]:
    """A known rank is the same for all tasks, unless a task worked it out from what the caller says of one task."""
    if any(layer.kind == "srun" for layer in launch.wrappers):
        spans = [piece.span for piece in text.pieces] + ([use] if use is not None else [])
        inside = any(span.source.origins for span in spans)
        for name in ("SLURM_NODEID", "SLURM_PROCID"):
            said = launch.environment.get(name)
            if inside and said is not None and said.known and said.value == text.value:
                return None, Unknown("scheduler", f"${name}")
    return False, None


def read_task_rank(launch: Launch) -> tuple[Placed, bool | None]:
    """RANK as tasks of srun read it, and whether each task has its own; None where the script does not set it."""
    text = launch.environment.get("RANK")
    if text is None or launch.launcher.kind != "srun":
        return NOTHING, None
    place = (text, text.pieces[0].span if text.pieces else None)
    if text.known:
        return place, _settle_known(launch, text, place[1])[0]
    unknown = text.unknowns[0]
    own = unknown.reason == "scheduler" or (unknown.name or "").startswith(("SLURM_", "OMPI_", "PMI"))
    return place, True if own else None


def _place(setting: Setting | None) -> Placed:
    return NOTHING if setting is None else (setting.text, setting.span)


def _literal(text: str, span: Span) -> Placed:
    return Text.literal(text, Span(span.source, span.start, span.start)), span


def _default(launch: Launch, variable: str, value: str) -> Placed:
    """torchrun takes its defaults from PET_ variables, which only some operators set."""
    found = _variable(launch, variable, closed=True)
    if found != NOTHING:
        return found
    span = launch.launcher.span
    if launch.launcher.open:
        return Text.missing(launch.launcher.open[0], span), span
    return _literal(value, span)


def _variable(launch: Launch, name: str, closed: bool = False) -> Placed:
    """A variable as the ranks see it; absent from an open environment it is unknown, unless nobody sets it."""
    if name in launch.environment:
        text = launch.environment[name]
        return (text, text.pieces[0].span) if text is not None and text.pieces else NOTHING
    if closed or launch.closed_environment:
        return NOTHING
    return Text.missing(Unknown("environment", f"${name}", name), launch.launcher.span), launch.launcher.span
