"""Flag tables: what a release's command-line parser knows.

In: a generated JSON file of one release, or one that `preflight targets add` wrote.  Out: `Table`, the
options with their actions, types, choices and defaults, in the order of the parser.  It holds no rules and
does not bind anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from preflight.constants import COMPILED, read_constant, write_constant
from preflight.record import NamedTuple
from preflight.targets.releases import RELEASES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

Scalar = None | bool | int | float | str
Value = Scalar | tuple["Value", ...]

FOLDER = os.path.join(os.path.dirname(__file__), "megatron-core")
COMPILED_TABLES = os.path.join(COMPILED, "targets")
SUPPRESS = "==SUPPRESS=="
"""How a default of `argparse.SUPPRESS` is written: the destination is absent unless the flag is given."""

FIELDS = ("destination", "action", "type", "nargs", "choices", "default", "const", "required", "group")
SHORT = {name: name[0] if name != "default" else "v" for name in FIELDS}
"""Keys of the compact form: destination d, action a, type t, nargs n, choices c, default v, group g, ..."""
SHORT |= {"const": "k"}


class Option(NamedTuple):
    """One option of a parser.

    `action` is store, store_true, store_false, store_const, append, append_const, extend, count, boolean
    (`--x` and `--no-x`), help or version.  `type` names the conversion: int, float, bool, enum, or that of
    a named function (moe_freq_type, ...); None keeps the text.  `group` numbers options that exclude each other.
    `unsure` says that the reader could not follow a part of the definition, so that values are not judged.
    """

    strings: tuple[str, ...]
    destination: str
    action: str = "store"
    type: str | None = None
    nargs: int | str | None = None
    choices: tuple[Value, ...] | None = None
    default: Value = None
    const: Value = None
    required: bool = False
    group: int | None = None
    unsure: bool = False

    @property
    def takes_value(self) -> bool:
        return self.action in ("store", "append", "extend")

    @property
    def positional(self) -> bool:
        return not self.strings[0].startswith("-")


class Program(NamedTuple):
    """An entry point: the options that it adds, and the defaults that it gives where no flag does.

    `complete` is False where a part of its parser could not be followed.  `trains` says whether it calls Megatron's
    training loop; None where that is not plain.  `rewritten` are destinations that its own code sets after parsing.
    """

    name: str
    options: tuple[Option, ...] = ()
    defaults: Mapping[str, Value] = {}
    complete: bool = True
    trains: bool | None = None
    rewritten: frozenset[str] = frozenset()


class Table:
    """The parser of one release.

    `programs` are the paths of the entry points that the project ships.  `checkpoint` names destinations that
    `--use-checkpoint-args` takes from the checkpoint: True where it overrides a given flag, a name where another
    switch has to be given too.
    """

    __slots__ = (
        "_destinations",
        "_programs",
        "checkpoint",
        "flags",
        "name",
        "options",
        "release",
        "te_version",
    )

    def __init__(
        self,
        release: str,
        options: Iterable[Option],
        *,
        name: str | None = None,
        te_version: str | None = None,
        programs: Mapping[str, Program] | None = None,
        checkpoint: Mapping[str, bool | str] | None = None,
    ) -> None:
        self.release = release
        self.name = name or release
        self.te_version = te_version
        self.options = tuple(options)
        self._programs: Mapping[str, Program] = programs or {}
        self.checkpoint: Mapping[str, bool | str] = checkpoint or {}
        self._destinations: dict[str, Option] | None = None
        self.flags: dict[str, Option] = {text: option for option in self.options for text in option.strings}

    @property
    def destinations(self) -> Mapping[str, Option]:
        """Each destination with the first option that sets it: that one's default counts."""
        if self._destinations is None:
            found: dict[str, Option] = {}
            for option in self.options:
                if option.action not in ("help", "version"):
                    found.setdefault(option.destination, option)
            self._destinations = found
        return self._destinations

    @property
    def programs(self) -> Iterable[str]:
        return self._programs.keys()

    def program(self, path: str) -> Program | None:
        """An entry point by its path in the checkout."""
        return self._programs.get(path)

    def extended(self, options: Iterable[Option], changed: Iterable[Option] = ()) -> Table:
        """The table with a program's own options; those whose flag is known already are left out.

        `changed` are options that a checkout defines in its own way: they take the place of the table's.
        """
        extra = [option for option in options if not any(text in self.flags for text in option.strings)]
        instead = {option.destination: option for option in changed}
        return Table(
            self.release,
            (*(instead.get(option.destination, option) for option in self.options), *extra),
            name=self.name,
            te_version=self.te_version,
            programs=self._programs,
            checkpoint=self.checkpoint,
        )


_loaded: dict[str, Table] = {}


def load_table(release: str) -> Table:
    """The generated table of a release by its full name (`core_v0.19.0`, `core_r0.8.0`, `main`)."""
    if release not in _loaded:
        try:
            _loaded[release] = restore_table(*read_constant(os.path.join(COMPILED_TABLES, f"{release}.py")))
        except FileNotFoundError:
            _loaded[release] = read_table(os.path.join(FOLDER, f"{release}.json"))
    return _loaded[release]


def compile_tables(folder: Path) -> None:
    """Write every release's table as constants, for `restore_table`."""
    for release in RELEASES:
        table = load_table(release)
        programs = [
            (name, tuple(map(tuple, options)), *rest) for name, options, *rest in table._programs.values()
        ]
        options = tuple(map(tuple, table.options))
        write_constant(
            folder / f"{release}.py", (release, options, programs, table.te_version, table.checkpoint)
        )


def restore_table(
    release: str, options: Any, programs: Any, te_version: str | None, checkpoint: Mapping[str, bool | str]
) -> Table:
    """A table out of the fields of its records, of which there are a thousand: so past their constructors."""
    made = {
        name: Program(name, tuple([tuple.__new__(Option, each) for each in own]), *rest)
        for name, own, *rest in programs
    }
    return Table(
        release,
        [tuple.__new__(Option, option) for option in options],
        te_version=te_version,
        programs=made,
        checkpoint=checkpoint,
    )


def read_table(path: str) -> Table:
    """A table in a file that `dump_table` wrote."""
    import json

    with open(path, "rb") as stream:
        return build_table(json.load(stream))


def build_table(data: Mapping[str, Any]) -> Table:
    return Table(
        data["release"],
        [_option(entry) for entry in data["options"]],
        name=data.get("name"),
        te_version=data.get("te"),
        programs={
            path: Program(
                path,
                tuple(_option(entry) for entry in found.get("options", ())),
                found.get("defaults", {}),
                found.get("complete", True),
                found.get("trains"),
            )
            for path, found in (data.get("programs") or {}).items()
        },
        checkpoint=data.get("checkpoint", {}),
    )


_NOTHING: dict[str, Any] = {}


def _option(entry: list[Any]) -> Option:
    text, rest = entry[0], entry[1] if len(entry) > 1 else _NOTHING
    strings = (text,) if " " not in text else tuple(text.split(" "))
    if rest is _NOTHING:
        return Option(strings, derive_destination(strings))
    choices, default = rest.get("c"), rest.get("v")
    return Option(
        strings,
        rest.get("d") or derive_destination(strings),
        rest.get("a", "store"),
        rest.get("t"),
        rest.get("n"),
        None if choices is None else tuple(choices),
        _frozen(default) if isinstance(default, list) else default,
        rest.get("k"),
        rest.get("r", False),
        rest.get("g"),
        rest.get("u", False),
    )


def _frozen(value: Any) -> Value:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def derive_destination(strings: Iterable[str]) -> str:
    """The name that argparse makes of the first long option string, else of the first."""
    chosen = ""
    for text in strings:
        chosen = chosen or text
        if text.startswith("--"):
            chosen = text
            break
    return chosen.lstrip("-").replace("-", "_")


def dump_table(table: Table) -> str:
    """JSON with one option a line, so that a new release reads as a short difference."""
    import json

    lines = ["{", f' "release": {json.dumps(table.release)},']
    if table.name != table.release:
        lines.append(f' "name": {json.dumps(table.name)},')
    if table.te_version:
        lines.append(f' "te": {json.dumps(table.te_version)},')
    lines += [' "options": [', ",\n".join(f"  {_dumped(option)}" for option in table.options), " ],"]
    lines.append(f' "checkpoint": {json.dumps(dict(table.checkpoint))},')
    lines.append(' "programs": {')
    lines.append(
        ",\n".join(
            f"  {json.dumps(name)}: {_dumped_program(program)}"
            for name in table.programs
            if (program := table.program(name)) is not None
        )
    )
    return "\n".join([*lines, " }", "}", ""])


def _dumped(option: Option) -> str:
    import json

    rest: dict[str, object] = {}
    if option.destination != derive_destination(option.strings):
        rest["d"] = option.destination
    for name, key in SHORT.items():
        value = getattr(option, name)
        if name != "destination" and value != Option._field_defaults[name]:
            rest[key] = value
    if option.unsure:
        rest["u"] = True
    strings = " ".join(option.strings)
    return json.dumps([strings, rest] if rest else [strings], separators=(",", ":"))


def _dumped_program(program: Program) -> str:
    import json

    data: dict[str, object] = {}
    if program.defaults:
        data["defaults"] = dict(program.defaults)
    if not program.complete:
        data["complete"] = False
    if program.trains is not None:
        data["trains"] = program.trains
    text = json.dumps(data, separators=(",", ":"))
    if not program.options:
        return text
    options = ",\n   ".join(_dumped(option) for option in program.options)
    head = text[:-1] + ("," if data else "")
    return f'{head}"options":[\n   {options}]}}'
