"""GNU bash as the reference: runs a script with stub launchers on PATH and says what they were given.

Only for scripts that the tests themselves make.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

LAUNCHERS = ("torchrun", "deepspeed", "python", "srun", "launch", "sbatch", "accelerate")

_STUB = """#!/bin/bash
{ printf '%s\\0' "${0##*/}" "$@"; printf '\\n\\0'; } >> "$LAUNCH_LOG"
"""
_END = "\n"


def make_launchers(folder: Path) -> Path:
    """A folder with stub launchers that note their arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in LAUNCHERS:
        stub = folder / name
        stub.write_text(_STUB)
        stub.chmod(0o755)
    return folder


def run_bash(
    script: str,
    folder: Path,
    *,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] = {},
    name: str = "script.sh",
) -> list[list[str]]:
    """The command lines that launchers get when bash runs a script in a folder."""
    stubs = make_launchers(folder.parent / "launchers")
    log = folder.parent / "log"
    log.write_bytes(b"")
    (folder / name).write_bytes(script.encode("utf-8", "surrogateescape"))
    bash = shutil.which("bash")
    assert bash is not None
    given = {"PATH": f"{stubs}:/usr/bin:/bin", "LAUNCH_LOG": str(log), **environment}
    subprocess.run(
        [bash, name, *arguments],
        cwd=folder,
        env=given,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=20,
        check=False,
    )
    launches: list[list[str]] = []
    current: list[str] = []
    for word in log.read_bytes().split(b"\0")[:-1]:
        if word == b"\n":
            launches.append(current)
            current = []
        else:
            current.append(os.fsdecode(word))
    return launches
