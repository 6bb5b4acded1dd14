"""The record of a fact.

In: nothing.  A fact is known (its value may be None: absent), or unknown with what would decide it.
"""

from __future__ import annotations

from collections.abc import Sequence

from preflight.configuration.model import Value
from preflight.record import NamedTuple
from preflight.source import Span
from preflight.values import Assumption, Unknown


class Blocker(NamedTuple):
    """A fact that is not known, why, and where."""

    fact: str
    unknown: Unknown
    span: Span | None = None


class Evidence(NamedTuple):
    """A place that a fact's value comes from, with a few words for the label under it."""

    span: Span
    text: str


class Fact(NamedTuple):
    """A named value.

    `origin`: flag, default, environment, launcher, scheduler, derived, node, option, code.  `evidence` is
    where it stands, the use first, then the way back to the literal; derived ones carry that of their inputs.
    `blocked_by` is not empty exactly where the value is unknown.
    """

    name: str
    value: Value
    origin: str
    evidence: Sequence[Evidence] = ()
    assumptions: tuple[Assumption, ...] = ()
    blocked_by: tuple[Blocker, ...] = ()

    @property
    def known(self) -> bool:
        return not self.blocked_by
