"""Names that stand for what is imported and defined.

In: imports and definitions.  Out: nothing; the frame has the names.  At the level of a module a name stands for a
promise until it is used: a module that is imported for one function of it costs no more than that function.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from functools import partial

import libcst as cst

from preflight.python import definitions, modules
from preflight.python.objects import Deferred, External, Value
from preflight.python.scope import Frame
from preflight.python.stretches import Stretch, keeps_no_list
from preflight.source import Span


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


def promise(stretch: Stretch, frame: Frame) -> bool:
    """Whether a stretch may wait until its name is used; then a promise stands for it."""
    own = is_own(frame)
    if stretch.kind == "function" and stretch.waits:
        frame.assign(stretch.name, Deferred(partial(_define, stretch, frame)))
        return True
    if stretch.kind == "class" and (stretch.idle if own else stretch.waits):
        frame.assign(stretch.name, Deferred(partial(_define, stretch, frame)))
        return True
    return False


def is_own(frame: Frame) -> bool:
    """Whether a frame is of the script itself."""
    return frame.tree.source.path == frame.path.script_path


def open_stretch(stretch: Stretch, frame: Frame) -> list[cst.CSTNode]:
    """The statements of a stretch; none where the path does not afford to parse them."""
    path = frame.path
    if not is_own(frame) and not path.library.opens(stretch, frame.tree, path.fuel):
        return []
    return frame.tree.statements(stretch)


def open_body(node: cst.FunctionDef, frame: Frame) -> cst.BaseSuite | None:
    """The inside of a function; None where the path does not afford to parse it."""
    inside, path = frame.tree.inside(node), frame.path
    if inside is not None and not is_own(frame) and not path.library.opens(inside, frame.tree, path.fuel):
        return None
    return frame.tree.body(node)


def _define(stretch: Stretch, frame: Frame) -> Value:
    for node in open_stretch(stretch, frame):
        if isinstance(node, cst.FunctionDef):
            return definitions.define_function(node, frame)
        if isinstance(node, cst.ClassDef):
            with nullcontext() if is_own(frame) else modules.aside(frame.path):
                return definitions.define_class(node, frame)
    return External(stretch.name, Span(frame.tree.source, stretch.start, stretch.start))


def define_function(node: cst.FunctionDef, frame: Frame) -> None:
    """A `def` statement."""
    if frame.kind in ("module", "class") and _is_quiet(node, frame):
        frame.assign(node.name.value, Deferred(partial(definitions.define_function, node, frame)))
    else:
        frame.assign(node.name.value, definitions.define_function(node, frame))


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
            quiet = all(keeps_no_list(each) for each in shown)
        known = frame.tree.read_off[key] = quiet and not built
    return known is True


def define_class(node: cst.ClassDef, frame: Frame) -> None:
    """A `class` statement that does not stand by itself in its module, or may build something in its body."""
    frame.assign(node.name.value, definitions.define_class(node, frame))
