"""The options of a command, written down once and read in one of two ways.

In: what argparse's parser would be told, and the words behind a command's name.  Out: the options as attributes.  Words
that are plain (options spelt in full, values apart from them, files in one row) are read right here; for all else
(help, mistakes, `--option=value`) argparse is imported and told the same.  So the common start does not pay for it.
"""

from __future__ import annotations

from types import SimpleNamespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from preflight.cli.parser import Parser


class Sheet:
    """All options of a command; it is filled as an `argparse.ArgumentParser` is."""

    def __init__(self, *about: Any) -> None:
        self.about = about
        self.groups = [Group(self)]
        self.arguments: list[Argument] = []
        self.defaults: dict[str, Any] = {}

    def add_argument(self, *names: str, **more: Any) -> None:
        self.groups[0].add_argument(*names, **more)

    def add_argument_group(self, title: str) -> Group:
        self.groups.append(Group(self, title))
        return self.groups[-1]

    def set_defaults(self, **defaults: Any) -> None:
        self.defaults.update(defaults)

    def parse_args(self, words: Sequence[str]) -> Any:
        """The options that the words give; a mistake, or a call for help, ends the process."""
        plain = self.read_plain(words)
        return plain if plain is not None else self.make_parser().parse_args(words)

    def parse_intermixed_args(self, words: Sequence[str]) -> Any:
        """The same where words that are no options may stand between those that are."""
        plain = self.read_plain(words)
        return plain if plain is not None else self.make_parser().parse_intermixed_args(words)

    def make_parser(self) -> Parser:
        """argparse's parser with these options."""
        from preflight.cli.parser import new_parser

        parser = new_parser(*self.about)
        places: dict[Group, Any] = {}
        for group in self.groups:
            place = parser.add_argument_group(group.title) if group.title else parser
            places[group] = place.add_mutually_exclusive_group() if group.exclusive else place
        for argument in self.arguments:
            places[argument.group].add_argument(*argument.names, **argument.more)
        parser.set_defaults(**self.defaults)
        return parser

    def read_plain(self, words: Sequence[str]) -> SimpleNamespace | None:
        """The options that plain words give; None where a word is not plain."""
        known = {name: argument for argument in self.arguments for name in argument.names if name[0] == "-"}
        values = {argument.destination: argument.default for argument in self.arguments} | self.defaults
        rows: list[list[str]] = []
        given: list[Argument] = []
        rest = iter(words)
        open_row = False
        for word in rest:
            if not word.startswith("-") or word == "-":
                if not open_row:
                    rows.append([])
                rows[-1].append(word)
                open_row = True
                continue
            open_row = False
            argument = known.get(word)
            if argument is None or not argument.take(rest, values):
                return None
            given.append(argument)
        places = [argument for argument in self.arguments if argument.positional]
        row = rows[0] if rows else []
        if len(rows) > 1 or len(places) > 1 or (row and not places):
            return None
        if not self.is_complete(given) or not all(place.fill(row, values) for place in places):
            return None
        return SimpleNamespace(**values)

    def is_complete(self, given: Sequence[Argument]) -> bool:
        """Whether all that must be given is, and nothing beside what excludes it."""
        required = [argument for argument in self.arguments if argument.more.get("required")]
        excluding = [argument.group for argument in set(given) if argument.group.exclusive]
        return all(argument in given for argument in required) and len(excluding) == len(set(excluding))


class Group:
    """Options under a heading; of an exclusive group only one may be given."""

    def __init__(self, sheet: Sheet, title: str = "", exclusive: bool = False) -> None:
        self.sheet = sheet
        self.title = title
        self.exclusive = exclusive

    def add_argument(self, *names: str, **more: Any) -> None:
        self.sheet.arguments.append(Argument(self, names, more))

    def add_mutually_exclusive_group(self) -> Group:
        """The group itself, which has no other options."""
        self.exclusive = True
        return self


class Argument:
    """One option, or the place of words that are none."""

    def __init__(self, group: Group, names: tuple[str, ...], more: dict[str, Any]) -> None:
        long = next((name for name in names if name.startswith("--")), names[0])
        self.group = group
        self.names = names
        self.more = more
        self.positional = not names[0].startswith("-")
        self.destination: str = more.get("dest") or long.lstrip("-").replace("-", "_")
        self.action = more.get("action", "store")
        self.default = more.get("default", False if self.action == "store_true" else None)

    def take(self, rest: Any, values: dict[str, Any]) -> bool:
        """Take the option's value from the words behind it; False where that is not plain."""
        if self.action == "store_true":
            values[self.destination] = True
            return True
        word = next(rest, "-")
        if self.action not in ("store", "append") or "nargs" in self.more or word.startswith("-"):
            return False
        try:
            value = self.more.get("type", str)(word)
        except Exception:  # argparse says what is wrong with it
            return False
        if value not in self.more.get("choices", (value,)):
            return False
        old = values[self.destination]
        values[self.destination] = [*(old or ()), value] if self.action == "append" else value
        return True

    def fill(self, words: list[str], values: dict[str, Any]) -> bool:
        """Give the place all the words; False where it does not take so many, or asks more of them."""
        wanted = self.more.get("nargs")
        if "type" in self.more or "choices" in self.more or not (wanted == "*" or (wanted == "+" and words)):
            return False
        values[self.destination] = words
        return True


def refuse(message: str) -> NoReturn:
    """End the reading of a value with what is wrong with it."""
    from argparse import ArgumentTypeError

    raise ArgumentTypeError(message)
