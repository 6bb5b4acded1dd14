"""What binding a command line to a flag table yields.

In: nothing; these are the records.  `Configuration.values` has one entry for every destination of the flag
table, whether given or not; `problems` are neutral remarks (unknown flag, missing value, wrong type, ...).
"""

from __future__ import annotations

from collections.abc import Mapping

from preflight.execution import Remark, Word
from preflight.launch.model import Launch
from preflight.record import NamedTuple
from preflight.source import Span
from preflight.values import Assumption, Unknown

Scalar = None | bool | int | float | str
Value = Scalar | tuple["Value", ...]


class Bound(NamedTuple):
    """The value of one destination after parsing.

    `origin` is "flag", "default" or "code".  `value` is meaningless where `unknown` is set.  `words` are the
    flag and its values as they stand; `given` says that the user wrote it.
    """

    destination: str
    value: Value
    origin: str
    unknown: Unknown | None = None
    words: tuple[Word, ...] = ()
    assumptions: tuple[Assumption, ...] = ()

    @property
    def given(self) -> bool:
        return self.origin != "default"

    @property
    def span(self) -> Span | None:
        """From the flag to its last value, where both stand in one file in this order; else the flag."""
        if not self.words:
            return None
        first, last = self.words[0].span.resolve(), self.words[-1].span.resolve()
        if first.source is last.source and last.end >= first.start:
            return Span(first.source, first.start, last.end)
        return first


class Configuration(NamedTuple):
    """One set of Megatron settings of a launch, at one release.

    `name` tells several configurations of a launch apart (actor, reference); None for the only one.
    `release` is the flag table's version (`core_v0.19.0`).  `recognised` is False where the program is not
    Megatron's and its flags are none of Megatron's: rules about Megatron then do not apply.  `trains` says whether the
    program runs Megatron's training loop; None where that is not known.  `fork` says, in words,
    why a fork of Megatron may run; it is empty where nothing speaks for one, or where the user names the release.
    `elder` is the release before, where what runs is on the way from that to `release`.  `assumed`: nothing says the
    release.
    """

    launch: Launch
    name: str | None
    release: str
    values: Mapping[str, Bound]
    problems: tuple[Remark, ...]
    recognised: bool
    trains: bool | None = None
    fork: str = ""
    elder: str = ""
    assumed: bool = False
