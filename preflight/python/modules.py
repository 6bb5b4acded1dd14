"""Modules of the project: found beside the script or below the root, evaluated when something of them is used.

In: dotted names.  Out: values of their namespaces.  Only files that the context's `Files` gives are read; a
module of the standard library or of an installed package stays a name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from preflight.python import statements
from preflight.python.insides import Inside
from preflight.python.objects import (
    Deferred,
    Element,
    External,
    Imported,
    Instance,
    Missing,
    Module,
    Origin,
    Value,
    settled,
)
from preflight.python.scope import MAXIMUM_CALLS, EndedError, Frame, Fuel, Path, RaisedError
from preflight.python.signs import is_likely
from preflight.python.stretches import Stretch
from preflight.python.syntax import Tree, parse
from preflight.source import Files, Refusal, Source, Span
from preflight.values import Unknown

MAXIMUM_MODULES = 40
"""How many modules are followed from one script."""

MAXIMUM_SIZE = 400_000
"""Largest module that is followed, in bytes."""

STEP = 7
"""Bytes that LibCST parses in the time of a step."""

WIDE_STEP = 15
"""Bytes that count as a step where a file is known to launch something."""

PARSING = 1.2
"""What it costs to parse a stretch and to find its places, of what LibCST's parse costs."""

GLANCE = 0.2
"""What it costs to find the stretches of a module, of what LibCST's parse of it would cost."""

RECENT = 2_000_000
"""How many bytes of modules are kept for the next file."""

NOT_FOLLOWED = (
    "megatron.core",
    "megatron.training",
    "megatron.initialize",
    "megatron.legacy",
    "megatron.bridge.training",
    "megatron.bridge.models",
)
"""Libraries whose classes are read by name: their settings are what matters, not their code."""


class Library:
    """The modules that were read, shared by all paths through a script.

    `closed`: none is read.  Which ones would have been is noted in `blocked`, by the module's name and what is taken
    from it; `modules` are those among them, `completed` names of what something was set of, and `strangers` those that
    were found to be no configurations.  `allowance`: how many bytes of modules are parsed that start and build nothing;
    `refused` says that there were more.
    """

    def __init__(self, closed: bool = False, allowance: int | None = None) -> None:
        self.closed = closed
        self.allowance = allowance
        self.step = WIDE_STEP if allowance is None else STEP
        self.refused = False
        self.blocked: dict[tuple[str, str], str] = {}
        self.modules: dict[str, str] = {}
        self.completed: set[str] = set()
        self.strangers: dict[tuple[str, str], bool] = {}
        self.trees: dict[str, Tree | Unknown] = {}
        self.places: dict[tuple[str, str], str | None] = {}
        self._opened: set[Stretch | Inside] = set()

    def block(self, name: str, attribute: str, place: str) -> None:
        """Note what an import would have been read for; a module that is taken from its package stands for itself."""
        self.blocked[name, attribute] = place
        inner = (
            [place[:-1]] if place.endswith("/") else [os.path.dirname(place)] * place.endswith("/__init__.py")
        )
        for folder in inner if attribute else ():
            self.modules[f"{name}.{attribute}"] = os.path.join(folder, f"{attribute}.py")
        if not attribute:
            self.modules[name] = place

    def use(self, name: str, attribute: str) -> None:
        """Note what is used of a module that was left closed."""
        if name in self.modules:
            self.block(name, attribute, self.modules[name])

    def affords(self, data: bytes, amount: int) -> bool:
        """Whether as much of a module may be parsed."""
        if self.allowance is None or is_likely(data):
            return True
        self.allowance -= amount
        self.refused = self.refused or self.allowance < 0
        return self.allowance >= 0

    def opens(self, part: Stretch | Inside, tree: Tree, fuel: Fuel) -> bool:
        """Whether a part of a module is parsed; paid for once."""
        if part in self._opened:
            return True
        cost = int(PARSING * part.size)
        if not self.affords(tree.source.data, cost):
            return False
        fuel.burn(cost // self.step)
        self._opened.add(part)
        return True


def locate(name: str, level: int, frame: Frame, library: Library) -> str | None:
    """The file of a module, as an absolute path; a folder ends with a slash."""
    files = frame.path.context.files
    here = os.path.dirname(os.path.join(files.directory, frame.tree.source.path))
    key = (here if level else "", f"{'.' * level}{name}")
    if key not in library.places:
        library.places[key] = find_module(name, level, here, frame.path.script_path, files)
    if library.places[key] is not None or not is_followed(name, level):
        return library.places[key]
    return _loaded(name, frame) if level == 0 else None


def is_followed(name: str, level: int) -> bool:
    """Whether a module is one of the project's own, as far as its name tells."""
    top = name.partition(".")[0]
    return level > 0 or not (top in sys.stdlib_module_names or any(_below(name, n) for n in NOT_FOLLOWED))


def find_module(name: str, level: int, here: str, script: str, files: Files) -> str | None:
    """The file or folder of a module that is imported by a file of the folder `here`."""
    if not is_followed(name, level):
        return None
    if level:
        bases = [os.path.normpath(os.path.join(here, *[".."] * (level - 1)))]
    else:
        folder = os.path.dirname(os.path.join(files.directory, script))
        bases = [folder, *(f for each in files.folders for f in (each, os.path.join(each, "src")))]
    for base in dict.fromkeys(bases):
        place = os.path.join(base, *name.split(".")) if name else base
        for candidate in (place + ".py", os.path.join(place, "__init__.py")):
            if files.kind(candidate) == "file":
                return candidate
        if files.kind(place) == "folder":
            return place + "/"
    return None


def _loaded(name: str, frame: Frame) -> str | None:
    """A module that was loaded by its path and is now asked for by its bare name."""
    if "." in name:
        return None
    return next((p for p in frame.path.modules if os.path.basename(p) == f"{name}.py"), None)


def _below(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def bind(name: str, level: int, attribute: str | None, span: Span, frame: Frame) -> Value:
    """What `import name` (without an attribute) or `from name import attribute` gives."""
    library = frame.path.library
    place = locate(name, level, frame, library)
    shown = "." * level + name
    if place is not None and library.closed:
        library.block(shown, attribute or "", place)
        place = None
    if place is None:
        return External(shown if attribute is None else f"{shown}.{attribute}", span)
    module = Module(shown, place, span)
    if attribute is None:
        return module
    return Imported(module, attribute)


def load(value: Value, frame: Frame) -> Value:
    """A value in place of the name of an import."""
    for _ in range(10):
        if isinstance(value, Deferred):
            value = settled(value)
        if not isinstance(value, Imported):
            return value
        found = member(value.module, value.name, frame)
        value = (
            found if found is not None else External(f"{value.module.name}.{value.name}", value.module.span)
        )
    return value


def member(module: Module, name: str, frame: Frame) -> Value | None:
    """An attribute of a module: a name of its namespace, or a module below it."""
    if frame.path.depth > MAXIMUM_CALLS:
        return None
    if not module.path.endswith("/"):
        space = namespace(module, frame)
        if space is None:
            return External(f"{module.name}.{name}", module.span)
        found = space.names.get(name)
        if isinstance(found, Deferred):
            found = settled(found)
        circular = isinstance(found, Imported) and found.module.path == module.path and found.name == name
        if found is not None and not circular:
            frame.path.depth += 1
            try:
                space.names[name] = load(found, space)
            finally:
                frame.path.depth -= 1
            return space.names[name]
        if not module.path.endswith("/__init__.py"):
            return None
    folder = module.path.rstrip("/") if module.path.endswith("/") else os.path.dirname(module.path)
    files = frame.path.context.files
    for candidate in (os.path.join(folder, name + ".py"), os.path.join(folder, name, "__init__.py")):
        if files.kind(candidate) == "file":
            return Module(f"{module.name}.{name}", candidate, module.span)
    if files.kind(os.path.join(folder, name)) == "folder":
        return Module(f"{module.name}.{name}", os.path.join(folder, name) + "/", module.span)
    return None


def namespace(module: Module, frame: Frame) -> Frame | None:
    """The names of a module, evaluated once on each path."""
    path = frame.path
    if module.path in path.modules:
        return path.modules[module.path]
    tree = _tree(module, path)
    if isinstance(tree, Unknown):
        return None
    space = Frame("module", tree, path, None)
    path.modules[module.path] = space
    with suppress(RaisedError, EndedError), aside(path):
        statements.run_module(tree, space)
    return space


@contextmanager
def aside(path: Path) -> Iterator[None]:
    """What a module does while it is imported starts nothing of the script's own."""
    path.depth += 1
    runs, built = len(path.runs), len(path.built)
    try:
        yield
    finally:
        path.depth -= 1
        del path.runs[runs:], path.built[built:]


def _tree(module: Module, path: Path) -> Tree | Unknown:
    library = path.library
    trees = library.trees
    if module.path not in trees:
        refused = Unknown("file", module.name)
        if len(trees) >= MAXIMUM_MODULES:
            return refused
        source = path.context.files.read(module.path)
        if isinstance(source, Refusal) or len(source.data) > MAXIMUM_SIZE:
            trees[module.path] = refused
            return refused
        glance = int(GLANCE * len(source.data))
        if not library.affords(source.data, glance):
            trees[module.path] = refused
        else:
            path.fuel.burn(glance // library.step)
            trees[module.path] = recent(source)
    return trees[module.path]


_recent: dict[tuple[str, bytes], Tree | Unknown] = {}


def recent(source: Source) -> Tree | Unknown:
    """A module, parsed as far as earlier looks and files have had use for it."""
    key = (source.path, source.data)
    tree = _recent.pop(key, None)
    if tree is None:
        tree = parse(source)
        kept = len(source.data) + sum(len(data) for _, data in _recent)
        while _recent and kept > RECENT:
            oldest = next(iter(_recent))
            kept -= len(oldest[1])
            del _recent[oldest]
    _recent[key] = tree
    return tree


def star(name: str, level: int, span: Span, frame: Frame) -> None:
    """`from name import *`."""
    value = bind(name, level, None, span, frame)
    if not isinstance(value, Module) or value.path.endswith("/"):
        return
    space = namespace(value, frame)
    if space is None:
        return
    for key, item in list(space.names.items()):
        if not key.startswith("_"):
            frame.assign(key, item)


def opaque(name: str, unknown: Unknown, span: Span) -> Instance:
    """An object of code that is not followed: attributes may be set on it; those that are not set are unknown."""
    return Instance(name, None, span, Missing(unknown, Origin(span)))


def element(value: Value, span: Span) -> Element:
    return Element(value, span)
