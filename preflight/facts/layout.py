"""Layouts of pipeline stages, as `--pipeline-model-parallel-layout` writes them.

In: text such as `Et*3|(tt|)*14,L`.  Out: the stages in order, each as its letters: E embedding, t decoder layer,
m multi-token prediction, L loss.  It refuses nothing: letters without a meaning stay in, so that a rule can name them.
"""

from __future__ import annotations

from preflight.patterns import pattern as lazy_pattern

LONGEST = 100_000
_GROUP = lazy_pattern(r"\(([^)]+)\)\*(\d+)")
_LETTER = lazy_pattern(r"(.)\*(\d+)")


def expand_layout(text: str) -> str | None:
    """The layout with its repetitions written out and its cosmetic commas dropped; None where it grows too long."""
    expanded = text.replace(",", "")
    for pattern in (_GROUP, _LETTER):
        total = sum(len(match[1]) * int(match[2][:9]) for match in pattern.finditer(expanded))
        if total > LONGEST:
            return None
        expanded = pattern.sub(lambda match: match[1] * int(match[2]), expanded)
    return expanded


def parse_layout(text: str) -> tuple[str, ...] | None:
    """The stages of a layout in pipeline order, virtual stages one round after the other."""
    expanded = expand_layout(text)
    return None if expanded is None else tuple(expanded.split("|"))


def count_layers(stages: tuple[str, ...], pipeline_size: int) -> tuple[int, ...]:
    """Decoder layers of each pipeline rank, over all of its virtual stages."""
    return tuple(
        sum(stage.count("t") for stage in stages[rank::pipeline_size]) for rank in range(pipeline_size)
    )
