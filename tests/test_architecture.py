"""The house: every module imports only from stages to its left."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import preflight

PACKAGE = Path(preflight.__file__).parent
STAGES = (
    ("record", "patterns", "constants", "later", "budget"),
    ("source",),
    ("values",),
    ("execution",),
    ("shell",),
    ("python",),
    ("launch",),
    ("targets",),
    ("configuration",),
    ("node",),
    ("facts",),
    ("diagnostics",),
    ("engine",),
    (
        "outcome",
        "fingerprint",
        "settings",
        "schema",
        "variants",
        "suppress",
        "comments",
        "baseline",
        "fixes",
        "examples",
    ),
    ("chain",),
    ("ruling",),
    ("trial", "plan"),
    ("report",),
    ("cli",),
    ("__init__",),
    ("__main__",),
)
ORDER = {name: number for number, names in enumerate(STAGES) for name in names}
FORBIDDEN_NAMES = {"utils", "helpers", "common", "base", "misc"}
LONGEST_MODULE = 500


def list_modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def stage_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def list_imports(path: Path) -> set[str]:
    imported: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "preflight":
            if node.module == "preflight":
                imported |= {f"preflight.{alias.name}" for alias in node.names if alias.name in ORDER}
            else:
                imported.add(node.module)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "later":
            imported.add(ast.literal_eval(node.args[0]))
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names if alias.name.split(".")[0] == "preflight"}
    return imported


@pytest.mark.parametrize("path", list_modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_to_its_left(path: Path) -> None:
    relative = path.relative_to(PACKAGE)
    own = relative.parts[0].removesuffix(".py")
    assert own in ORDER, f"{own} has no place in the chain"
    wrong = sorted(m for m in list_imports(path) if ORDER.get(stage_of(m), 99) > ORDER[own])
    assert not wrong, f"{relative} imports from its right: {wrong}"


@pytest.mark.parametrize("path", list_modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_has_a_size_a_name_and_a_first_paragraph(path: Path) -> None:
    text = path.read_text("utf-8")
    assert path.stem not in FORBIDDEN_NAMES
    assert len(text.splitlines()) <= LONGEST_MODULE
    assert ast.get_docstring(ast.parse(text)), "a module says what comes in and what goes out"
