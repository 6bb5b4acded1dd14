"""The container around a launch, and what it is given of the machine.

In: a launch.  Out: `Container`, or None.  Only the innermost container counts: it is the one that the ranks see.
"""

from __future__ import annotations

from preflight.launch.model import Launch, Layer, Setting
from preflight.record import NamedTuple
from preflight.source import Span
from preflight.values import Unknown

UNDECIDED = Unknown("node", "the container's own options")


class Container(NamedTuple):
    """`gpus` and `shared_memory` are None where the options do not decide it; then `because` says why.

    `given` is the number of GPUs that the container is given, where the options say one.  `apart`: the container has a
    network of its own, and none of its ports is handed out.
    """

    kind: str
    span: Span
    gpus: bool | None
    shared_memory: bool | None
    because: Unknown = UNDECIDED
    given: int | None = None
    apart: bool = False


def read_container(launch: Launch) -> Container | None:
    """The innermost container."""
    for layer in reversed(launch.wrappers):
        if layer.kind == "docker":
            return _read_docker(layer, launch)
        if layer.kind == "apptainer":
            nvidia = bool({"nv", "nvccli", "rocm"} & set(layer.options))
            return Container("apptainer", layer.span, nvidia, True)
        if layer.kind == "enroot":
            return Container("enroot", layer.span, None, True)
        if layer.kind == "srun" and {"container_image", "container_name"} & set(layer.options):
            return Container("pyxis", layer.span, None, True)
    return None


def _read_docker(layer: Layer, launch: Launch) -> Container:
    options = layer.options
    shown = layer.span.text
    kind = "podman" if "podman" in shown else "docker"
    subcommand = options.get("subcommand")
    if subcommand is not None:
        # `docker exec` enters a container whose options are elsewhere.
        return Container(kind, layer.span, None, None)
    runtime = options.get("runtime")
    gpus: bool | None = "gpus" in options or "privileged" in options
    if not gpus and ("device" in options or runtime is not None or kind == "podman" or "nvidia" in shown):
        gpus = None
    memory: bool | None = "shm_size" in options
    ipc = options.get("ipc")
    if not memory and ipc is not None and ipc.text is not None:
        value = ipc.text.value
        memory = value == "host" or (None if value is None or value.startswith("container") else False)
    if not memory and {"mount", "tmpfs", "volume"} & set(options) and "/dev/shm" in _shown(layer):
        memory = None
    unknowns = ipc.text.unknowns if ipc is not None and ipc.text is not None else ()
    because = unknowns[0] if unknowns else UNDECIDED
    apart = not ({"net", "network", "publish", "publish_all", "privileged"} & set(options))
    return Container(kind, layer.span, gpus, memory, because, _count_devices(options.get("gpus")), apart)


def _count_devices(gpus: Setting | None) -> int | None:
    """`--gpus 4`, or `--gpus '"device=0,1"'`."""
    value = gpus.text.value if gpus is not None and gpus.text is not None else None
    if value is None:
        return None
    value = value.strip("\"' ")
    if value.isdigit():
        return int(value)
    kind, _, devices = value.partition("=")
    return len({each for each in devices.split(",") if each}) if kind == "device" and devices else None


def _shown(layer: Layer) -> str:
    return " ".join(word.text.display() for word in layer.words)
