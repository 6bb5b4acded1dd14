"""The state of one path through a program: decisions, environment, frames, and what was found.

In: a plan of decisions to repeat.  Out: what the path ran (`runs`, `built`) and the plan as far as it went, from
which the next path follows.  A path is walked from the start each time, so that nothing needs to be copied.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from preflight.execution import Condition, Context, Execution, Remark, Script
from preflight.python.objects import (
    Class,
    Element,
    Environment,
    External,
    Function,
    Instance,
    Mapping,
    Missing,
    Module,
    Origin,
    Scalar,
    Sequence,
    String,
    Value,
    assume,
)
from preflight.python.plan import Plan
from preflight.python.signs import may_launch
from preflight.python.syntax import Tree
from preflight.record import NamedTuple
from preflight.source import Span
from preflight.values import Assumption, Text, Unknown

if TYPE_CHECKING:
    from preflight.python.modules import Library

MAXIMUM_CALLS = 60
"""Depth of calls that are followed."""

PERSONAL = frozenset(
    {"HOME", "PATH", "USER", "PWD", "LOGNAME", "SHELL", "HOSTNAME", "LANG", "TERM", "TMPDIR"}
)
"""Variables that any session has, so that they are unknown even where the environment is closed."""


class ExhaustedError(Exception):
    """The fuel is spent."""


class RaisedError(Exception):
    """The program raises an exception on this path."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class EndedError(Exception):
    """The program ends on this path (`sys.exit`, `os.exec*`)."""


class Fuel:
    """Steps that are left. `reserve` is for a path that found something."""

    __slots__ = ("left", "reserve")

    def __init__(self, left: int, reserve: int = 0) -> None:
        self.left = left
        self.reserve = reserve

    def grant(self) -> None:
        """Something was found: go on with the reserve."""
        self.left += self.reserve
        self.reserve = 0

    def burn(self, amount: int = 1) -> None:
        self.left -= amount
        if self.left < 0:
            raise ExhaustedError


class Run(NamedTuple):
    """An execution that was met, with the environment it saw."""

    execution: Execution
    synthetic: bool = False


class Path:
    """One way through the program."""

    def __init__(
        self,
        context: Context,
        read_shell: Callable[..., Script],
        plan: Plan,
        fuel: Fuel,
        exported: dict[str, Text | None],
        library: Library,
        script_path: str,
    ) -> None:
        self.library = library
        self.script_path = script_path
        self.context = context
        self.read_shell = read_shell
        self.plan = plan
        self.cursor = 0
        self.fuel = fuel
        self.depth = 0
        self.calls: list[int] = []
        self.conditions: list[Condition] = []
        self.truths: dict[Hashable, bool] = {}
        self.bindings: dict[Hashable, Value] = {}
        self.kept: list[Value] = []
        self.environment: dict[str, Text | None] = dict(exported)
        self.asked: dict[str, Value] = {}
        self.runs: list[Run] = []
        self.remarks: list[Remark] = []
        self.truncated: list[Unknown] = []
        self.built: list[Instance] = []
        self.obscure = False
        self.fruits = 0
        self.entered: set[object] = set()
        self.modules: dict[str, Frame] = {}
        self.prefix: list[tuple[str, Span]] = []
        self.serial = 0
        self.expecting_failure = 0
        self.directory: Text | None = None
        self.as_main = True
        self.demanding = False
        self.withheld = False
        self.argv: Value | None = None
        self.started_itself = False

    def note(self, execution: Execution, synthetic: bool = False) -> None:
        """A command that is run; one that may be of training makes the path worth its fuel."""
        if synthetic or may_launch([word.text for word in execution.words]):
            self.fruits += 1
            self.fuel.grant()
        self.runs.append(Run(execution, synthetic))

    def decide(self, key: Hashable, span: Span, text: str) -> bool | None:
        """Which way an undecidable test goes here; None where no more decisions are taken."""
        if key in self.truths:
            return self.truths[key]
        chosen = self.choose(2, span, lambda way: Condition(span, text, way == 0))
        if chosen is None:
            return None
        self.truths[key] = chosen == 0
        return chosen == 0

    def choose(self, ways: int, span: Span, describe: Callable[[int], Condition] | None = None) -> int | None:
        """One of several ways; the other ones are taken by other paths."""
        site = (span.path, span.start, span.end, *self.calls)
        if self.plan.is_settled(site, self.cursor):
            return 0
        chosen = self.plan.choose(ways, site, self.cursor)
        if chosen is not None:
            self.cursor += 1
            if describe is not None:
                self.conditions.append(describe(chosen))
        return chosen

    def bind(self, unknown: Value, value: Value) -> None:
        """What an unknown is on this path, after a test has said so."""
        self.kept.append(unknown)
        self.bindings[identity(unknown)] = value

    def resolve(self, value: Value) -> Value:
        if self.bindings and isinstance(value, (Missing, Instance, External)):
            return self.bindings.get(identity(value), value)
        return value

    def variable(
        self, name: str, default: Value | None, span: Span, shown: str, absent: bool = False
    ) -> Value:
        """A variable of the environment. `absent`: without a default its absence is an error."""
        if name in self.environment:
            text = self.environment[name]
            if text is not None:
                return String(text)
            return self._unset(default, span, absent)
        if name in self.context.environment:
            return String(Text.literal(self.context.environment[name], span))
        if self.context.closed_environment and name not in PERSONAL:
            return self._unset(default, span, absent)
        if isinstance(default, (Scalar, String)) and not self.context.strict_environment:
            if isinstance(default, String) and default.text.value is not None:
                return assume(default, Assumption(name, default.text.value, span))
            if isinstance(default, Scalar) and default.value is not None:
                return assume(default, Assumption(name, str(default.value), span))
        if name not in self.asked:
            self.asked[name] = Missing(Unknown("environment", shown, name), Origin(span))
        return self.asked[name]

    def _unset(self, default: Value | None, span: Span, absent: bool) -> Value:
        if absent:
            raise RaisedError("KeyError")
        return default if default is not None else Scalar(None, Origin(span))


def identity(value: Value) -> Hashable:
    """What tells one unknown from another: names of other packages are the same wherever they stand."""
    return ("external", value.name) if isinstance(value, External) else id(value)


def opaque(value: Value) -> bool:
    """Whether a value is not known at all: missing, or something of code that is not followed."""
    return isinstance(value, (Missing, External)) or (isinstance(value, Instance) and value.cls is None)


class Frame:
    """Names in a function, class body or module."""

    __slots__ = (
        "cls",
        "globals",
        "home",
        "kind",
        "names",
        "nonlocals",
        "parent",
        "path",
        "receiver",
        "tree",
        "unsure",
        "yielded",
    )

    def __init__(self, kind: str, tree: Tree, path: Path, parent: Frame | None) -> None:
        self.kind = kind
        self.tree = tree
        self.path = path
        self.parent = parent
        self.home: Frame = self if parent is None else parent.home
        self.names: dict[str, Value] = {}
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.cls: Class | None = None
        self.receiver: Value | None = None
        self.yielded: list[Element] | None = None
        self.unsure = False
        """Whether a branch was passed by that may have returned."""

    def find(self, name: str) -> Frame | None:
        """The frame that holds a name."""
        frame: Frame | None = self.home if name in self.globals else self
        while frame is not None:
            if name in frame.names:
                return frame
            frame = frame.parent
            while frame is not None and frame.kind == "class":
                frame = frame.parent
        return None

    def assign(self, name: str, value: Value) -> None:
        if name in self.globals:
            self.home.names[name] = value
            return
        if name in self.nonlocals:
            frame = self.parent.find(name) if self.parent is not None else None
            if frame is not None:
                frame.names[name] = value
                return
        self.names[name] = value


Anything = (Class, Environment, External, Function, Instance, Mapping, Module, Sequence)
"""Values that are true as they stand, unless they are empty."""


def truth(value: Value) -> bool | None:
    """Whether a value counts as true; None where it is not known."""
    if isinstance(value, Scalar):
        return bool(value.value)
    if isinstance(value, String):
        if value.path or any(p.text for p in value.text.pieces if p.unknown is None):
            return True
        return None if value.text.pieces and not value.text.known else False
    if isinstance(value, Sequence):
        if any(not element.rest for element in value.elements):
            return True
        return None if value.elements else False
    if isinstance(value, Mapping):
        return True if value.entries else None if value.rest is not None else False
    if isinstance(value, Instance):
        if value.cls is not None and (value.cls.find("__bool__") or value.cls.find("__len__")):
            return None
        return True if value.cls is not None and not value.cls.open else None
    if isinstance(value, (Class, Environment, Function, Module)):
        return True
    if isinstance(value, Missing):
        return None
    return None if isinstance(value, External) else True
