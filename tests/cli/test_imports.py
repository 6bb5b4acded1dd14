"""What each command may import: start-up is paid on every commit and on every node.

The lists are of top-level packages and, of our own, of stages. A new one is a visible decision in a review.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import GOOD

HEAVY = {
    "argparse", "ast", "asyncio", "attr", "ClusterShell", "concurrent", "contextlib", "ctypes", "dataclasses",
    "difflib", "email", "gettext", "hashlib", "http", "importlib.metadata", "importlib.resources", "inspect",
    "json", "libcst", "logging", "multiprocessing", "numpy", "pathlib", "pathspec", "pydoc", "pynvml", "random",
    "rich", "shutil", "socket", "ssl", "subprocess", "tempfile", "tomllib", "traceback", "typing", "unittest",
    "urllib", "xml", "yaml",
}  # fmt: skip
"""What no check of a bash script needs."""


def list_modules(folder: Path, *words: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    code = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "from preflight.cli.main import run\n"
        "status = run(sys.argv[1:])\n"
        "print('\\n'.join(sorted(set(sys.modules) - before)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path = {sys.path!r}\n{code}", *words],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {line for line in done.stderr.splitlines() if line and not line.startswith("preflight: ")}


def list_heavy(modules: set[str]) -> set[str]:
    return {m for m in modules if m in HEAVY or m.split(".")[0] in HEAVY}


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_the_front_door_imports_nothing(tmp_path: Path, word: str) -> None:
    modules = list_modules(tmp_path, word)
    assert modules <= {"preflight", "preflight.cli", "preflight.cli.main", "__future__"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with its rules compiled, as a wheel has it."""
    import shutil

    import preflight
    from preflight.cli.session import shipped_rules
    from preflight.engine.compiled import write_compiled
    from preflight.targets.history import compile_history
    from preflight.targets.table import compile_tables

    folder = tmp_path_factory.mktemp("built")
    package = Path(preflight.__file__).parent
    shutil.copytree(package, folder / "preflight", ignore=shutil.ignore_patterns("__pycache__", "compiled"))
    write_compiled(shipped_rules(), folder / "preflight" / "compiled")
    compile_tables(folder / "preflight" / "compiled" / "targets")
    compile_history(folder / "preflight" / "compiled" / "targets")
    (folder / "good.sh").write_text(GOOD)
    (folder / "bad.sh").write_text(GOOD.replace("--num-layers 8", "--num-layers many"))
    (folder / "nothing.sh").write_text("echo\n")
    (folder / "train.py").write_text(
        "import subprocess\nsubprocess.run(['torchrun', 'pretrain_gpt.py', '--bf16'])\n"
    )
    return folder


def list_built(folder: Path, *words: str) -> set[str]:
    code = (
        "import sys\n"
        f"sys.path = [{str(folder)!r}, *{sys.path!r}]\n"
        "before = set(sys.modules)\n"
        "from preflight.cli.main import run\n"
        "run(sys.argv[1:])\n"
        "sys.stderr.write('\\n@'.join(['', *sorted(set(sys.modules) - before)]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return {line[1:] for line in done.stderr.splitlines() if line.startswith("@")}


@pytest.mark.parametrize("script", ["good.sh", "bad.sh"])
def test_a_check_of_bash_imports_nothing_heavy(built: Path, script: str) -> None:
    modules = list_built(built, "check", "--isolated", "--target", "core_v0.19.0", script)
    assert "preflight.shell" in modules
    assert list_heavy(modules) == set()
    stages = {m.split(".")[1] for m in modules if m.startswith("preflight.")}
    assert not stages & {
        "node",
        "python",
        "trial",
        "plan",
        "fixes",
        "baseline",
        "comments",
        "suppress",
        "examples",
        "schema",
    }
    assert not modules & {
        "preflight.engine.load",
        "preflight.engine.expression",
        "preflight.targets.checkout",
    }


def test_a_script_without_a_launch_costs_only_its_parse(built: Path) -> None:
    modules = list_built(built, "check", "--isolated", "nothing.sh")
    stages = {m.split(".")[1] for m in modules if m.startswith("preflight.")}
    assert "preflight.report.text" in modules
    assert not stages & {"node", "python"}
    assert not modules & {"preflight.facts.derive", "preflight.configuration.bind"}


def test_only_python_files_pay_for_libcst(built: Path) -> None:
    front_end = {"libcst", "preflight.python"}
    assert front_end <= list_built(built, "check", "--isolated", "train.py")
    assert not front_end & list_built(built, "check", "--isolated", "good.sh")


@pytest.mark.parametrize("form", ["json", "sarif", "gitlab", "junit", "concise", "github"])
def test_a_format_imports_only_itself(built: Path, form: str) -> None:
    modules = list_built(built, "check", "--isolated", "--output", form, "bad.sh")
    reports = {m.split(".")[2] for m in modules if m.startswith("preflight.report.")}
    assert "text" not in reports
    assert form in reports


def test_a_check_imports_a_bounded_number_of_our_own_modules(built: Path) -> None:
    own = [m for m in list_built(built, "check", "--isolated", "good.sh") if m.startswith("preflight")]
    assert len(own) < 150
