"""Megatron's effective values against the facts.

In: an accepted row and its facts.  Out: the fields that differ, with both values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from preflight.facts.derive import Facts
from tests.agreement.rows import Row

NAMES = {
    "parallel_state_dp_size": "data_parallel_size",
    "parallel_state_expert_dp_size": "expert_data_parallel_size",
}
CONFIGURATION_NAMES = {"num_moe_experts": "num_experts"}
DTYPES = {"torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.float32": "fp32"}


def compare_effective(row: Row, facts: Facts) -> Iterator[tuple[str, Any, Any]]:
    """Each differing field: its name, Megatron's value, the fact's."""
    effective = dict(row["effective"])
    configuration = effective.pop("config", {})
    nested = effective.pop("layers_per_stage", None)
    if facts["encoder_ranks"].value:
        # The row is rank 0's, which is the encoder's then and has no experts.
        effective.pop("parallel_state_expert_dp_size", None)
    for name, theirs in effective.items():
        yield from _differ(name, theirs, facts, NAMES.get(name, name))
    for name, theirs in configuration.items():
        fact = f"config_{name}"
        known = fact if fact in facts.steps else CONFIGURATION_NAMES.get(name, name)
        yield from _differ(f"config.{name}", theirs, facts, known)
    if nested is not None:
        flat = [chunk for stage in nested for chunk in stage]
        yield from _differ("layers_per_stage", flat, facts, "layers_per_chunk")


def _differ(name: str, theirs: Any, facts: Facts, fact_name: str) -> Iterator[tuple[str, Any, Any]]:
    fact = facts[fact_name]
    ours = f"unknown: {fact.blocked_by}" if fact.blocked_by else _plain(fact.value)
    expected = DTYPES.get(theirs, theirs) if isinstance(theirs, str) else theirs
    if ours != expected or isinstance(ours, bool) != isinstance(expected, bool):
        yield name, expected, ours


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
