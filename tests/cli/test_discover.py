"""Which files are looked at; `.gitignore` is compared with git itself."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight.cli.discover import discover, shebang_shell


def nothing(path: str) -> bool:
    return False


def find(paths: list[str], excluded: Callable[[str], bool] = nothing, force: bool = False) -> list[str]:
    return [found.path for found in discover(paths, excluded, force)]


def lay(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lay(
        tmp_path,
        {
            "a.sh": "",
            "b.bash": "",
            "c.slurm": "",
            "d.sbatch": "",
            "e.py": "import subprocess\nsubprocess.run(['torchrun', 'pretrain_gpt.py'])\n",
            "f.py": "print(1)\n",
            "run": "#!/usr/bin/env bash\n",
            "tool": "#!/usr/bin/python3\n",
            "notes.md": "",
            "data": "\x00\x01",
            "sub/g.sh": "",
            ".venv/h.sh": "",
            "node_modules/i.sh": "",
        },
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_a_folder_holds(tree: Path) -> None:
    assert find(["."]) == ["a.sh", "b.bash", "c.slurm", "d.sbatch", "e.py", "run", "sub/g.sh"]


def test_a_named_file_is_taken_whatever_it_is_called(tree: Path) -> None:
    assert find(["notes.md", "sub", "sub/g.sh", "-"]) == ["notes.md", "sub/g.sh", "-"]


def test_exclude_counts_for_folders_and_by_force_for_named_files(tree: Path) -> None:
    def excluded(path: str) -> bool:
        return "sub" in path

    assert "sub/g.sh" not in find(["."], excluded)
    assert find(["sub/g.sh"], excluded) == ["sub/g.sh"]
    assert find(["sub/g.sh"], excluded, force=True) == []


def test_a_link_is_seen_once_and_a_circle_ends(tree: Path) -> None:
    (tree / "sub" / "up").symlink_to(tree)
    (tree / "z.sh").symlink_to(tree / "a.sh")
    assert find(["."]).count("a.sh") + find(["."]).count("z.sh") == 1


@pytest.mark.parametrize(
    ("line", "shell"),
    [
        (b"#!/bin/bash", b"bash"),
        (b"#!/usr/bin/env bash", b"bash"),
        (b"#!/usr/bin/env -S bash -x", b"bash"),
        (b"#! /bin/sh -e", b"sh"),
        (b"#!/usr/bin/python3", None),
        (b"#!", None),
        (b"echo bash", None),
    ],
)
def test_first_lines(line: bytes, shell: bytes | None) -> None:
    assert shebang_shell(line) == shell


names = st.sampled_from(["a.sh", "b.sh", "x/a.sh", "x/b.sh", "x/y/a.sh", "x/y/c.sh", "y/a.sh"])
patterns = st.sampled_from(
    ["a.sh", "/a.sh", "x/", "x/*.sh", "*.sh", "!b.sh", "**/y", "y/**", "!x/y/c.sh", "# x", "\\#x", "x/y/"]
)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@settings(max_examples=40)
@given(
    files=st.sets(names, min_size=1),
    ignores=st.dictionaries(st.sampled_from(["", "x/", "x/y/"]), st.lists(patterns, max_size=4)),
)
def test_gitignore_means_what_it_means_to_git(
    tmp_path_factory: pytest.TempPathFactory, files: set[str], ignores: dict[str, list[str]]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    lay(root, dict.fromkeys(files, ""))
    lay(root, {f"{folder}.gitignore": "\n".join(lines) + "\n" for folder, lines in ignores.items()})
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    expected = sorted(name for name in listed if name.endswith(".sh"))
    found = sorted(str(Path(path).relative_to(root)) for path in find([str(root)]))
    assert found == expected
