"""Which functions of a file may start a program or build a configuration, read off its syntax.

In: the stretches of a file.  Out: the functions with what they call, and those of them that nobody in the file calls:
the entries to follow where the file itself runs nothing.  The interpreter's own syntax tree is enough for it, so that
a file without anything of the kind is never parsed by LibCST.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

import libcst as cst

from preflight.python.stretches import Stretch
from preflight.python.syntax import Tree
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
PARTS = frozenset({"CheckpointConfig", "SchedulerConfig", "TrainingConfig"})
"""Parts of Megatron-Bridge's configuration that others have under the same names."""
_FIELDS_OF_PARTS = frozenset({"async_save", "seq_length", "sequence_length", "train_samples"})
_PARTS_OF_A_WHOLE = frozenset({"checkpoint", "dataset", "model", "train"})
"""Fields without which such a configuration may be wrong, and where they lie."""
GROUPING = "initialize_model_parallel"
"""Megatron's function that makes the process groups."""
_VIRTUAL = frozenset({"virtual_pipeline_model_parallel_size"})
_ENTRY = frozenset({"entrypoint"})
_FLAGS = re.compile(r"--(?:tensor|pipeline|context|num|micro|global|hidden)[-_]")


class Body:
    """A stretch of the file: whom it calls, and whether it may start or build something itself."""

    __slots__ = ("calls", "relevant")

    def __init__(self) -> None:
        self.calls: set[str] = set()
        self.relevant = False


class Definition(Body):
    """A function of the file: the class that it stands in, and which one of its stretch it is."""

    __slots__ = ("name", "never_runs", "number", "owner", "stretch")

    def __init__(self, name: str, owner: str | None, stretch: Stretch, number: int) -> None:
        super().__init__()
        self.name = name
        self.owner = owner
        self.stretch = stretch
        self.number = number
        self.never_runs = False

    def node(self, tree: Tree) -> cst.FunctionDef | None:
        """The function as LibCST reads it."""
        found = functions_of(self.stretch, tree)
        return found[self.number] if self.number < len(found) else None

    def is_among(self, entered: set[object], tree: Tree) -> bool:
        """Whether the function was entered: one that was not parsed cannot have been."""
        return self.stretch.body is not None and self.node(tree) in entered


class Outline(NamedTuple):
    """What a file defines; `relevant` says that anything in it may start or build something."""

    definitions: tuple[Definition, ...]
    relevant: bool

    def entries(self, entered: Callable[[Definition], bool]) -> list[Definition]:
        """Relevant functions that were not entered and that no other relevant function calls."""
        wanted = _reaching(self.definitions)
        called = {name for d in wanted for name in d.calls if name != d.name}
        roots = [d for d in wanted if d.name not in called and not entered(d)]
        followed = [d for d in roots if not (d.name.startswith("__") and d.owner is not None)]
        return [d for d in followed if not d.never_runs]


_LEFT_OUT = frozenset({"mark.skip", "mark.xfail", "unittest.skip", "unittest.expectedFailure"})
"""Marks of tests that are skipped, or known to fail."""


def _is_left_out(node: ast.FunctionDef | ast.AsyncFunctionDef, owner: ast.ClassDef | None) -> bool:
    marks = (*node.decorator_list, *(owner.decorator_list if owner is not None else ()))
    named = (mark.func if isinstance(mark, ast.Call) else mark for mark in marks)
    return any(_dotted(name) in _LEFT_OUT for name in named)


def _reaching(definitions: tuple[Definition, ...]) -> list[Definition]:
    names = {d.name for d in definitions if d.relevant}
    wanted = {id(d) for d in definitions if d.relevant}
    for _ in range(20):
        before = len(wanted)
        for d in definitions:
            if id(d) not in wanted and d.calls & names:
                wanted.add(id(d))
                names.add(d.name)
        if len(wanted) == before:
            break
    return [d for d in definitions if id(d) in wanted]


def outline(tree: Tree) -> Outline:
    """Walk a file once."""
    definitions: list[Definition] = []
    loose = Body()
    renamed: set[str] = set()
    for stretch in tree.stretches:
        if stretch.nodes:
            definitions += _walk(stretch, loose, renamed)
        else:
            definitions += _all_of(stretch, tree)
    for each in (loose, *definitions):
        each.relevant = each.relevant or not renamed.isdisjoint(each.calls)
    return Outline(tuple(definitions), loose.relevant or any(d.relevant for d in definitions))


def _walk(stretch: Stretch, loose: Body, renamed: set[str]) -> list[Definition]:
    definitions: list[Definition] = []
    stack: list[tuple[ast.AST, ast.ClassDef | None]] = [(node, None) for node in reversed(stretch.nodes)]
    while stack:
        node, owner = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = owner.name if owner is not None else None
            definition = Definition(node.name, name, stretch, len(definitions))
            definition.never_runs = _is_left_out(node, owner)
            definitions.append(definition)
            _read_below(node, definition, renamed)
            continue
        if isinstance(node, ast.ClassDef):
            owner = node
        if _is_remark(node):
            continue
        _read(node, loose, renamed)
        stack.extend([(child, owner) for child in reversed(list(ast.iter_child_nodes(node)))])
    return definitions


def _all_of(stretch: Stretch, tree: Tree) -> list[Definition]:
    """The functions of a stretch that only LibCST reads: any of them may matter."""
    found = []
    for number, node in enumerate(functions_of(stretch, tree)):
        found.append(Definition(node.name.value, None, stretch, number))
        found[-1].relevant = True
    return found


def functions_of(stretch: Stretch, tree: Tree) -> list[cst.FunctionDef]:
    """The functions of a stretch in order, without those inside other functions."""
    known = tree.read_off.get(stretch)
    if isinstance(known, list):
        return known
    found: list[cst.FunctionDef] = []
    tree.read_off[stretch] = found
    stack: list[cst.CSTNode] = list(reversed(tree.statements(stretch)))
    while stack:
        node = stack.pop()
        if isinstance(node, cst.FunctionDef):
            found.append(node)
        elif type(node) in COMPOUND:
            stack.extend(reversed(children_of(node)))
    return found


COMPOUND = frozenset(
    {cst.If, cst.Else, cst.For, cst.While, cst.With, cst.Match, cst.MatchCase, cst.ClassDef}
    | {cst.Try, cst.TryStar, cst.ExceptHandler, cst.ExceptStarHandler, cst.Finally}
    | {cst.IndentedBlock, cst.SimpleStatementSuite}
)
"""Kinds of nodes that hold statements, but for functions."""


def _read_below(node: ast.AST, inside: Body, renamed: set[str]) -> None:
    """A function with all that stands in it, in any order."""
    stack = list(ast.iter_child_nodes(node))
    while stack:
        current = stack.pop()
        if type(current) in _TELLING:
            _read(current, inside, renamed)
        elif _is_remark(current):
            continue
        stack += ast.iter_child_nodes(current)


def _is_remark(node: ast.AST) -> bool:
    """Whether a statement is nothing but a text."""
    return type(node) is ast.Expr and type(node.value) is ast.Constant


_TELLING = frozenset({ast.Call, ast.Assign, ast.Constant, ast.ImportFrom})
"""Kinds of nodes that can matter; asking for a node's kind costs less than asking what it is an instance of."""


def _read(node: ast.AST, inside: Body, renamed: set[str]) -> None:
    if isinstance(node, ast.Call):
        name = _last(node.func)
        inside.calls.add(name)
        inside.relevant = inside.relevant or _starts_or_builds(node, name)
    elif isinstance(node, ast.Assign):
        inside.relevant = inside.relevant or any(map(_sets_size, node.targets))
    elif isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, str) and "--" in value and _FLAGS.search(value) is not None:
            inside.relevant = True
    elif isinstance(node, ast.ImportFrom):
        renamed.update(_renamed(node))


def _starts_or_builds(node: ast.Call, name: str) -> bool:
    if _RUNNING.search(_dotted(node.func)) or _BUILDING.search(name) or name in PARTS:
        return True
    wanted = SIZES if name[:1].isupper() else _VIRTUAL if name == GROUPING else _ENTRY
    return any(keyword.arg in wanted for keyword in node.keywords)


def _renamed(node: ast.ImportFrom) -> set[str]:
    """Names under which functions that start programs are imported."""
    if node.module is None or node.module.rpartition(".")[2] not in ("subprocess", "os", "asyncio", "run"):
        return set()
    return {alias.asname for alias in node.names if alias.asname is not None}


def _sets_size(target: ast.expr) -> bool:
    """Whether an assignment sets a field of a configuration: not of the object itself or of parsed arguments."""
    if not isinstance(target, ast.Attribute):
        return False
    if target.attr in _FIELDS_OF_PARTS:
        return _last(target.value) in _PARTS_OF_A_WHOLE
    others = ("self", "args", "rollout", "critic", "actor", "ref", "cls")
    return target.attr in SIZES and _last(target.value) not in others


def _dotted(node: ast.expr) -> str:
    """The last two names of what is called."""
    if isinstance(node, ast.Attribute):
        return f"{_last(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


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
