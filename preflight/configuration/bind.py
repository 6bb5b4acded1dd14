"""A launch's settings by Megatron's own names.

In: a launch and the flag table of a release.  Out: `Configuration`s, each with a value for every destination and the
remarks about its flags.  Where the program is not Megatron's and its flags are none of Megatron's, `recognised` is
False and nothing is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from preflight.configuration.absent import Absence, Absent, find_absent
from preflight.configuration.layout import SHARES_LAYERS, UNEVEN
from preflight.configuration.model import Bound, Configuration, Value
from preflight.configuration.parse import Fault, Parsed, parse_words
from preflight.configuration.problems import describe_faults, speaks_of_fork
from preflight.execution import Word
from preflight.launch.model import Launch
from preflight.record import NamedTuple
from preflight.source import Files
from preflight.targets.explain import explain_flags, find_old_checkout
from preflight.targets.origin import Origin, find_elder_sign, find_origin
from preflight.targets.table import SUPPRESS, Option, Program, Table
from preflight.values import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


LEFT_OPEN = -1
"""Where Megatron wants a size, other programs take this for one that they find out."""


def bind_launch(
    launch: Launch, table: Table, files: Files | None = None, *, assumed: bool = False, beside: bool = False
) -> tuple[Configuration, ...]:
    """The configurations of a launch at one release; `files` lets the program's own flags be read.

    `assumed`: nothing says the release.  `beside`: only a checkout beside the script does.
    """
    if launch.configuration is not None:
        from preflight.configuration.code import bind_code

        return (bind_code(launch, launch.configuration, table),)
    origin = find_origin(launch)
    if not origin.based:
        return (Configuration(launch, None, table.release, {}, (), False),)
    reading = read_line(launch, table, origin, files, assumed=assumed)
    problems = describe_faults(reading.faults, reading.table, reading.origin, launch, sure=reading.sure)
    opening = next(iter((*reading.parsed.openings, *hidden_openings(launch))), None)
    foreign = not origin.own or bool(reading.origin.fork)
    strange = [fault.flag for fault in reading.faults if fault.kind == "unknown"]
    split = any(SHARES_LAYERS.search(flag) for flag in strange)
    lifted = (names for sign, names in UNEVEN if foreign and any(map(sign.search, strange)))
    left = (name for name, bound in reading.parsed.given.items() if foreign and bound.value == LEFT_OPEN)
    unsettled = reading.rewritten.union(left, *lifted)
    absent = find_absent(reading.table, Absence(opening, foreign, reading.defaults, split))
    values = Settings(reading.parsed, reading.table, absent, unsettled)
    trains = reading.trains if not reading.origin.fork else None
    excuse = reading.origin.fork if assumed else reading.origin.patched if beside else ""
    return (Configuration(launch, None, table.release, values, problems, True, trains, excuse),)


class Reading(NamedTuple):
    """A command line as the program's own parser takes it, as far as that is known."""

    parsed: Parsed
    table: Table
    origin: Origin
    defaults: Mapping[str, Value]
    faults: tuple[Fault, ...]
    trains: bool | None
    sure: bool
    rewritten: frozenset[str] = frozenset()


def read_line(
    launch: Launch, table: Table, origin: Origin, files: Files | None, *, assumed: bool = False
) -> Reading:
    """Bind the command line; where a fault may come from the program's own flags, look for its code."""
    shipped = find_program(origin, table)
    if shipped is None and origin.own and not origin.fork:
        origin = origin._replace(fork=f"{table.release} has no program of this name")
    if assumed and origin.own and not origin.fork:
        old = find_old_checkout(launch, files) if files is not None else ""
        origin = origin._replace(fork=old or find_elder_sign(launch))
    options = shipped.options if shipped is not None else ()
    defaults = shipped.defaults if shipped is not None else {}
    known = extend(table, options)
    parsed = parse_words(launch.argv, known)
    doubtful = tuple(fault.flag for fault in parsed.faults if is_doubtful(fault, options))
    seen, rewritten = False, frozenset[str]()
    if doubtful and files is not None:
        refused = frozenset(fault.flag for fault in parsed.faults if fault.kind in ("choice", "type"))
        explained = explain_flags(launch, table, doubtful, files, refused)
        if explained.program is not None and explained.program.complete:
            seen, options, defaults = True, (), explained.program.defaults
        if explained.program is not None and not origin.own:
            rewritten = explained.program.rewritten
        if seen or explained.options or explained.changed:
            known = extend(table, (*options, *explained.options), explained.changed)
            parsed = parse_words(launch.argv, known)
        origin = origin.speaking(explained.fork)
    if origin.own and not origin.fork and speaks_of_fork(parsed.faults, known):
        origin = origin.speaking("several of its flags are in no release of Megatron")
    sure = seen or not assumed
    faults = tuple(fault for fault in parsed.faults if fault.kind != "required" or sure)
    trains = shipped.trains if shipped is not None else None
    return Reading(parsed, known, origin, defaults, faults, trains, sure, rewritten)


def is_doubtful(fault: Fault, options: tuple[Option, ...]) -> bool:
    """Whether the program's own code may say otherwise."""
    return fault.kind in ("unknown", "extra", "required", "choice", "type") or fault.option in options


@lru_cache(maxsize=64)
def extend(table: Table, options: tuple[Option, ...], changed: tuple[Option, ...] = ()) -> Table:
    """The table with further options; paths through a script ask for the same ones again and again."""
    return table.extended(options, changed) if options or changed else table


def find_program(origin: Origin, table: Table) -> Program | None:
    """The release's own entry point of that name; of several the one that adds most."""
    found = [program for path in origin.paths if (program := table.program(path)) is not None]
    return max(found, key=lambda program: len(program.options), default=None)


def hidden_openings(launch: Launch) -> Iterable[Word]:
    """What the launch stage could not follow and no word shows."""
    if not launch.open:
        return
    shown = {unknown for word in launch.argv for unknown in word.text.unknowns}
    for unknown in launch.open:
        if unknown not in shown and launch.program is not None:
            yield launch.program


class Settings(Mapping[str, Bound]):
    """The values of all destinations, each settled when asked for: as bound, or absent as far as that is known.

    `rewritten` are those that the program's own code sets once the command line is read.
    """

    def __init__(
        self, parsed: Parsed, table: Table, absent: Absent, rewritten: frozenset[str] = frozenset()
    ) -> None:
        self.given = parsed.given
        self.table = table
        self.absent = absent
        self.rewritten = rewritten
        self.elsewhere = read_elsewhere(parsed)

    def __getitem__(self, name: str) -> Bound:
        bound: Bound | None = self.get(name)
        if bound is None:
            raise KeyError(name)
        return bound

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a destination; the default for a name that is none."""
        bound = self.given.get(name)
        if bound is None:
            bound = self.absent.find(name)
            if bound is None:
                return default
        if self.elsewhere is not None and self._comes_from_file(bound):
            assumptions = bound.assumptions if bound.given else ()
            return bound._replace(unknown=self.elsewhere.unknown, assumptions=assumptions)
        if name in self.rewritten and bound.unknown is None:
            return bound._replace(unknown=Unknown("program", self.table.destinations[name].strings[0]))
        return bound

    def list_changes(self, earlier: Settings) -> list[str] | None:
        """The settings that say something else than earlier; None where more differs than what flags give."""
        if (
            not self.absent.is_like(earlier.absent)
            or self.file_says != earlier.file_says
            or self.rewritten != earlier.rewritten
        ):
            return None
        names = self.given.keys() | earlier.given.keys()
        if self.elsewhere is not None:
            names |= self.table.checkpoint.keys()
        return [name for name in names if differs(self.get(name), earlier.get(name))]

    @property
    def file_says(self) -> str:
        """How much a file says of the settings."""
        if self.elsewhere is None:
            return "nothing"
        return "all" if self.elsewhere.yaml else "a part"

    def _comes_from_file(self, bound: Bound) -> bool:
        """Whether a file, not the command line, says what a setting is."""
        if self.elsewhere is None:
            return False
        if self.elsewhere.yaml:
            return bound.destination != "yaml_cfg"
        source = self.table.checkpoint.get(bound.destination)
        if source is None or source is True:
            return source is True
        if source is False:
            return not bound.given
        return source in self.given

    def __contains__(self, name: object) -> bool:
        option = self.table.destinations.get(str(name))
        return name in self.given or (option is not None and option.default != SUPPRESS)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.table.destinations if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def differs(one: Bound | None, two: Bound | None) -> bool:
    """Whether two settings say something else, wherever they were said; what is not known is all the same."""
    if one is None or two is None or one.given != two.given:
        return one is not two
    if one.unknown is not None or two.unknown is not None:
        return one.unknown is None or two.unknown is None
    return one.value != two.value or type(one.value) is not type(two.value)


class Elsewhere(NamedTuple):
    """Settings that come from a file: `--yaml-cfg` replaces the command line, a checkpoint overrides a part of it."""

    yaml: bool
    unknown: Unknown


def read_elsewhere(parsed: Parsed) -> Elsewhere | None:
    """What says that settings come from a file."""
    yaml = parsed.given.get("yaml_cfg")
    if yaml is not None:
        return Elsewhere(True, Unknown("file", str(yaml.value or "--yaml-cfg")))
    checkpoint = parsed.given.get("use_checkpoint_args")
    if checkpoint is not None and checkpoint.value is True:
        return Elsewhere(False, Unknown("file", "--use-checkpoint-args"))
    return None
