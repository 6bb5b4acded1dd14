"""What the static interpreter computes with: functions, classes, enums, parsers, and values not followed.

In: nothing; these are its records.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from preflight.record import NamedTuple
from preflight.targets.modules import Module
from preflight.targets.table import Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Unread:
    """A value that could not be followed."""

    def __repr__(self) -> str:
        return "UNREAD"

    def __bool__(self) -> bool:
        return False


UNREAD = Unread()


class Function(NamedTuple):
    module: Module
    node: ast.FunctionDef | ast.Lambda


class Class(NamedTuple):
    module: Module
    node: ast.ClassDef


class Enumeration(NamedTuple):
    """An enum class: its members' names and values, in order."""

    name: str
    members: Mapping[str, Any]


class Member(NamedTuple):
    enumeration: Enumeration
    name: str

    @property
    def value(self) -> Any:
        return self.enumeration.members[self.name]


class Outside(NamedTuple):
    """A name of a module that is not below the folders, such as `os.getenv`."""

    name: str


class Parser:
    """An argument parser or one of its groups."""

    def __init__(self, top: Parser | None = None, group: int | None = None) -> None:
        self.top: Parser = top or self
        self.group = group
        self.options: list[Option] = []
        self.groups = 0
        self.complete = True


class Factory(NamedTuple):
    """An object whose `build_group(parser)` adds an option for each field of a dataclass."""

    source: Class
    excluded: frozenset[str]
