"""What the user is told: located, with the values and the way they came.

In: nothing; these are the records between the engine and the reports.  Spans are byte ranges; lines and
columns are made when a report is written.
"""

from __future__ import annotations

from collections.abc import Mapping

from preflight.execution import Condition
from preflight.record import NamedTuple
from preflight.source import Span
from preflight.values import Assumption

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Severity = Literal["error", "warning", "note"]
else:
    Severity = str

SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")
"""From mild to severe."""


LONGEST_QUOTE = 80
"""So many characters of the source go into a label that stands without it."""


class Label(NamedTuple):
    """A place with a few words. Hidden labels are not drawn; they count for ignore comments."""

    span: Span
    text: str
    primary: bool = False
    hidden: bool = False

    @property
    def quoted(self) -> str:
        """The words where no source is drawn beside them: what they mark, then the words."""
        marked = " ".join(self.span.text.split())
        if not self.text or marked in self.text or len(marked) > LONGEST_QUOTE:
            return self.text
        return marked if marked.endswith(self.text) else f"{marked}: {self.text}"


class Edit(NamedTuple):
    """Replace the bytes of `span` by `text`."""

    span: Span
    text: str


class Fix(NamedTuple):
    """Edits that mend a finding: `safe` ones keep the meaning, `unsafe` ones need a look."""

    title: str
    safety: Literal["safe", "unsafe"]
    edits: tuple[Edit, ...]


class Diagnostic(NamedTuple):
    """One finding. `labels[0]` is primary; without labels it concerns the node or the whole file."""

    rule: str
    family: str
    severity: Severity
    fails_at: str | None  # "start" | "build" | "step" | "silent"
    message: str
    path: str
    labels: tuple[Label, ...] = ()
    help: str | None = None
    notes: tuple[str, ...] = ()
    fix: Fix | None = None
    conditions: tuple[Condition, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    facts: Mapping[str, object] = {}
    releases: str | None = None
    launch: int | None = None
    configuration: str | None = None
    node: str | None = None
    fingerprint: str = ""
    ignored: str | None = None  # the ignore comment's reason, or "baseline"


class Undecided(NamedTuple):
    """A rule that could not be decided, and the facts that would decide it."""

    rule: str
    path: str
    span: Span | None
    blocked_by: tuple[tuple[str, str, str, str | None], ...]  # fact, reason, text, remedy
    launch: int | None = None
