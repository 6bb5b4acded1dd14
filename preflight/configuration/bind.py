"""A launch's settings by Megatron's own names.

In: a launch and the flag table of a release.  Out: `Configuration`s, each with a value for every destination and the
remarks about its flags.  Where the program is not Megatron's and its flags are none of Megatron's, `recognised` is
False and nothing is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from preflight.configuration.code import bind_code
from preflight.configuration.model import Bound, Configuration, Value
from preflight.configuration.parse import Parsed, parse_words
from preflight.configuration.problems import describe_faults
from preflight.execution import Word
from preflight.launch.model import Launch
from preflight.source import Files
from preflight.targets.explain import explain_flags
from preflight.targets.origin import Origin, find_origin
from preflight.targets.table import Option, Program, Table
from preflight.values import Assumption, Unknown

SWITCHES = frozenset({"store_true", "store_false", "store_const", "append_const", "boolean", "count"})


class Absence(NamedTuple):
    """How settings that no flag gives are to be taken.

    `opening` is text that may hold further flags.  `foreign` says that the program is not Megatron's, so that it may
    fill in what is missing.  `defaults` are those that the program gives.
    """

    opening: Word | None
    foreign: bool
    defaults: Mapping[str, Value]


def bind_launch(
    launch: Launch, table: Table, files: Files | None = None, *, assumed: bool = False
) -> tuple[Configuration, ...]:
    """The configurations of a launch at one release; `files` lets the program's own flags be read."""
    if launch.configuration is not None:
        return (bind_code(launch, launch.configuration, table, assumed=assumed),)
    origin = find_origin(launch)
    if not origin.based:
        return (Configuration(launch, None, table.release, {}, (), False, assumed),)
    program = find_program(origin, table)
    if program is None and origin.own and not origin.fork:
        origin = origin._replace(fork=f"{table.release} has no program of this name")
    known = table.extended(program.options) if program is not None and program.options else table
    parsed = parse_words(launch.argv, known)
    unknown = [fault.flag for fault in parsed.faults if fault.kind in ("unknown", "extra")]
    defaults = dict(program.defaults) if program is not None else {}
    if unknown and files is not None:
        explained = explain_flags(launch, known, tuple(unknown), files)
        if explained.options:
            known = known.extended(explained.options)
            parsed = parse_words(launch.argv, known)
        if explained.fork and not origin.fork:
            origin = origin._replace(fork=explained.fork)
    opening = next(iter((*parsed.openings, *hidden_openings(launch))), None)
    absence = Absence(opening, not origin.own, defaults)
    values = settle_values(parsed, known, absence, launch)
    problems = describe_faults(parsed.faults, known, origin, launch)
    return (Configuration(launch, None, table.release, values, problems, True, assumed),)


def find_program(origin: Origin, table: Table) -> Program | None:
    """The release's own entry point of that name; of several the one that adds most."""
    found = [program for path in origin.paths if (program := table.program(path)) is not None]
    return max(found, key=lambda program: len(program.options), default=None)


def hidden_openings(launch: Launch) -> Iterable[Word]:
    """What the launch stage could not follow and no word shows."""
    shown = {unknown for word in launch.argv for unknown in word.text.unknowns}
    for unknown in launch.open:
        if unknown not in shown and launch.program is not None:
            yield launch.program


def settle_values(parsed: Parsed, table: Table, absence: Absence, launch: Launch) -> dict[str, Bound]:
    """The values of all destinations: as bound, what is absent as far as it is known."""
    values: dict[str, Bound] = {}
    first = {option.destination: option for option in reversed(table.options)}
    elsewhere = read_elsewhere(parsed, launch)
    for name, bound in parsed.values.items():
        if elsewhere is not None and comes_from(elsewhere, bound, parsed, table):
            values[name] = bound._replace(unknown=elsewhere.unknown)
        else:
            values[name] = bound if bound.given else settle_absent(bound, first[name], absence)
    return values


def comes_from(elsewhere: Elsewhere, bound: Bound, parsed: Parsed, table: Table) -> bool:
    """Whether a file, not the command line, says what a setting is."""
    if elsewhere.text == "yaml":
        return True
    source = table.checkpoint.get(bound.destination)
    if source is None or source is True:
        return source is True
    if source is False:
        return not bound.given
    switch = parsed.values.get(str(source))
    return switch is not None and switch.given


class Elsewhere(NamedTuple):
    """Settings that come from a file: `text` is yaml or checkpoint."""

    text: str
    unknown: Unknown


def read_elsewhere(parsed: Parsed, launch: Launch) -> Elsewhere | None:
    """`--yaml-cfg` replaces the command line; `--use-checkpoint-args` overrides a part of it."""
    yaml = parsed.values.get("yaml_cfg")
    if yaml is not None and yaml.given:
        return Elsewhere("yaml", Unknown("file", str(yaml.value or "--yaml-cfg")))
    checkpoint = parsed.values.get("use_checkpoint_args")
    if checkpoint is not None and checkpoint.given and checkpoint.value is True:
        return Elsewhere("checkpoint", Unknown("file", "--use-checkpoint-args"))
    return None


def settle_absent(bound: Bound, option: Option, absence: Absence) -> Bound:
    """A setting that no flag gives.

    In an open line a switch may still be given, and a value is assumed not to be.  A program that is not Megatron's
    may fill in what has no default.
    """
    name = bound.destination
    if bound.value is None and name in absence.defaults:
        bound = bound._replace(value=absence.defaults[name])
    if absence.opening is not None:
        word = absence.opening
        if option.action in SWITCHES:
            return bound._replace(unknown=Unknown("rest", word.text.display(), first_name(word)))
        assumption = Assumption(option.strings[0], str(bound.value), word.span)
        bound = bound._replace(assumptions=(*bound.assumptions, assumption))
    if absence.foreign and bound.value is None:
        return bound._replace(unknown=Unknown("program", option.strings[0]))
    return bound


def first_name(word: Word) -> str | None:
    """The variable that would decide a word."""
    return next((unknown.name for unknown in word.text.unknowns), None)
