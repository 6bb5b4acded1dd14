"""Hybrid layer patterns: what a pattern says overrides the flags that say the same.

In: `hybrid_layer_pattern` and its older spellings.  Out: layers, prediction depths, virtual stages, MLA.
"""

from __future__ import annotations

from preflight.configuration.model import Value
from preflight.facts.hybrid import SEPARATOR, parse_pattern
from preflight.facts.steps import KEEP, Keep, Reader, Steps

STEPS = Steps()
step = STEPS.step

PATTERN = "hybrid_layer_pattern"
STAGES = "transformer_pipeline_model_parallel_size"
VIRTUAL = "virtual_pipeline_model_parallel_size"


@step(PATTERN, "--hybrid-override-pattern is its old name", since="0.17")
def _(at: Reader) -> Value | Keep:
    old = at("hybrid_override_pattern")
    return KEEP if old is None else old


@step(PATTERN, "an old prediction pattern is appended once for each depth", since="0.17")
def _(at: Reader) -> Value | Keep:
    old, depths = at("mtp_hybrid_override_pattern"), at("mtp_num_layers")
    if not isinstance(old, str) or not isinstance(depths, int) or not 0 < depths < 1000:
        return KEEP
    pattern = at.text(PATTERN) or ""
    return KEEP if SEPARATOR in pattern else pattern + SEPARATOR + SEPARATOR.join([old] * depths)


@step("num_layers", "a pattern says how many layers there are", since="0.17")
def _(at: Reader) -> Value | Keep:
    pattern = at.text(PATTERN)
    return KEEP if pattern is None else len(parse_pattern(pattern).layers)


@step("hybrid_segments", "pipeline segments of the pattern", since="0.17")
def _(at: Reader) -> Value | Keep:
    pattern = at.text(PATTERN)
    return KEEP if pattern is None else len(parse_pattern(pattern).segments)


@step("hybrid_layers", "layers of the pattern by letter", since="0.17")
def _(at: Reader) -> Value | Keep:
    pattern = at.text(PATTERN)
    return KEEP if pattern is None else tuple(parse_pattern(pattern).layers)


@step("hybrid_depth_patterns", "prediction depths of the pattern", since="0.17")
def _(at: Reader) -> Value | Keep:
    pattern = at.text(PATTERN)
    return KEEP if pattern is None else parse_pattern(pattern).depths


@step(VIRTUAL, "more segments than stages interleave", since="0.17")
def _(at: Reader) -> Value | Keep:
    if at(PATTERN) is None:
        return KEEP
    segments, stages = at.number("hybrid_segments"), at.number(STAGES)
    return segments // stages if segments > stages else None


@step("mtp_num_layers", "a pattern says how many depths there are", since="0.17")
def _(at: Reader) -> Value | Keep:
    pattern = at.text(PATTERN)
    depths = () if pattern is None else parse_pattern(pattern).depths
    return len(depths) if depths and depths[0] else KEEP


@step("multi_latent_attention", "sparse attention layers use it", since="0.18", before="0.19")
def _(at: Reader) -> Value | Keep:
    return True if "D" in (at.text(PATTERN) or "") else KEEP


@step("multi_latent_attention", "sparse and latent attention layers use it", since="0.19")
def _(at: Reader) -> Value | Keep:
    pattern = at.text(PATTERN) or ""
    return True if "D" in pattern or "+" in pattern else KEEP
