"""Which functions of a file may start a program or build a configuration, read off its syntax.

In: a LibCST module.  Out: the functions with what they call, and those of them that nobody in the file calls:
the entries to follow where the file itself runs nothing.  No places are needed for it, so that a file without
a launch costs little more than its parse.
"""

from __future__ import annotations

import re

import libcst as cst

from preflight.record import NamedTuple

_RUNNING = re.compile(
    r"(?:^|\.)(?:system|popen|Popen|check_call|check_output|getoutput|getstatusoutput|elastic_launch|submit_job"
    r"|(?:exec|spawn)[lv]p?e?|posix_spawnp?|create_subprocess_\w+)$"
    r"|(?:exec(?:ute)?|launch|submit|run)_(?:command|cmd|train(?:ing)?|job|shell)(?:_\w{1,4})?$"
    r"|(?:^|subprocess\.|sp\.)(?:run|call)$|run\.main$|executor\.submit$"
)
_BUILDING = re.compile(r"(?:TransformerConfig|ModelParallelConfig|ModelProvider\w*|ConfigContainer)$")
SIZES = frozenset(
    [
        "tensor_model_parallel_size",
        "pipeline_model_parallel_size",
        "context_parallel_size",
        "expert_model_parallel_size",
        "expert_tensor_parallel_size",
        "virtual_pipeline_model_parallel_size",
        "global_batch_size",
        "micro_batch_size",
        "sequence_parallel",
    ]
)
"""Settings whose assignment makes an object a configuration of Megatron's."""

_ENTRY = frozenset({"entrypoint"})
_FLAGS = re.compile(r"--(?:tensor|pipeline|context|num|micro|global|hidden)[-_]")


class Body:
    """A stretch of the file: whom it calls, and whether it may start or build something itself."""

    __slots__ = ("calls", "relevant")

    def __init__(self) -> None:
        self.calls: set[str] = set()
        self.relevant = False


class Definition(Body):
    """A function of the file, with the class that it stands in."""

    __slots__ = ("node", "owner")

    def __init__(self, node: cst.FunctionDef, owner: cst.ClassDef | None) -> None:
        super().__init__()
        self.node = node
        self.owner = owner


class Outline(NamedTuple):
    """What a file defines; `relevant` says that anything in it may start or build something."""

    definitions: tuple[Definition, ...]
    relevant: bool

    def entries(self, entered: set[object]) -> list[Definition]:
        """Relevant functions that were not entered and that no other relevant function calls."""
        wanted = _reaching(self.definitions)
        called = {name for d in wanted for name in d.calls if name != d.node.name.value}
        roots = [d for d in wanted if d.node not in entered and d.node.name.value not in called]
        followed = [d for d in roots if not (d.node.name.value.startswith("__") and d.owner is not None)]
        return [d for d in followed if not _never_runs(d)]


def _never_runs(definition: Definition) -> bool:
    """Whether a test is marked as one that is skipped, or that is known to fail."""
    marks = [
        *definition.node.decorators,
        *(definition.owner.decorators if definition.owner is not None else ()),
    ]
    named = (
        mark.decorator.func if isinstance(mark.decorator, cst.Call) else mark.decorator for mark in marks
    )
    return any(_dotted(name) in _LEFT_OUT for name in named)


_LEFT_OUT = frozenset({"mark.skip", "mark.xfail", "unittest.skip", "unittest.expectedFailure"})


def _reaching(definitions: tuple[Definition, ...]) -> list[Definition]:
    names = {d.node.name.value for d in definitions if d.relevant}
    wanted = {id(d) for d in definitions if d.relevant}
    for _ in range(20):
        before = len(wanted)
        for d in definitions:
            if id(d) not in wanted and d.calls & names:
                wanted.add(id(d))
                names.add(d.node.name.value)
        if len(wanted) == before:
            break
    return [d for d in definitions if id(d) in wanted]


def outline(module: cst.Module) -> Outline:
    """Walk a module once."""
    definitions: list[Definition] = []
    loose = Body()
    renamed: set[str] = set()
    stack: list[tuple[cst.CSTNode, cst.ClassDef | None]] = [(module, None)]
    while stack:
        node, owner = stack.pop()
        kind = type(node)
        if kind is cst.FunctionDef:
            assert isinstance(node, cst.FunctionDef)
            definitions.append(Definition(node, owner))
            _read_below(node, definitions[-1], renamed)
            continue
        if kind is cst.ClassDef:
            assert isinstance(node, cst.ClassDef)
            owner = node
        _read(node, kind, loose, renamed)
        stack.extend([(child, owner) for child in reversed(children_of(node))])
    for each in (loose, *definitions):
        each.relevant = each.relevant or not renamed.isdisjoint(each.calls)
    return Outline(tuple(definitions), loose.relevant or any(d.relevant for d in definitions))


def _read_below(node: cst.CSTNode, inside: Body, renamed: set[str]) -> None:
    """A function with all that stands in it, in any order."""
    stack = children_of(node)
    while stack:
        current = stack.pop()
        _read(current, type(current), inside, renamed)
        stack += children_of(current)


def _read(node: cst.CSTNode, kind: type[cst.CSTNode], inside: Body, renamed: set[str]) -> None:
    if kind in _TELLING:
        inside.relevant = _matters(node, inside) or inside.relevant
    elif kind is cst.ImportFrom:
        assert isinstance(node, cst.ImportFrom)
        renamed.update(_renamed(node))


def _renamed(node: cst.ImportFrom) -> set[str]:
    """Names under which functions that start programs are imported."""
    if isinstance(node.names, cst.ImportStar) or node.module is None:
        return set()
    if _last(node.module) not in ("subprocess", "os", "asyncio", "run"):
        return set()
    names = (alias.asname.name for alias in node.names if alias.asname is not None)
    return {name.value for name in names if isinstance(name, cst.Name)}


_TELLING = frozenset({cst.Call, cst.AssignTarget, cst.SimpleString, cst.FormattedStringText})
"""Kinds of nodes that can matter; asking for a node's kind costs less than asking what it is an instance of."""


def _matters(node: cst.CSTNode, inside: Body) -> bool:
    if isinstance(node, cst.Call):
        name = _last(node.func)
        inside.calls.add(name)
        if _RUNNING.search(_dotted(node.func)) or _BUILDING.search(name):
            return True
        wanted = SIZES if name[:1].isupper() else _ENTRY
        return any(a.keyword is not None and a.keyword.value in wanted for a in node.args)
    if isinstance(node, cst.AssignTarget):
        target = node.target
        return isinstance(target, cst.Attribute) and target.attr.value in SIZES and _configures(target)
    if isinstance(node, cst.SimpleString):
        return "--" in node.value and _FLAGS.search(node.value) is not None
    if isinstance(node, cst.FormattedStringText):
        return "--" in node.value and _FLAGS.search(node.value) is not None
    return False


def _configures(target: cst.Attribute) -> bool:
    """Whether an assignment sets a field of a configuration: not of the object itself or of parsed arguments."""
    return _last(target.value) not in ("self", "args", "rollout", "critic", "actor", "ref", "cls")


def _dotted(node: cst.BaseExpression) -> str:
    """The last two names of what is called."""
    if isinstance(node, cst.Attribute):
        return f"{_last(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def _last(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


_PLAIN = frozenset({str, bool, type(None), cst.MaybeSentinel})
_FIELDS: dict[type[cst.CSTNode], tuple[str, ...]] = {}
_LAYOUT = re.compile(
    r"whitespace|leading_lines|lines_|lpar|rpar|header|footer|comma|semicolon|indent|newline|trailing|encoding"
    r"|operator$|dot$|equal$"
)


def children_of(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes below a node that have a meaning."""
    kind = type(node)
    names = _FIELDS.get(kind)
    if names is None:
        every = getattr(kind, "__dataclass_fields__", {})
        names = _FIELDS[kind] = tuple(name for name in every if _LAYOUT.match(name) is None)
    found: list[cst.CSTNode] = []
    for name in names:
        value = getattr(node, name)
        kind = type(value)
        if kind is list or kind is tuple:
            found += value
        elif kind not in _PLAIN:
            found.append(value)
    return found
