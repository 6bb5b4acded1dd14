"""The hooks, run by the real pre-commit on a real repository, with good and bad scripts, with and without a baseline.

pre-commit installs the hook from a clone of this checkout, which needs a package index; without one these are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .cli.conftest import BAD, GOOD, NOTHING

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def call(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    identity = {f"GIT_{who}_{what}": "t@t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **identity, **more}
    environment.pop("GIT_DIR", None)
    environment.pop("PYTHONPATH", None)
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of the working tree, as a repository of hooks."""
    clone = tmp_path_factory.mktemp("hooks") / "preflight"
    listed = call(ROOT, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").stdout.split(
        "\0"
    )
    for name in filter(None, listed):
        if (ROOT / name).is_file() and not name.startswith(("tests/", "fixtures/")):
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name)
    call(clone, "git", "init", "-q")
    call(clone, "git", "add", "-A")
    assert call(clone, "git", "commit", "-qm", "hooks").returncode == 0
    return clone


@pytest.fixture(scope="module")
def run_hooks(
    hooks: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., subprocess.CompletedProcess[str]]:
    home = tmp_path_factory.mktemp("home")

    def run(repository: Path, *words: str) -> subprocess.CompletedProcess[str]:
        command = (sys.executable, "-m", "pre_commit", "run", *words)
        return call(repository, *command, PRE_COMMIT_HOME=str(home), PRE_COMMIT_COLOR="never")

    probe = tmp_path_factory.mktemp("probe")
    lay(probe, hooks, {"good.sh": GOOD})
    first = run(probe, "--all-files")
    if first.returncode and "error" in first.stdout.lower() and "pip" in first.stdout:
        pytest.skip("pre-commit could not install the hook: no package index")
    return run


def lay(folder: Path, hooks: Path, files: dict[str, str], arguments: str = "") -> None:
    """A repository that uses the hooks."""
    revision = call(hooks, "git", "rev-parse", "HEAD").stdout.strip()
    config = f"repos:\n- repo: {hooks}\n  rev: {revision}\n  hooks:\n  - id: preflight\n{arguments}"
    for name, text in {".pre-commit-config.yaml": config, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    call(folder, "git", "init", "-q")
    call(folder, "git", "add", "-A")


Run = Callable[..., subprocess.CompletedProcess[str]]


def test_good_scripts_pass(tmp_path: Path, hooks: Path, run_hooks: Run) -> None:
    lay(tmp_path, hooks, {"good.sh": GOOD, "nothing.sh": NOTHING, "x.py": "print(1)\n"})
    done = run_hooks(tmp_path, "--all-files")
    assert done.returncode == 0, done.stdout


def test_a_bad_script_stops_the_commit_and_says_where(tmp_path: Path, hooks: Path, run_hooks: Run) -> None:
    lay(tmp_path, hooks, {"jobs/good.sh": GOOD, "jobs/bad.sh": BAD})
    done = run_hooks(tmp_path)
    assert done.returncode == 1, done.stdout
    assert "error[wrong-type]" in done.stdout and "--> jobs/bad.sh:4:" in done.stdout


def test_exclude_in_the_config_counts_for_the_hooks_files(
    tmp_path: Path, hooks: Path, run_hooks: Run
) -> None:
    lay(tmp_path, hooks, {"old/bad.sh": BAD, "preflight.toml": 'exclude = ["old/"]\n'})
    assert run_hooks(tmp_path, "--all-files").returncode == 0


def test_an_ignore_comment_makes_it_green(tmp_path: Path, hooks: Path, run_hooks: Run) -> None:
    ignored = BAD.rstrip("\n") + "  # preflight: ignore[wrong-type] set by hand\n"
    lay(tmp_path, hooks, {"bad.sh": ignored})
    done = run_hooks(tmp_path, "--all-files")
    assert done.returncode == 0, done.stdout


def test_a_baseline_lets_old_findings_be(tmp_path: Path, hooks: Path, run_hooks: Run) -> None:
    lay(tmp_path, hooks, {"bad.sh": BAD, "preflight.toml": 'baseline = "known.json"\n'})
    written = call(
        tmp_path, sys.executable, "-m", "preflight", "check", ".", "--write-baseline", "known.json"
    )
    assert written.returncode == 0, written.stderr
    call(tmp_path, "git", "add", "-A")
    assert run_hooks(tmp_path, "--all-files").returncode == 0
    (tmp_path / "new.sh").write_text(BAD)
    call(tmp_path, "git", "add", "-A")
    done = run_hooks(tmp_path, "--all-files")
    assert done.returncode == 1
    assert "new.sh" in done.stdout and "--> bad.sh" not in done.stdout


def test_the_hook_for_rules_tries_their_examples(tmp_path: Path, hooks: Path, run_hooks: Run) -> None:
    call(tmp_path, sys.executable, "-m", "preflight", "rules", "new", "our-tp-size")
    files = {"good.sh": GOOD}
    lay(tmp_path, hooks, files, "  - id: preflight-rules\n")
    done = run_hooks(tmp_path, "--all-files")
    assert done.returncode == 0, done.stdout
    rule = tmp_path / "preflight-rules" / "site" / "our-tp-size.toml"
    rule.write_text(rule.read_text().replace('expect = "pass"', 'expect = "fail"'))
    call(tmp_path, "git", "add", "-A")
    assert run_hooks(tmp_path, "--all-files").returncode == 1
