"""Which release's flag table a launch is held against.

In: what `--target` or the config says, a launch, and what may be read.  Out: `Choice`: the tables, whether the release
is an assumption, and a note that says so.  Without a word from the user it is the Megatron beside the script, else the
one that a path names, else the newest release that knows all flags of the launch.
"""

from __future__ import annotations

import os
from functools import lru_cache

from preflight.launch.model import Launch
from preflight.record import NamedTuple
from preflight.source import Files
from preflight.targets.explain import find_checkout
from preflight.targets.history import list_releases
from preflight.targets.naming import find_naming
from preflight.targets.origin import find_origin, list_flags
from preflight.targets.releases import (
    NEWEST,
    RELEASES,
    find_release,
    nearest_release,
    parse_release,
    parse_version,
)
from preflight.targets.table import Table, load_table
from preflight.targets.version import TargetError as TargetError
from preflight.targets.version import is_early, read_version


class Choice(NamedTuple):
    """The tables to check against. `assumed` says that nobody named the release; `note` then says why this one.

    `beside` says that a checkout beside the script names it.  `elder` is the release before, where the checkout is on
    the way from that to its table's.
    """

    tables: tuple[Table, ...]
    assumed: bool = False
    note: str = ""
    beside: bool = False
    elder: str = ""


class Checkout(NamedTuple):
    """The release that a checkout counts as, what to say about that, and the `elder` one of a `Choice`."""

    release: str
    note: str = ""
    elder: str = ""


_named: dict[str, Choice] = {}
"""Checkouts that the user named, by folder: each launch of a run asks for the same."""
_checkouts: dict[str | None, Checkout | None] = {}
"""Checkouts beside scripts, by folder."""


def choose_tables(text: str | None, launch: Launch, files: Files | None = None) -> Choice:
    """The flag tables for a launch."""
    if text:
        return choose_named(text, files)
    found = find_installed(launch, files) if files is not None else None
    if found is not None:
        before_all = found.release == RELEASES[0] and bool(found.note)
        return Choice((load_table(found.release),), before_all, found.note, True, found.elder)
    named = find_naming(launch)
    flags = tuple(dict.fromkeys(list_flags(launch)))
    based = find_origin(launch).based
    release = infer_release(launch, flags) if based else NEWEST
    if named is not None and knows_as_much(named[0], release, flags):
        note = f"assumed Megatron {named[0]}, since a path names {named[1]}; --target names another"
        return Choice((load_table(named[0]),), True, note)
    if launch.configuration is None and not based:
        return Choice((load_table(release),), True)
    if release == NEWEST:
        note = f"assumed Megatron {NEWEST}, the newest release; --target names another"
    else:
        note = f"assumed Megatron {release}, the newest release that knows the flags; --target names another"
    return Choice((load_table(release),), True, note)


def choose_checkout(path: str) -> Choice:
    """The flag table of a checkout that the user named, read statically, with the rules of its release."""
    folder = os.path.realpath(path)
    if folder not in _named:
        from preflight.targets.checkout import read_parser
        from preflight.targets.modules import Modules

        files = Files(folder, (folder,))
        unsaid = Checkout(NEWEST, f"{path} does not say its version; the rules of {NEWEST} are used")
        release, note, elder = read_release(folder, files) or unsaid
        shipped = load_table(release)
        parser = read_parser(Modules(files, (folder,)))
        programs = {name: program for name in shipped.programs if (program := shipped.program(name))}
        table = shipped
        if parser is not None:
            table = Table(
                release,
                parser.options,
                te_version=shipped.te_version,
                programs=programs,
                checkpoint=shipped.checkpoint,
            )
        _named[folder] = Choice((table,), False, note, elder=elder)
    return _named[folder]


def choose_named(text: str, files: Files | None = None) -> Choice:
    """The tables of a name: a release, `all`, or a target that the user added."""
    if text.strip().lower() == "all":
        return Choice(tuple(load_table(name) for name in RELEASES))
    from preflight.targets.added import find_added

    added = find_added(text, files)
    if added is not None:
        return Choice((added,))
    release = find_release(text)
    if release is None:
        version = parse_version(text)
        if version is not None and len(version) >= 2 and version > parse_release(NEWEST):
            note = f"{text} is newer than the flag tables; taken as main"
            return Choice((load_table("main"),), False, note)
        import difflib

        near = difflib.get_close_matches(text, [*RELEASES, "all"], 3, 0.3)
        raise TargetError(
            f"no target named {text!r}; there are {', '.join(RELEASES)}, all"
            + (f"; nearest: {', '.join(near)}" if near else "")
        )
    version = parse_version(text)
    asked = version is not None and len(version) == 3 and parse_version(release) != version
    note = f"{text} has no table of its own; taken as {release}" if asked else ""
    return Choice((load_table(release),), False, note)


def find_installed(launch: Launch, files: Files) -> Checkout | None:
    """The Megatron checkout or package beside the script."""
    folder = find_checkout(launch, files)
    if folder not in _checkouts:
        _checkouts[folder] = read_release(folder, files) if folder is not None else None
    return _checkouts[folder]


def read_release(folder: str, files: Files) -> Checkout | None:
    """The release that a checkout counts as."""
    version = read_version(folder, files)
    numbers = parse_version(version) if version is not None else None
    if version is None or numbers is None:
        return None
    release, exact = nearest_release(numbers)
    shown = files.shown(folder)
    place = "this checkout" if shown == "." else f"the checkout in {os.path.normpath(shown)}"
    place = f"{place} is Megatron core {version}"
    if exact and is_early(version) and release != RELEASES[0]:
        elder = RELEASES[RELEASES.index(release) - 1]
        return Checkout(release, f"{place}, between {elder} and {release}; taken as {release}", elder)
    if exact:
        return Checkout(release)
    if release == "main":
        return Checkout(release, f"{place}, newer than the flag tables; taken as main")
    return Checkout(release, f"{place}, for which there is no table; taken as {release}")


@lru_cache(maxsize=256)
def knows_as_much(release: str, other: str, flags: tuple[str, ...]) -> bool:
    """Whether a release knows every one of these flags that another one knows."""
    first, second = load_table(release).flags, load_table(other).flags
    return all(flag in first for flag in flags if flag in second)


def infer_release(launch: Launch, flags: tuple[str, ...]) -> str:
    """The newest release that knows the most of the launch's flags, and takes their values where one does."""
    release = find_knowing(flags)
    if takes_values(release, launch):
        return release
    others = (name for name in reversed(RELEASES[:-1]) if knows_as_much(name, release, flags))
    return next((name for name in others if takes_values(name, launch)), release)


def takes_values(release: str, launch: Launch) -> bool:
    """Whether each option that has a choice of values is given one of them."""
    flags = load_table(release).flags
    for word, following in zip(launch.argv, launch.argv[1:], strict=False):
        option = flags.get(word.text.value or "")
        if option is None or not option.choices or option.nargs is not None:
            continue
        value = following.text.value
        if value is not None and value not in map(str, option.choices):
            return False
    return True


@lru_cache(maxsize=256)
def find_knowing(flags: tuple[str, ...]) -> str:
    """The newest release that knows the most of these flags; kept, since paths of a script differ in values."""
    newest = load_table(NEWEST)
    if not any(flag not in newest.flags and list_releases(flag) for flag in flags):
        return NEWEST
    known = [frozenset(list_releases(flag)) for flag in flags]
    best, most = NEWEST, -1
    for release in RELEASES:
        count = sum(release in releases for releases in known)
        if count > most or (count == most and release != "main"):
            best, most = release, count
    return best
