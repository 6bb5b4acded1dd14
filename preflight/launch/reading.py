"""What is read from a launch for rules to ask.

In: nothing; this is the record that readers of launches make and the facts stage takes.
"""

from __future__ import annotations

from preflight.record import NamedTuple
from preflight.source import Span
from preflight.values import Assumption, Unknown


class Reading(NamedTuple):
    """A value, or what it waits for; `span` and `text` are where it stands and the words for the label there."""

    value: bool | int | float | str | tuple[str, ...] | None
    origin: str
    span: Span | None = None
    text: str = ""
    unknown: Unknown | None = None
    assumptions: tuple[Assumption, ...] = ()
