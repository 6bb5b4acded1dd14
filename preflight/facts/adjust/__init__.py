"""What Megatron changes by itself before and while it checks, in its own order.

In: nothing.  Out: `ADJUSTMENTS`, every step of every release; the modules stand in the order in which the command
line's settings, then the transformer configuration built from them, are worked out.
"""

from __future__ import annotations

from preflight.facts.adjust import batches, hybrid, pipeline, settings, sizes, training, transformer
from preflight.facts.steps import Step

ADJUSTMENTS: tuple[Step, ...] = (
    *sizes.STEPS.entries,
    *batches.STEPS.entries,
    *hybrid.STEPS.entries,
    *pipeline.STEPS.entries,
    *training.STEPS.entries,
    *settings.STEPS.entries,
    *transformer.STEPS.entries,
)
