"""What a launch tells DeepSpeed's engine: by flags, and in a configuration that the script writes itself.

In: a launch.  Out: `Engine`.  A configuration that lies elsewhere, or is not known to the last character, says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from preflight.launch.arguments import read_values
from preflight.launch.model import Launch
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


def _count(value: object) -> int | None:
    if isinstance(value, str) and value.isdigit():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
