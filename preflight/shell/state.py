"""What a shell knows while it runs: variables, arguments, directory, options, and the branches taken.

In: assignments and branches, one at a time.  Out: values, known or not.  A state is one path through the
script; `fork` splits it cheaply, and `same` tells when two paths may be joined again.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress
from operator import is_not

from preflight.execution import Condition, Context
from preflight.record import NamedTuple
from preflight.shell.pieces import EMPTY
from preflight.source import Source, Span
from preflight.values import Piece, Text, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypeAlias


class ExhaustedError(Exception):
    """Out of fuel."""


class Element(NamedTuple):
    """An array element or a positional argument; `many` as in `Word`."""

    text: Text
    span: Span
    many: bool = False


Array: TypeAlias = "dict[Any, Element]"


class Variable(NamedTuple):
    """`value` None: known to be unset (or declared without a value)."""

    value: Text | Array | None
    exported: bool = False
    readonly: bool = False
    integer: bool = False
    letters: Literal["", "l", "u"] = ""
    associative: bool = False
    reference: str = ""

    @property
    def scalar(self) -> Text | None:
        """The value as `$name` gives it: of an array the element 0."""
        if isinstance(self.value, dict):
            if any(element.many for element in self.value.values()) and 0 not in self.value:
                return None
            element = self.value.get(0) if not self.associative else self.value.get("0")
            return element.text if element else None
        return self.value


class Arguments(NamedTuple):
    """Positional arguments. None stands for one that is not known; `open`: more may follow.

    `base` counts the arguments shifted away, so that an unknown one is named by its first number.
    """

    items: tuple[Element | None, ...] = ()
    open: bool = False
    base: int = 0

    @property
    def certain(self) -> bool:
        """Whether number and places of all are known."""
        return not self.open and not any(item is not None and item.many for item in self.items)

    def shifted(self, count: int) -> Arguments:
        return Arguments(self.items[count:], self.open, self.base + count)


class Flow(NamedTuple):
    """Why the following statements are not run: exit, return, break, continue, discard, never."""

    kind: str
    levels: int = 1


class Question(NamedTuple):
    """A test that could not be decided. `atoms` are what holds when it is true (False: what then does not).

    `negated` turns the whole round.
    """

    span: Span
    text: str
    knowledge: Any = None
    negated: bool = False


class State:
    """One path. Only the evaluator changes it; dictionaries are never shared between forks."""

    __slots__ = (
        "arguments",
        "background",
        "directory",
        "facts",
        "files",
        "flow",
        "forks",
        "functions",
        "guarded",
        "hints",
        "input",
        "learned",
        "learned_arguments",
        "locals",
        "missing",
        "options",
        "output",
        "paths",
        "question",
        "snapshot",
        "stack",
        "status",
        "variables",
        "zero",
    )

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        self.functions: dict[str, Any] = {}
        self.arguments = Arguments()
        self.zero: Text = EMPTY
        self.status: int | None = 0
        self.question: Question | None = None
        self.flow: Flow | None = None
        self.directory: Text | None = None
        self.paths: tuple[tuple[Condition, ...], ...] = ((),)
        self.forks = 0
        self.facts: dict[Any, Any] = {}
        self.learned: dict[str, tuple[Variable | None, Variable]] = {}
        """Variables that a test told something about: (as it was, as it is now)."""
        self.learned_arguments: tuple[Arguments, Arguments] | None = None
        self.output: tuple[Piece, ...] | None = None
        self.input: Text | None = None
        self.options: frozenset[str] = frozenset()
        self.locals: tuple[dict[str, Variable | None], ...] = ()
        self.stack: tuple[tuple[str, str], ...] = ()
        self.missing: Unknown | None = None
        self.files: dict[str, Text] = {}
        self.guarded = 0
        self.hints: tuple[str, ...] = ()
        """Variables in which this path differed from others: looked at first."""
        self.background = False
        self.snapshot: tuple[Mapping[str, Text | None], Mapping[str, Text]] | None = None

    def fork(self) -> State:
        other = State.__new__(State)
        for name in State.__slots__:
            setattr(other, name, getattr(self, name))
        other.variables = dict(self.variables)
        other.functions = dict(self.functions)
        other.facts = dict(self.facts)
        other.learned = dict(self.learned)
        other.files = dict(self.files)
        other.locals = tuple(dict(scope) for scope in self.locals)
        return other

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The branches taken to get here; where several ways lead here, those of the shortest."""
        return self.paths[0]

    def branch(self, condition: Condition) -> None:
        """A branch had to be chosen."""
        self.forks += 1
        self.paths = tuple(path if condition in path else (*path, condition) for path in self.paths)

    # ---------------------------------------------------------------- variables

    def put(self, name: str, variable: Variable) -> None:
        self.variables[name] = variable
        self.snapshot = None

    def write(self, text: Text) -> None:
        """Append to the captured output, if there is one."""
        if self.output is not None:
            self.output = self.output + text.pieces

    def environments(self) -> tuple[Mapping[str, Text | None], Mapping[str, Text]]:
        """Exported and other variables, for an execution; shared until something changes."""
        if self.snapshot is None:
            exported: dict[str, Text | None] = {}
            others: dict[str, Text] = {}
            for name, variable in self.variables.items():
                value = variable.scalar
                if variable.exported and not isinstance(variable.value, dict) and value is not None:
                    exported[name] = value
                elif variable.value is None:
                    exported[name] = None
                elif value is not None:
                    others[name] = value
                    exported[name] = None
                else:
                    exported[name] = None
            self.snapshot = (exported, others)
        return self.snapshot

    # ---------------------------------------------------------------- what tests tell

    def learn(self, name: str, variable: Variable) -> None:
        """A test told the value of a variable that was not known."""
        before = self.variables.get(name)
        earlier = self.learned.get(name)
        original = earlier[0] if earlier is not None and earlier[1] is before else before
        self.put(name, variable)
        self.learned[name] = (original, variable)

    def learn_arguments(self, arguments: Arguments) -> None:
        earlier = self.learned_arguments
        known = earlier is not None and earlier[1] is self.arguments
        original = earlier[0] if earlier is not None and known else self.arguments
        self.arguments = arguments
        self.learned_arguments = (original, arguments)

    def original(self, name: str) -> Variable | None:
        """A variable without what tests told about it."""
        variable = self.variables.get(name)
        earlier = self.learned.get(name)
        return earlier[0] if earlier is not None and earlier[1] is variable else variable

    @property
    def original_arguments(self) -> Arguments:
        earlier = self.learned_arguments
        return earlier[0] if earlier is not None and earlier[1] is self.arguments else self.arguments

    def forget_learned(self, other: State) -> None:
        """Two paths become one: what only one of them learnt is not known any more."""
        for name, (original, learned) in list(self.learned.items()):
            if self.variables.get(name) is not learned:
                continue
            two = other.variables.get(name)
            if two is None or not same_value(learned.value, two.value):
                del self.learned[name]
                if original is None:
                    del self.variables[name]
                else:
                    self.variables[name] = original
                self.snapshot = None
        if not _same_arguments(self.arguments, other.arguments):
            self.arguments = self.original_arguments

    # ---------------------------------------------------------------- joining

    def same(self, other: State, *, status: bool = True) -> bool:
        """Whether the rest of the script would run alike on both paths."""
        return (
            self.flow == other.flow
            and (not status or self.status == other.status)
            and _alike(self.directory, other.directory)
            and self.options == other.options
            and self.functions == other.functions
            and _same_arguments(self.original_arguments, other.original_arguments)
            and _same_variables(self, other)
            and self.locals.__len__() == other.locals.__len__()
            and _same_output(self.output, other.output)
            and _alike(self.input, other.input)
            and (self.files is other.files or self.files.keys() == other.files.keys())
        )


def _alike(left: Text | None, right: Text | None) -> bool:
    if left is right:
        return True
    if left is None or right is None:
        return False
    if left.pieces is right.pieces:
        return True
    return left.known == right.known and left.display() == right.display()


def _same_output(left: tuple[Piece, ...] | None, right: tuple[Piece, ...] | None) -> bool:
    return left is right or (left is not None and right is not None and _alike(Text(left), Text(right)))


def _same_variables(left: State, right: State) -> bool:
    learned = bool(left.learned or right.learned)
    mine, theirs = left.variables, right.variables
    if not learned and len(mine) != len(theirs):
        return False
    hints = left.hints
    for name in hints:
        one, two = mine.get(name), theirs.get(name)
        if one is not two and not _same_variable(left, right, name, one, two, learned):
            return False
    for name in compress(mine, map(is_not, mine.values(), map(theirs.get, mine))):
        if not _same_variable(left, right, name, mine[name], theirs.get(name), learned):
            left.hints = (name, *hints[:3])
            return False
    if not learned or theirs.keys() <= mine.keys():
        return True
    return all(right.original(name) is None for name in theirs.keys() - mine.keys())


def _same_variable(
    left: State, right: State, name: str, one: Variable | None, two: Variable | None, learned: bool
) -> bool:
    if learned:
        if name in left.learned:
            one = left.original(name)
        if name in right.learned:
            two = right.original(name)
    if one is None or two is None:
        return one is two
    return one is two or (one[1:] == two[1:] and same_value(one.value, two.value))


def same_value(left: Text | Array | None, right: Text | Array | None) -> bool:
    """Equal for every purpose but the places that the values came from."""
    if left is right:
        return True
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and left.keys() == right.keys()
            and all(e.many == right[k].many and _alike(e.text, right[k].text) for k, e in left.items())
        )
    return not isinstance(right, dict) and _alike(left, right)


def _same_arguments(left: Arguments, right: Arguments) -> bool:
    if left is right:
        return True
    if left.open != right.open or left.base != right.base or len(left.items) != len(right.items):
        return False
    for one, two in zip(left.items, right.items, strict=True):
        if one is two:
            continue
        if one is None or two is None or one.many != two.many or not _alike(one.text, two.text):
            return False
    return True


def initial_state(
    context: Context,
    source: Source,
    variables: Mapping[str, Text | None],
    exported: Mapping[str, Text | None],
) -> State:
    """The state in which a script starts."""
    state = State()
    for name, value in context.environment.items():
        state.variables[name] = Variable(_given(f"{name}=", value, "<environment>"), exported=True)
    for name, text in exported.items():
        state.variables[name] = Variable(text, exported=text is not None)
    for name, text in variables.items():
        state.variables[name] = Variable(text)
    state.variables.setdefault("IFS", Variable(_given("", " \t\n", "<shell>")))
    state.variables.setdefault("OPTIND", Variable(_given("", "1", "<shell>")))
    numbers = [n for n in context.arguments if n > 0]
    items: list[Element | None] = []
    for number in range(1, max(numbers, default=0) + 1):
        given = context.arguments.get(number)
        if given is None:
            items.append(None)
        else:
            items.append(Element(_given("", given, "<arguments>"), _nowhere("<arguments>", given)))
    state.arguments = Arguments(tuple(items), not context.closed_arguments)
    zero = context.arguments.get(0, source.path)
    state.zero = _given("", zero, "<arguments>")
    state.directory = _given("", context.files.directory, "<directory>")
    return state


def _nowhere(path: str, value: str) -> Span:
    data = value.encode("utf-8", "surrogateescape")
    return Source(path, data).span(0, len(data))


def _given(prefix: str, value: str, path: str) -> Text:
    data = (prefix + value).encode("utf-8", "surrogateescape")
    source = Source(path, data)
    if not value:
        return EMPTY
    return Text((Piece(value, source.span(len(prefix.encode()), len(data))),))
