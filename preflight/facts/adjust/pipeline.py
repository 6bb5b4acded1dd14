"""Pipeline stages and interleaving.

In: layers, stages, the three ways to ask for virtual stages.  Out: virtual stages of each rank, and what the plain
schedule switches off.
"""

from __future__ import annotations

from preflight.configuration.model import Value
from preflight.facts.steps import KEEP, Keep, Reader, Steps

STEPS = Steps()
step = STEPS.step

VIRTUAL = "virtual_pipeline_model_parallel_size"
STAGES = "transformer_pipeline_model_parallel_size"


@step("pipeline_slots", "layers, and embedding and loss where the split counts them", since="0.11")
def _(at: Reader) -> Value:
    layers = at("num_layers")
    if layers is None:
        layers = at("decoder_num_layers")
    if not isinstance(layers, int):
        return None
    extra = bool(at("account_for_embedding_in_pipeline_split")) + bool(
        at("account_for_loss_in_pipeline_split")
    )
    return layers + extra


@step("pipeline_slots", "the layers", before="0.11")
def _(at: Reader) -> Value:
    return at("num_layers")


@step("layout_stages", "stages of the layout, by letter", since="0.13")
def _(at: Reader) -> Value | Keep:
    layout = at.text("pipeline_model_parallel_layout")
    if layout is None:
        return KEEP
    from preflight.facts.layout import parse_layout

    return parse_layout(layout)


@step(VIRTUAL, "layers of a stage by layers of a virtual stage", before="0.11")
def _(at: Reader) -> Value:
    return _from_layers(at) if at("num_layers_per_virtual_pipeline_stage") is not None else None


@step(VIRTUAL, "from either flag", since="0.11", before="0.13")
def _(at: Reader) -> Value:
    return _from_flags(at)


@step(VIRTUAL, "from the layout, else from either flag", since="0.13", before="0.14")
def _(at: Reader) -> Value:
    stages = at("layout_stages")
    return _from_flags(at) if stages is None else _more_than_one(_from_layout(at))


@step(VIRTUAL, "from the layout, else from either flag; one is none", since="0.14", before="0.17")
def _(at: Reader) -> Value:
    return _more_than_one(_from_flags(at) if at("layout_stages") is None else _from_layout(at))


@step(VIRTUAL, "from the layout, either flag, or the hybrid pattern; one is none", since="0.17")
def _(at: Reader) -> Value | Keep:
    if at("layout_stages") is not None:
        return _more_than_one(_from_layout(at))
    if not (
        at("num_layers_per_virtual_pipeline_stage") is None
        and at("num_virtual_stages_per_pipeline_rank") is None
    ):
        return _more_than_one(_from_flags(at))
    return None if at("hybrid_layer_pattern") is None else KEEP


def _from_layers(at: Reader) -> Value:
    return (
        at.number("pipeline_slots") // at.number(STAGES) // at.number("num_layers_per_virtual_pipeline_stage")
    )


def _from_flags(at: Reader) -> Value:
    stages = at("num_virtual_stages_per_pipeline_rank")
    if stages is not None:
        return stages
    return None if at("num_layers_per_virtual_pipeline_stage") is None else _from_layers(at)


def _from_layout(at: Reader) -> Value:
    stages = at("layout_stages")
    return len(stages) // at.number("pipeline_model_parallel_size") if isinstance(stages, tuple) else None


def _more_than_one(stages: Value) -> Value:
    return None if stages == 1 else stages


@step("overlap_p2p_comm", "only the interleaved schedule overlaps")
def _(at: Reader) -> Value | Keep:
    return False if at(VIRTUAL) is None else KEEP


@step("align_param_gather", "only the interleaved schedule aligns")
def _(at: Reader) -> Value | Keep:
    return False if at(VIRTUAL) is None else KEEP
