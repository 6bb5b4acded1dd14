"""What a launch tells DeepSpeed's engine: by flags, and in a configuration that the script writes itself.

In: a launch.  Out: `Engine`.  A configuration that lies elsewhere, or is not known to the last character, says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from preflight.execution import Remark
from preflight.launch.arguments import read_values
from preflight.launch.model import Launch
from preflight.patterns import pattern
from preflight.record import NamedTuple
from preflight.source import Span
from preflight.values import name_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Engine(NamedTuple):
    """`pipeline`: the pipeline engine trains. What is None is not said. `place` is where the engine is asked for."""

    pipeline: bool = False
    zero_stage: int | None = None
    train_batch: int | None = None
    micro_batch: int | None = None
    accumulation: int | None = None
    place: Span | None = None


def read_deepspeed(launch: Launch) -> Engine:
    """What DeepSpeed is told; nothing where the program is not asked to use it."""
    given = read_values(launch.argv)
    if "deepspeed" not in given:
        return Engine()
    _, place = given["deepspeed"]
    settings: Mapping[str, Any] = {}
    stage = None
    if "zero_stage" in given:
        text, place = given["zero_stage"]
        stage = _count(text.value if text is not None else None)
    if "deepspeed_config" in given:
        text, span = given["deepspeed_config"]
        settings = read_configuration(launch, name_file(text) if text is not None else None)
        place = span if settings else place
    zero = settings.get("zero_optimization")
    inside = _count(zero.get("stage")) if isinstance(zero, dict) else None
    return Engine(
        "no_pipeline_parallel" not in given,
        stage if inside is None else inside,
        _count(settings.get("train_batch_size")),
        _count(settings.get("train_micro_batch_size_per_gpu")),
        _count(settings.get("gradient_accumulation_steps")),
        place,
    )


def read_configuration(launch: Launch, path: str | None) -> Mapping[str, Any]:
    """The configuration in a file that the script wrote."""
    import json

    written = launch.written.get(path) if path is not None else None
    if written is None or written.value is None:
        return {}
    try:
        found = json.loads(written.value)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def notice_slots(launch: Launch) -> Iterable[Remark]:
    """Hosts and devices of `--include` that are not in the host file, which the script writes itself."""
    chosen, hosts = launch.launcher.options.get("include"), launch.launcher.options.get("hostfile")
    if (
        launch.launcher.kind != "deepspeed"
        or chosen is None
        or hosts is None
        or chosen.text is None
        or hosts.text is None
    ):
        return
    path = name_file(hosts.text)
    written = launch.written.get(path) if path is not None else None
    if written is None or written.value is None or chosen.text.value is None:
        return
    slots = dict(_HOST.findall(written.value))
    for part in chosen.text.value.split("@") if slots else ():
        host, _, devices = part.strip().partition(":")
        count = int(slots.get(host, 0))
        beyond = [device for device in devices.split(",") if device.isdigit() and int(device) >= count]
        if host not in slots or beyond:
            values = {"host": host, "slot": beyond[0] if beyond else "", "slots": count}
            yield Remark("deepspeed-slot-missing", chosen.span, values)
            return


_HOST = pattern(r"(?m)^\s*([^\s#]+)\s+slots=(\d+)")


def _count(value: object) -> int | None:
    if isinstance(value, str) and value.isdigit():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
