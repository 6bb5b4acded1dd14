"""The values that the evaluator computes with.

In: nothing; these are the records.  A value is known, or it is `Missing` with its reason; a container holds
values one by one, and says with a rest that more may be in it.  Nothing here is a real object of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from preflight.record import NamedTuple
from preflight.source import Span
from preflight.values import Assumption, Piece, Step, Text, Unknown

if TYPE_CHECKING:
    import libcst as cst

    from preflight.python.scope import Frame


class Origin(NamedTuple):
    """Where a value comes from and what it holds under."""

    span: Span
    steps: tuple[Step, ...] = ()
    assumptions: tuple[Assumption, ...] = ()


class Value:
    """Any value."""

    __slots__ = ()


class Scalar(Value):
    """A number, a truth value, None, bytes or the ellipsis."""

    __slots__ = ("origin", "value")

    def __init__(self, value: object, origin: Origin) -> None:
        self.value = value
        self.origin = origin


class String(Value):
    """A string, or a path where `path` says so."""

    __slots__ = ("path", "text")

    def __init__(self, text: Text, path: bool = False) -> None:
        self.text = text
        self.path = path


class Missing(Value):
    """A value that is not known. `word` says that it is one word when shown: a number, a path."""

    __slots__ = ("origin", "unknown", "word")

    def __init__(self, unknown: Unknown, origin: Origin, word: bool = False) -> None:
        self.unknown = unknown
        self.origin = origin
        self.word = word


class Element(NamedTuple):
    """An element and the place where it was put in. `rest`: any number of elements."""

    value: Value
    span: Span
    rest: bool = False


class Sequence(Value):
    """A list, tuple, set or other finite iterable."""

    __slots__ = ("elements", "kind")

    def __init__(self, kind: str, elements: list[Element]) -> None:
        self.kind = kind
        self.elements = elements

    @property
    def closed(self) -> bool:
        return not any(element.rest for element in self.elements)


class Mapping(Value):
    """A dictionary: by key, the key as a value and what it maps to.

    `rest`: other keys may be there; `outer`: they are those of the environment.  `default` makes absent ones.
    """

    __slots__ = ("default", "entries", "outer", "rest")

    def __init__(self, entries: dict[Hashable, tuple[Value, Value]], rest: Missing | None = None) -> None:
        self.entries = entries
        self.rest = rest
        self.default: Value | None = None
        self.outer = False


class Environment(Value):
    """`os.environ`; its contents belong to the path."""

    __slots__ = ()


class External(Value):
    """Something of a module that is not followed, or a builtin, by its dotted name."""

    __slots__ = ("name", "span")

    def __init__(self, name: str, span: Span) -> None:
        self.name = name
        self.span = span


class Module(Value):
    """A module of the project that is evaluated when something of it is asked for."""

    __slots__ = ("name", "path", "span")

    def __init__(self, name: str, path: str, span: Span) -> None:
        self.name = name
        self.path = path
        self.span = span


class Imported(Value):
    """A name imported from a module of the project, loaded when it is first used."""

    __slots__ = ("module", "name")

    def __init__(self, module: Module, name: str) -> None:
        self.module = module
        self.name = name


class Deferred(Value):
    """What a definition or an import of a module gives, worked out when the name is first used."""

    __slots__ = ("make", "value")

    def __init__(self, make: Callable[[], Value]) -> None:
        self.make = make
        self.value: Value | None = None

    def settle(self) -> Value:
        if self.value is None:
            self.value = self.make()
        return self.value


def settled(value: Value) -> Value:
    """The value itself, in place of the promise of one."""
    while isinstance(value, Deferred):
        value = value.settle()
    return value


class Parameter(NamedTuple):
    """A parameter: `kind` is "plain", "keyword", "rest" or "keywords"."""

    name: str
    kind: str
    default: Value | None
    annotation: cst.BaseExpression | None
    span: Span


class Function(Value):
    """A function or lambda of the project with the frame that it was defined in.

    `role`: "", "static", "class", "property", "command" (of a command line).  `options` are those of click,
    `cases` the calls of pytest's `parametrize`, which are looked at when the function is followed.
    """

    __slots__ = ("cases", "frame", "name", "node", "options", "parameters", "role", "wrapped")

    def __init__(
        self,
        name: str,
        node: cst.CSTNode,
        parameters: list[Parameter],
        frame: Frame,
    ) -> None:
        self.name = name
        self.node = node
        self.parameters = parameters
        self.frame = frame
        self.role = ""
        self.options: dict[str, Option] = {}
        self.cases: list[tuple[cst.Call, Frame]] = []
        self.wrapped: Function | None = None


class Class(Value):
    """A class of the project. `fields` are the annotated names of its body, in order."""

    __slots__ = ("bases", "data", "enumeration", "fields", "frame", "load", "name", "namespace", "node")

    def __init__(
        self, name: str, bases: list[Value], namespace: dict[str, Value], node: cst.ClassDef
    ) -> None:
        self.name = name
        self.bases = bases
        self.namespace = namespace
        self.node = node
        self.fields: dict[str, Field] = {}
        self.data = False
        self.enumeration = False
        self.frame: Frame | None = None
        self.load: Callable[[Value], Value] | None = None

    def settle(self) -> list[Value]:
        """The bases; those that are imported are loaded when they are first needed."""
        if self.load is not None:
            load, self.load = self.load, None
            self.bases = [load(base) for base in self.bases]
        return self.bases

    @property
    def ancestry(self) -> list[Class]:
        """The class and its bases that are known, nearest first."""
        found: list[Class] = [self]
        for base in self.settle():
            if isinstance(base, Class):
                found.extend(c for c in base.ancestry if c not in found)
        return found

    @property
    def record(self) -> bool:
        """Whether its objects are made from its fields, as those of a dataclass or a pydantic model."""
        return any(c.data for c in self.ancestry) or self.model

    @property
    def model(self) -> bool:
        """Whether a base makes every class below it a record."""
        bases = (base for c in self.ancestry for base in c.bases)
        return any(isinstance(base, External) and base.name.endswith(RECORDS) for base in bases)

    @property
    def open(self) -> bool:
        """Whether a base is not known."""
        return any(
            not isinstance(base, Class) and not (isinstance(base, External) and base.name in PLAIN_BASES)
            for c in self.ancestry
            for base in c.bases
        )

    def find(self, name: str) -> Value | None:
        for c in self.ancestry:
            if name in c.namespace:
                found = c.namespace[name] = settled(c.namespace[name])
                return found
        return None


RECORDS = ("NamedTuple", "BaseModel", "BaseSettings", "TypedDict", "Struct")
"""Endings of bases that make records of the classes below them."""

PLAIN_BASES = frozenset(
    {"object", "typing.NamedTuple", "enum.Enum", "enum.IntEnum", "enum.StrEnum", "abc.ABC", "str"}
)
"""Bases that give an instance no fields of their own."""


class Field(NamedTuple):
    """A field of a dataclass: its default, or the function that makes it."""

    name: str
    default: Value | None
    factory: Value | None
    annotation: cst.BaseExpression | None
    span: Span
    settable: bool = True


class Instance(Value):
    """An object: of a class of the project, or built by something that is not followed (`cls` is None).

    `name` is the class or the callee.  `rest` says that attributes which are not listed may be there; `parent` is
    the object whose attribute this one was read as.  `strict`: of one of Megatron's own classes.
    `changed`: one of those got a field set after it was made.
    """

    __slots__ = ("attributes", "built", "changed", "cls", "name", "parent", "rest", "span", "spans", "strict")

    def __init__(self, name: str, cls: Class | None, span: Span, rest: Missing | None = None) -> None:
        self.name = name
        self.cls = cls
        self.span = span
        self.rest = rest
        self.attributes: dict[str, Value] = {}
        self.spans: dict[str, Span] = {}
        self.built = False
        self.strict = False
        self.changed = False
        self.parent: Instance | None = None


class Option(NamedTuple):
    """An option of the launcher's own command line; `choices` are the values that it takes, where that is said."""

    destination: str
    flags: tuple[str, ...]
    default: Value | None
    convert: Value | None
    action: str
    many: bool
    span: Span
    choices: Value | None = None


class Parser(Value):
    """An `argparse.ArgumentParser`."""

    __slots__ = ("defaults", "open", "options")

    def __init__(self) -> None:
        self.options: dict[str, Option] = {}
        self.defaults: dict[str, Value] = {}
        self.open = False


class Application(Value):
    """A `typer.Typer` or `click.Group`: the commands registered with it."""

    __slots__ = ("commands",)

    def __init__(self) -> None:
        self.commands: list[Function] = []


class Bound(Value):
    """A method together with its receiver; `function` is None for methods of builtin types."""

    __slots__ = ("function", "name", "receiver")

    def __init__(self, receiver: Value, name: str, function: Function | None = None) -> None:
        self.receiver = receiver
        self.name = name
        self.function = function


class Partial(Value):
    """A callable with arguments given ahead."""

    __slots__ = ("arguments", "target")

    def __init__(self, target: Value, arguments: Arguments) -> None:
        self.target = target
        self.arguments = arguments


class Match(Value):
    """A match of a regular expression in a known text: where each group lies, by number and name."""

    __slots__ = ("names", "places", "text")

    def __init__(self, text: Text, places: list[tuple[int, int]], names: dict[str, int]) -> None:
        self.text = text
        self.places = places
        self.names = names


class Super(Value):
    """`super()` inside a method."""

    __slots__ = ("cls", "instance")

    def __init__(self, cls: Class, instance: Value) -> None:
        self.cls = cls
        self.instance = instance


class Arguments(NamedTuple):
    """The arguments of a call. `rest`: more positional ones, `keyword_rest`: more keywords may be there."""

    positional: tuple[Element, ...]
    keywords: dict[str, Element]
    rest: Missing | None
    keyword_rest: Missing | None
    span: Span

    def get(self, name: str, position: int | None = None) -> Value | None:
        """An argument by its keyword or position."""
        if name in self.keywords:
            return self.keywords[name].value
        if position is not None and position < len(self.positional):
            return self.positional[position].value
        return None


def weigh(value: Value, limit: int) -> int:
    """How many values a walk through a value meets, counting what repeats each time, up to a limit."""
    count, stack = 0, [value]
    while stack and count <= limit:
        current = stack.pop()
        count += 1
        if isinstance(current, Sequence):
            stack.extend(element.value for element in current.elements[: limit + 1])
        elif isinstance(current, Mapping):
            stack.extend(item for _, item in current.entries.values())
    return count


HEAVIEST = 20_000
"""Values in a container that is compared, printed or used as a key."""


def describe(value: Value) -> str | None:
    """What `str()` gives for a scalar, or None where that is not modelled."""
    if isinstance(value, Scalar) and isinstance(value.value, (bool, int, float, type(None))):
        try:
            return str(value.value)
        except ValueError:
            return None
    return None


def assumptions_of(*values: Value) -> tuple[Assumption, ...]:
    found: dict[Assumption, None] = {}
    for value in values:
        if isinstance(value, (Scalar, Missing)):
            found.update(dict.fromkeys(value.origin.assumptions))
        elif isinstance(value, String):
            found.update(dict.fromkeys(value.text.assumptions))
    return tuple(found)


def text_of(value: Value, fallback: Span) -> Text | None:
    """What `str()` gives, as text; None where it is not modelled."""
    if isinstance(value, String):
        return value.text
    if isinstance(value, Missing):
        return missing_text(value)
    shown = describe(value)
    if shown is None or not isinstance(value, Scalar):
        return None
    span, steps, assumptions = value.origin
    if value.value is None and assumptions:
        return Text.missing(not_given(assumptions[0]), span)
    return Text([Piece(shown, span, None, steps, assumptions)])


def not_given(assumption: Assumption) -> Unknown:
    """An option whose default is None and whose value is written out all the same: the caller has to give it."""
    if assumption.name.startswith("-"):
        return Unknown("positional", assumption.name)
    return Unknown("environment", f"${assumption.name}", assumption.name)


def missing_text(value: Missing) -> Text:
    span, steps, assumptions = value.origin
    return Text([Piece(value.unknown.text, span, value.unknown, steps, assumptions)])


def key_of(value: Value) -> Hashable | None:
    """The key under which a value is found in a dictionary or set; None where it is not known."""
    if isinstance(value, String):
        known = value.text.value
        return None if known is None else ("path", known) if value.path else known
    if isinstance(value, Scalar):
        return (
            ("none",) if value.value is None else value.value if isinstance(value.value, Hashable) else None
        )
    if isinstance(value, Sequence) and value.kind == "tuple" and value.closed:
        if weigh(value, HEAVIEST) > HEAVIEST:
            return None
        keys = tuple(key_of(element.value) for element in value.elements)
        return None if any(key is None for key in keys) else ("tuple", *keys)
    if isinstance(value, Instance):
        return value if value.cls is not None else None
    if isinstance(value, (Function, Class, Module)):
        return value
    if isinstance(value, External):
        return ("external", value.name)
    return None


def assume(value: Value, assumption: Assumption) -> Value:
    """The value, holding under one more assumption."""
    if isinstance(value, Scalar):
        origin = value.origin
        return Scalar(value.value, origin._replace(assumptions=(*origin.assumptions, assumption)))
    if isinstance(value, String):
        pieces = (p._replace(assumptions=(*p.assumptions, assumption)) for p in value.text.pieces)
        return String(Text(pieces), value.path)
    return value
