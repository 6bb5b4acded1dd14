"""What was read from one machine, as it was read: the record between the probe and all that judges it.

In: nothing; these are the records.  A reading that NVML does not support on this product is None.  A reading
that failed otherwise is None too, and its code stands in `errors` under the field's name, so that "not
supported" and "no answer" never look alike.  Judgement is elsewhere: topology, facts, rules.
"""

from __future__ import annotations

from collections.abc import Mapping

from preflight.record import NamedTuple

SCHEMA = 1
"""Version of the record; fields may be added within a version, none changes its meaning."""

GPU_IS_LOST = 15
UNKNOWN_ERROR = 999
NO_PERMISSION = 4
NOT_SUPPORTED = 3

REMOTE_GPU, REMOTE_SWITCH = 0, 2


class Link(NamedTuple):
    """One NVLink of a GPU: `state` 1 is up, `remote_type` 0 a GPU, 2 a switch; `remote` is the peer's bus id."""

    state: int | None
    version: int | None = None
    remote_type: int | None = None
    remote: str | None = None
    errors: Mapping[str, int] = {}


class Fabric(NamedTuple):
    """What the fabric manager told the driver: state 1 not started, 2 in progress, 3 completed."""

    state: int
    status: int = 0
    uuid: str = ""
    clique: int = 0
    health_mask: int | None = None
    health_summary: int | None = None

    @property
    def registered(self) -> bool:
        return self.state == 3 and self.status == 0

    @property
    def key(self) -> str | None:
        """The NVLink domain, which may span nodes.  A zero UUID is normal on HGX and identifies nothing."""
        if not self.registered or not self.uuid.strip("0"):
            return None
        return f"{self.uuid}:{self.clique}"


class Process(NamedTuple):
    """A process that holds memory of a GPU, as far as this PID namespace shows it."""

    pid: int
    memory: int | None = None
    name: str | None = None
    own: bool = False


class Gpu(NamedTuple):
    """One GPU that NVML lists, in NVML's order (PCI order); memory in bytes, power in mW."""

    number: int
    name: str | None = None
    uuid: str | None = None
    serial: str | None = None
    bus_id: str | None = None
    vbios: str | None = None
    part: str | None = None
    capability: tuple[int, int] | None = None
    memory_total: int | None = None
    memory_used: int | None = None
    memory_reserved: int | None = None
    ecc: int | None = None
    ecc_pending: int | None = None
    ecc_uncorrected: int | None = None
    remapped_uncorrected: int | None = None
    remap_pending: int | None = None
    remap_failure: int | None = None
    retired_pending: int | None = None
    recovery_action: int | None = None
    clock_reasons: int | None = None
    persistence: int | None = None
    compute_mode: int | None = None
    mig: int | None = None
    mig_pending: int | None = None
    power_limit: int | None = None
    power_default: int | None = None
    pcie_width: int | None = None
    pcie_width_maximum: int | None = None
    link_count: int | None = None
    links: tuple[Link, ...] = ()
    fabric: Fabric | None = None
    cpus: str | None = None
    numa_nodes: str | None = None
    processes: tuple[Process, ...] | None = None
    errors: Mapping[str, int] = {}

    @property
    def lost(self) -> bool:
        """Fell off the bus: it answers with "GPU is lost", or its handle with "unknown error"."""
        return GPU_IS_LOST in self.errors.values() or self.errors.get("handle") == UNKNOWN_ERROR

    @property
    def forbidden(self) -> bool:
        """Outside of this job's cgroup: listed, but not ours."""
        return self.errors.get("handle") == NO_PERMISSION

    @property
    def usable(self) -> bool:
        return "handle" not in self.errors and not self.lost


class Silence(NamedTuple):
    """Why NVML gave no answer: the step that failed, NVML's code where there is one, and words for people."""

    step: str  # "library" | "start" | "count" | "deadline" | "child"
    code: int | None
    text: str
    remedy: str


class Node(NamedTuple):
    """One machine.  `silence` is set where NVML gave no answer; then there are no GPUs to speak of.

    `pci` are the bus ids of NVIDIA GPUs in sysfs; empty says nothing (containers may hide them).  `ancestors`
    and `peers` are matrices over `gpus`: NVML's common ancestor (0 to 50) and the P2P status over NVLink (0 is
    OK); None where it was not read.  `scheduler` has the variables that say which GPUs this job was given.
    `narrowed` says in words why fewer GPUs than the machine has may be visible.  `measured` is False for a
    profile made from documentation.
    """

    host: str
    measured: bool = True
    driver: str | None = None
    nvml: str | None = None
    cuda: int | None = None
    confidential: int | None = None
    gpus: tuple[Gpu, ...] = ()
    ancestors: tuple[tuple[int | None, ...], ...] = ()
    peers: tuple[tuple[int | None, ...], ...] = ()
    pci: tuple[str, ...] = ()
    scheduler: Mapping[str, str] = {}
    narrowed: str | None = None
    in_job: bool = False
    software: Mapping[str, str] = {}
    imex_channel: bool | None = None
    seconds: float = 0.0
    silence: Silence | None = None
    errors: Mapping[str, int] = {}
    expected_gpus: int | None = None
    calls: tuple[tuple[object, ...], ...] = ()

    @property
    def present(self) -> tuple[Gpu, ...]:
        """The GPUs that are ours to look at: lost ones included, forbidden ones not."""
        return tuple(gpu for gpu in self.gpus if not gpu.forbidden)

    @property
    def usable(self) -> tuple[Gpu, ...]:
        return tuple(gpu for gpu in self.gpus if gpu.usable)
