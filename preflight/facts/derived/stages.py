"""Layers of each pipeline stage and of each virtual stage.

In: layers, sizes, uneven ends, accounting, layouts, hybrid patterns.  Out: vectors by pipeline rank.  Where Megatron
itself would refuse a split there is no vector.
"""

from __future__ import annotations

from preflight.configuration.model import Value
from preflight.facts.steps import Keep, Reader, Steps

STEPS = Steps()
step = STEPS.step

PP, VIRTUAL = "pipeline_model_parallel_size", "virtual_pipeline_model_parallel_size"
FIRST, LAST = "decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers"
MOST_STAGES = 4096


@step("uneven_stages", "stages whose layers the user gave")
def _(at: Reader) -> Value:
    return (at(FIRST) is not None) + (at(LAST) is not None)


@step("middle_stages", "stages that share the other layers")
def _(at: Reader) -> Value:
    return at.number(PP) - at.number("uneven_stages")


@step("middle_layers", "layers left for the middle stages")
def _(at: Reader) -> Value:
    first, last = at(FIRST), at(LAST)
    given = (first if isinstance(first, int) else 0) + (last if isinstance(last, int) else 0)
    return at.number("num_layers") - given


@step("layers_per_chunk", "layers // stages // virtual stages, whatever is left over", before="0.9")
def _(at: Reader) -> Value:
    pp, virtual = at.number(PP), at(VIRTUAL)
    chunks = virtual if isinstance(virtual, int) else 1
    if not 0 < pp * chunks <= MOST_STAGES:
        return None
    return (at.number("num_layers") // pp // chunks,) * (pp * chunks)


@step("layers_per_chunk", "uneven ends or an even share, rounded down", since="0.9", before="0.11")
def _(at: Reader) -> Value:
    pp, virtual = at.number(PP), at(VIRTUAL)
    if virtual is None and at.number("uneven_stages") > 0:
        return _uneven(at, pp, 1)
    chunks = virtual if isinstance(virtual, int) else 1
    if not 0 < pp * chunks <= MOST_STAGES:
        return None
    return (at.number("num_layers") // pp // chunks,) * (pp * chunks)


@step("layers_per_chunk", "uneven ends, accounting, or an even share", since="0.11", before="0.13")
def _(at: Reader) -> Value:
    return _share(at)


@step("layers_per_chunk", "the layout, uneven ends, accounting, or an even share", since="0.13")
def _(at: Reader) -> Value:
    stages, pp = at("layout_stages"), at.number(PP)
    if isinstance(stages, tuple):
        if not 0 < pp <= MOST_STAGES or len(stages) % pp:
            return None
        letters = [str(stage) for stage in stages]
        return tuple(stage.count("t") for rank in range(pp) for stage in letters[rank::pp])
    return _share(at)


def _share(at: Reader) -> Value:
    pp, virtual = at.number(PP), at(VIRTUAL)
    chunks = virtual if isinstance(virtual, int) and pp > 1 else 1
    if not 0 < pp * chunks <= MOST_STAGES:
        return None
    if at.number("uneven_stages") > 0:
        return _uneven(at, pp, chunks)
    slots = at.number("pipeline_slots")
    if slots % pp or slots // pp % chunks:
        return None
    shares = [slots // pp // chunks] * (pp * chunks)
    shares[0] -= bool(at("account_for_embedding_in_pipeline_split"))
    shares[-1] -= bool(at("account_for_loss_in_pipeline_split"))
    return tuple(shares)


def _uneven(at: Reader, pp: int, chunks: int) -> Value:
    stages, layers = at.number("middle_stages"), at.number("middle_layers")
    if stages > 0 and layers % stages:
        return None
    ranks = [layers // stages if stages > 0 else 0] * pp
    first, last = at(FIRST), at(LAST)
    if isinstance(first, int):
        ranks[0] = first
    if isinstance(last, int):
        ranks[-1] = last
    if any(layers % chunks for layers in ranks):
        return None
    return tuple(layers // chunks for layers in ranks for _ in range(chunks))


@step("layers_per_stage", "sum over the virtual stages of each pipeline rank")
def _(at: Reader) -> Value | Keep:
    chunks, pp = at("layers_per_chunk"), at.number(PP)
    if not isinstance(chunks, tuple) or pp < 1:
        return None
    numbers = [chunk for chunk in chunks if isinstance(chunk, int)]
    width = len(numbers) // pp
    return tuple(sum(numbers[rank * width : rank * width + width]) for rank in range(pp))


@step("built_layers", "layers that are built at all")
def _(at: Reader) -> Value | Keep:
    chunks = at("layers_per_chunk")
    if not isinstance(chunks, tuple):
        return None
    return sum(chunk for chunk in chunks if isinstance(chunk, int))


@step("layout_letters", "the layout's letters in model order", since="0.13")
def _(at: Reader) -> Value:
    stages = at("layout_stages")
    return tuple("".join(str(stage) for stage in stages)) if isinstance(stages, tuple) else None


@step("layout_layers_per_stage", "decoder layers of the layout by pipeline rank", since="0.13")
def _(at: Reader) -> Value:
    stages, pp = at("layout_stages"), at.number(PP)
    if not isinstance(stages, tuple) or not 0 < pp <= MOST_STAGES or len(stages) % pp:
        return None
    from preflight.facts.layout import count_layers

    return count_layers(tuple(str(stage) for stage in stages), pp)


@step("layout_prediction_stages", "numbers of the layout's stages that hold prediction layers", since="0.13")
def _(at: Reader) -> Value:
    stages = at("layout_stages")
    if not isinstance(stages, tuple):
        return None
    return tuple(number for number, stage in enumerate(stages) if "m" in str(stage))


@step(
    "layout_decoder_after_prediction",
    "whether a decoder layer stands behind a prediction layer",
    since="0.13",
)
def _(at: Reader) -> Value:
    letters = at("layout_letters")
    if not isinstance(letters, tuple) or "m" not in letters:
        return False
    return "t" in letters[letters.index("m") :]


@step(
    "hybrid_depth_letters_known",
    "whether a prediction depth has letters of layers only",
    since="0.17",
    before="0.18",
)
def _(at: Reader) -> Value:
    return _known_letters(at, "MG*-E")


@step(
    "hybrid_depth_letters_known",
    "whether a prediction depth has letters of layers only",
    since="0.18",
    before="0.19",
)
def _(at: Reader) -> Value:
    return _known_letters(at, "MG*D-E")


@step("hybrid_depth_letters_known", "whether a prediction depth has letters of layers only", since="0.19")
def _(at: Reader) -> Value:
    return _known_letters(at, "MG*D+-E")


def _known_letters(at: Reader, letters: str) -> Value:
    depths = at("hybrid_depth_patterns")
    if not isinstance(depths, tuple):
        return None
    return all(letter in letters for depth in depths for letter in str(depth))
