"""Facts worked out from the settings as Megatron uses them.

In: nothing.  Out: `DERIVATIONS`, steps that come after every adjustment: what each rank gets, how many micro batches
run, and, for messages, which other numbers would work.
"""

from __future__ import annotations

from preflight.facts.derived import alternatives, batches, choices, model, stages, topology
from preflight.facts.steps import Step

DERIVATIONS: tuple[Step, ...] = (
    *topology.STEPS.entries,
    *batches.STEPS.entries,
    *stages.STEPS.entries,
    *model.STEPS.entries,
    *choices.STEPS.entries,
    *alternatives.STEPS.entries,
)
