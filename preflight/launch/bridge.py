"""Settings of Megatron-Bridge's configuration, built in code or given by overrides: `train.train_iters=100`.

Of NeMo's recipes, which are configured alike, the GPUs and the ranks of a model.

In: a launch.  Out: one `Reading` for each name in `NAMES`.  A setting that is not given is absent: a recipe, which is
not read, has a value for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from preflight.launch.model import Launch
from preflight.launch.overrides import read_overrides
from preflight.launch.reading import Reading
from preflight.patterns import pattern
from preflight.source import Span
from preflight.values import Unknown

NUMBERS = {
    "bridge_model_length": ("model.seq_length",),
    "bridge_data_length": ("dataset.sequence_length", "dataset.seq_length"),
    "bridge_context_parallel": ("model.context_parallel_size",),
    "bridge_iterations": ("train.train_iters",),
    "bridge_samples": ("train.train_samples",),
}
"""Facts that are numbers, with the settings that give them."""
KINDS = {
    "bridge_schedule_iterations": ("lr_decay_iters", "lr_warmup_iters", "lr_wsd_decay_iters"),
    "bridge_schedule_samples": ("lr_decay_samples", "lr_warmup_samples", "lr_wsd_decay_samples"),
}
"""The two ways to count a schedule, which exclude each other."""
OTHERS = ("recipe_gpus", "recipe_model_ranks", "groups_stages", "groups_virtual_stages")
NAMES = (*NUMBERS, *KINDS, *OTHERS, "bridge_saves", "bridge_async_save")
RECIPES = ("pretrain_recipe", "finetune_recipe")
MACHINES = (("trainer.num_nodes", "num_nodes"), ("trainer.devices", "num_gpus_per_node"))
"""Fields of a recipe that count machines, each with the recipe's argument that gives it."""
STRATEGY = tuple(
    f"trainer.strategy.{size}_parallel_size" for size in ("tensor_model", "pipeline_model", "context")
)
NOTHING = ("None", "null", "0")
PARTS = {
    "bridge.CheckpointConfig": "checkpoint.",
    "bridge.SchedulerConfig": "scheduler.",
    "bridge.TrainingConfig": "train.",
}
"""Parts that stand for themselves, with their places in the whole."""

GROUPING = "initialize_model_parallel"
VIRTUAL = "virtual_pipeline_model_parallel_size"
_TEST = pattern(r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$|(?:^|/)tests/")
_TRAINS = pattern(rb"\b(?:pretrain|finetune|distill)\s*\(")
"""A call that trains with what the file configures; the lengths of a recipe are completed by others."""

Given = Mapping[str, tuple[str | None, Span]]


def read_bridge(launch: Launch) -> dict[str, Reading]:
    """All readings."""
    given = read_given(launch)
    found = {name: read_number(given, keys) for name, keys in NUMBERS.items()}
    if launch.configuration is not None and _TRAINS.search(launch.source.data) is None:
        found["bridge_model_length"] = found["bridge_data_length"] = Reading(None, "code")
    found |= {name: read_any(given, [f"scheduler.{key}" for key in keys]) for name, keys in KINDS.items()}
    found["bridge_saves"] = read_any(given, ["checkpoint.save"])
    found["bridge_async_save"] = read_switch(given, "checkpoint.async_save")
    found |= dict.fromkeys(OTHERS, Reading(None, "code"))
    name = launch.configuration.name if launch.configuration is not None else ""
    if name.endswith(RECIPES) and any(key in given for key in STRATEGY):
        found["recipe_gpus"] = multiply(given, MACHINES, 0)
        found["recipe_model_ranks"] = multiply(given, [(key,) for key in STRATEGY], 1)
    if name == GROUPING and VIRTUAL in given:
        found["groups_virtual_stages"] = read_number(given, (VIRTUAL,))
        found["groups_stages"] = multiply(given, [("pipeline_model_parallel_size",)], 1)
    return found


def read_given(launch: Launch) -> Given:
    """The settings by the way they are reached, as the file sets them itself; None: not known."""
    code = launch.configuration
    if code is None:
        return {name: (text or None, span) for name, (text, span) in read_overrides(launch).items()}
    prefix, own = PARTS.get(code.name, ""), launch.source.path
    if _TEST.search(own) is not None:
        return {}
    fields = code.fields.items()
    return {
        prefix + place: (w.text.value, w.span) for place, w in fields if w.span.resolve().source.path == own
    }


def read_number(given: Given, keys: tuple[str, ...]) -> Reading:
    for key in keys:
        if key not in given:
            continue
        text, span = given[key]
        if text in NOTHING:
            return Reading(None, "code", span)
        if text is None or not text.isdigit():
            return Reading(None, "code", span, text or "", Unknown("code", text or key))
        return Reading(int(text), "code", span, text)
    return Reading(None, "code")


def read_any(given: Given, keys: list[str]) -> Reading:
    """Whether one of these settings is given something; None where none is given at all."""
    reading = Reading(None, "code")
    for key in keys:
        if key not in given:
            continue
        text, span = given[key]
        if text is None:
            return Reading(None, "code", span, "", Unknown("code", key))
        if text not in NOTHING:
            return Reading(True, "code", span, text)
        reading = Reading(False, "code", span, text)
    return reading


def read_switch(given: Given, key: str) -> Reading:
    if key not in given:
        return Reading(None, "code")
    text, span = given[key]
    value = {"true": True, "false": False}.get((text or "").lower())
    return Reading(
        value, "code", span, text or "", None if value is not None else Unknown("code", text or key)
    )


def multiply(given: Given, settings: Iterable[tuple[str, ...]], otherwise: int) -> Reading:
    """A product of numbers; one that is not given counts as `otherwise`, and with 0 there is no product."""
    product, span = 1, None
    for keys in settings:
        reading = read_number(given, keys)
        if reading.unknown is not None:
            return reading
        product *= reading.value if isinstance(reading.value, int) else otherwise
        span = reading.span or span
    return Reading(product or None, "code", span, str(product))
