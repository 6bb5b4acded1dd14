"""Every command in the documentation is run, and prints what the page says.

A fence marked `console` holds commands after `$ ` (continued lines after `> `) and what they print.  A line of three
dots stands for any lines.  The commands of a fence share a shell, those of a page a folder: a copy of
`fixtures/project` under git.  Any other fence whose first line is `# FILE: name` is written to that file.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "howto").glob("*.md")),
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^# FILE: (\S+)\n")
INSTALLS = re.compile(
    r"^\s*(python3? -m pip|python3? -m venv|pip |tests/run|source \S*activate|\. \S*activate)"
)
"""Commands that install: `.ci/run` runs the README's own, on a clean machine."""


class Step(NamedTuple):
    command: str
    output: list[str]


def read_steps(text: str) -> list[Step]:
    steps: list[Step] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append(Step(line[2:], []))
        elif line.startswith("> ") and steps and not steps[-1].output:
            steps[-1] = Step(f"{steps[-1].command}\n{line[2:]}", [])
        elif steps:
            steps[-1].output.append(line)
    return steps


def matches(wanted: list[str], got: list[str]) -> bool:
    """Whether lines match; three dots match any text, on a line of their own any number of lines."""
    if not wanted:
        return not got
    if wanted[0].strip() == "...":
        return any(matches(wanted[1:], got[skip:]) for skip in range(len(got) + 1))
    line = ".*".join(re.escape(part) for part in wanted[0].rstrip().split("..."))
    return bool(got) and bool(re.fullmatch(line, got[0].rstrip())) and matches(wanted[1:], got[1:])


def make_project(folder: Path) -> dict[str, str]:
    shutil.copytree(ROOT / "fixtures" / "project", folder, dirs_exist_ok=True)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder.parent),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org",
        "COLUMNS": "100", "NO_COLOR": "1",
    }  # fmt: skip
    subprocess.run(["git", "init", "-q"], cwd=folder, env=environment, check=True)
    return environment


def run_steps(steps: list[Step], folder: Path, environment: dict[str, str]) -> list[list[str]]:
    """Run the commands in one shell; returns what each printed."""
    mark = "@@done@@"
    script = "".join(
        f"(exit ${{status:-0}})\n{step.command}\nstatus=$?\nprintf '\\n%s\\n' '{mark}'\n" for step in steps
    )
    result = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=300,
    )  # fmt: skip
    parts = result.stdout.split(f"\n{mark}\n")
    return [part.rstrip("\n").splitlines() for part in parts[: len(steps)]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    environment = make_project(folder)
    for language, text in FENCE.findall(page.read_text("utf-8")):
        named = FILE.match(text)
        if named and language != "console":
            target = folder / named[1]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(
                text[named.end() :].replace("https://github.com/megatron-preflight/preflight", str(ROOT))
            )
        if language != "console":
            continue
        steps = [step for step in read_steps(text) if not INSTALLS.match(step.command)]
        for step, got in zip(steps, run_steps(steps, folder, environment), strict=True):
            assert matches(step.output, got), f"$ {step.command}\nprinted\n" + "\n".join(got)


def test_every_console_fence_has_a_command() -> None:
    for page in PAGES:
        for language, text in FENCE.findall(page.read_text("utf-8")):
            assert language or page.name == "design.md", f"{page.name}: a fence without a language"
            if language == "console":
                assert read_steps(text), f"{page.name}: a console fence without a command"
