"""Python modules of a checkout or of a program, found and parsed but never imported.

In: `Files`, which says what may be read, and the folders where imports start.  Out: `Module`, a syntax tree
with a map from top-level names to what binds them.  Nothing is executed here or in the next stage.
"""

from __future__ import annotations

import ast
import os
import warnings

from preflight.record import NamedTuple
from preflight.source import Files, Refusal

LARGEST = 2 * 1024 * 1024
"""Larger files are no code that someone wrote."""

MAXIMUM_KEPT = 400
"""Modules that are kept for the programs of other scripts."""


class Imported(NamedTuple):
    """A name that an import binds: the module and, with `from`, the name in it."""

    module: str
    name: str | None


Binding = ast.AST | Imported


class Module:
    """A parsed file. `package` is its dotted package, for relative imports."""

    __slots__ = ("_telling", "names", "package", "path", "stars", "tree")

    def __init__(self, path: str, package: str, tree: ast.Module) -> None:
        self.path = path
        self.package = package
        self.tree = tree
        self.names: dict[str, Binding] = {}
        self.stars: list[str] = []
        self._telling: list[ast.AST] | None = None
        self._bind(tree.body)

    @property
    def telling(self) -> list[ast.AST]:
        """Every call, import and attribute of the module, found once: programs that import it all ask."""
        if self._telling is None:
            kinds = (ast.Call, ast.Import, ast.ImportFrom, ast.Attribute)
            self._telling = [node for node in ast.walk(self.tree) if isinstance(node, kinds)]
        return self._telling

    def _bind(self, body: list[ast.stmt]) -> None:
        """The first binding of a name counts: of `try: import x` / `except: x = None` that is the import."""
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                self.names.setdefault(statement.name, statement)
            elif isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        self.names.setdefault(target.id, statement.value)
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                if statement.value is not None:
                    self.names.setdefault(statement.target.id, statement.value)
            elif isinstance(statement, (ast.Import, ast.ImportFrom)):
                for name, binding in self.imports(statement):
                    if name == "*":
                        self.stars.append(binding.module)
                    else:
                        self.names.setdefault(name, binding)
            elif isinstance(statement, (ast.If, ast.With, ast.Try)):
                self._bind(statement.body)
                self._bind(getattr(statement, "orelse", []))
                for handler in getattr(statement, "handlers", []):
                    self._bind(handler.body)

    def imports(self, statement: ast.Import | ast.ImportFrom) -> list[tuple[str, Imported]]:
        """The names that an import statement binds."""
        if isinstance(statement, ast.Import):
            return [
                (alias.asname or alias.name.split(".")[0], Imported(alias.name, None))
                for alias in statement.names
            ]
        origin = statement.module or ""
        if statement.level:
            parts = self.package.split(".") if self.package else []
            kept = parts[: len(parts) - (statement.level - 1)]
            origin = ".".join([*kept, origin] if origin else kept)
        return [(alias.asname or alias.name, Imported(origin, alias.name)) for alias in statement.names]


class Modules:
    """The modules below some folders, parsed on demand."""

    def __init__(self, files: Files, folders: tuple[str, ...], *, limit: int = 400) -> None:
        self.files = files
        self.folders = folders
        self._limit = limit
        self._modules: dict[str, Module | None] = {}

    def find(self, dotted: str) -> Module | None:
        """A module by its dotted name, or None where it is not below the folders."""
        path = self.locate(dotted)
        return self.parse(path, dotted) if path else None

    def locate(self, dotted: str) -> str | None:
        """The file of a dotted name."""
        if not dotted or dotted.startswith("."):
            return None
        relative = dotted.replace(".", "/")
        for folder in self.folders:
            for path in (f"{folder}/{relative}.py", f"{folder}/{relative}/__init__.py"):
                if self.files.kind(path) == "file":
                    return path
        return None

    def holds(self, path: str, text: bytes) -> bool:
        """Whether a file's bytes hold a text; cheaper than parsing it."""
        source = self.files.read(path)
        return not isinstance(source, Refusal) and text in source.data

    def parse(self, path: str, dotted: str) -> Module | None:
        """Parse a file; None where it cannot be read or is not Python."""
        real = os.path.realpath(path)
        if real not in self._modules:
            self._modules[real] = self._parse(path, dotted) if len(self._modules) < self._limit else None
        return self._modules[real]

    def _parse(self, path: str, dotted: str) -> Module | None:
        source = self.files.read(path)
        if isinstance(source, Refusal) or len(source.data) > LARGEST:
            return None
        package = dotted if path.endswith("__init__.py") else dotted.rpartition(".")[0]
        key = (path, package, source.data)
        if key not in _modules:
            if len(_modules) >= MAXIMUM_KEPT:
                _modules.clear()
            _modules[key] = parse_module(*key)
        return _modules[key]


_modules: dict[tuple[str, str, bytes], Module | None] = {}
"""What was parsed: the scripts of a folder share their programs, and those their imports."""


def parse_module(path: str, package: str, data: bytes) -> Module | None:
    """A module from its text; None for what is not Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Module(path, package, ast.parse(data))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
