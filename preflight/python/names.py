"""Names that stand for what is imported and defined.

In: imports and definitions.  Out: nothing; the frame has the names.  At the level of a module a name stands for a
promise until it is used: a module that is imported for one function of it costs no more than that function.
"""

from __future__ import annotations

import re
from functools import partial

import libcst as cst

from preflight.python import definitions, modules
from preflight.python.objects import Deferred, Value
from preflight.python.scope import Frame


def dotted(node: cst.CSTNode | None) -> str:
    if isinstance(node, cst.Attribute):
        return f"{dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def import_modules(node: cst.Import, frame: Frame) -> None:
    """`import a.b, c as d`."""
    for alias in node.names:
        if isinstance(alias.asname, cst.AsName) and isinstance(alias.asname.name, cst.Name):
            target, name = alias.asname.name.value, dotted(alias.name)
        else:
            target = name = dotted(alias.name).partition(".")[0]
        frame.assign(target, Deferred(partial(_imported, name, 0, None, alias, frame)))


def _imported(name: str, level: int, attribute: str | None, alias: cst.ImportAlias, frame: Frame) -> Value:
    return modules.bind(name, level, attribute, frame.tree.span(alias), frame)


def import_names(node: cst.ImportFrom, frame: Frame) -> None:
    """`from a import b, c as d`."""
    name, level = dotted(node.module), len(node.relative)
    if isinstance(node.names, cst.ImportStar):
        modules.star(name, level, frame.tree.span(node), frame)
        return
    for alias in node.names:
        value = Deferred(partial(_imported, name, level, dotted(alias.name), alias, frame))
        target = alias.asname.name if alias.asname is not None else alias.name
        if isinstance(target, cst.Name):
            frame.assign(target.value, value)


def define_function(node: cst.FunctionDef, frame: Frame) -> None:
    """A `def` statement."""
    if frame.kind in ("module", "class") and _is_quiet(node, frame):
        frame.assign(node.name.value, Deferred(partial(definitions.define_function, node, frame)))
    else:
        frame.assign(node.name.value, definitions.define_function(node, frame))


_QUIET = re.compile(
    r"(?:pytest|unittest|mock|functools|contextlib|torch)\.|(?:patch|contextmanager|cache|lru_cache)\b"
)
"""Decorators that keep no list of what they decorate."""
_CHANGING = re.compile(r"\.(?:setter|getter|deleter)$")


def _is_quiet(node: cst.FunctionDef, frame: Frame) -> bool:
    """Whether defining a function does nothing but that: no decorator notes it, no default is built.

    Methods are noted nowhere but in their class, whatever decorates them.
    """
    key = ("quiet", id(node))
    known = frame.tree.read_off.get(key)
    if known is None:
        parameters = (*node.params.posonly_params, *node.params.params, *node.params.kwonly_params)
        built = any(type(parameter.default) is cst.Call for parameter in parameters)
        shown = [frame.tree.shown(decorator.decorator) for decorator in node.decorators]
        if frame.kind == "class":
            quiet = not any(_CHANGING.search(each) for each in shown)
        else:
            quiet = all(_QUIET.match(each) for each in shown)
        known = frame.tree.read_off[key] = quiet and not built
    return known is True


def define_class(node: cst.ClassDef, frame: Frame) -> None:
    """A `class` statement; a class of the script itself may build something in its body."""
    own = frame.tree.source.path == frame.path.script_path
    records = all("dataclass" in frame.tree.shown(decorator) for decorator in node.decorators)
    if frame.kind == "module" and not own and records and not node.keywords:
        frame.assign(node.name.value, Deferred(partial(_define_aside, node, frame)))
    else:
        frame.assign(node.name.value, definitions.define_class(node, frame))


def _define_aside(node: cst.ClassDef, frame: Frame) -> Value:
    with modules.aside(frame.path):
        return definitions.define_class(node, frame)
