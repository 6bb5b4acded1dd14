"""What GNU bash hands to the launchers, against what the launch stage says: over the scripts of `fixtures/launch`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from preflight.execution import Context
from preflight.launch.find import find_launches
from preflight.shell import read_script as read_shell
from preflight.source import Files, Source
from tests.launch.launching import read_python

FIXTURES = Path(__file__).parents[2] / "fixtures" / "launch"
LAUNCHERS = ("torchrun", "python", "python3")
STUB = """#!{python} -I
import json, os, sys
record = {{"argv": [os.path.basename(sys.argv[0]), *sys.argv[1:]], "env": dict(os.environ)}}
with open({log!r}, "a") as stream:
    stream.write(json.dumps(record) + "\\n")
"""
NAMES = (
    "CUDA_DEVICE_MAX_CONNECTIONS", "NCCL_DEBUG", "NVTE_FLASH_ATTN", "OMP_NUM_THREADS", "SIZE", "SEED", "KEPT", "GONE",
    "DROPPED", "LOCAL",
)  # fmt: skip

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


class Run(NamedTuple):
    argv: tuple[str, ...]
    environment: dict[str, str]


def run_bash(script: Path, folder: Path) -> list[Run]:
    """Run a script of ours with stubs for the launchers."""
    log = folder / "log"
    stubs = folder / "bin"
    stubs.mkdir()
    for name in LAUNCHERS:
        stub = stubs / name
        stub.write_text(STUB.format(python=os.path.realpath(sys.executable), log=str(log)))
        stub.chmod(0o755)
    environment = {"PATH": f"{stubs}:/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run(
        ["bash", str(script)], env=environment, cwd=script.parent, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in log.read_text().splitlines()]
    return [Run(tuple(r["argv"]), {k: v for k, v in r["env"].items() if k in NAMES}) for r in records]


def trace(script: Path) -> list[Run]:
    """What the launch stage says; everything must be known."""
    source = Source(str(script), script.read_bytes())
    context = Context(
        Files(str(script.parent), (str(script.parent),)),
        environment={"PATH": "/usr/bin:/bin"},
        closed_environment=True,
        arguments={0: str(script)},
        closed_arguments=True,
    )
    launches = find_launches(
        read_shell(source, context), context, read_shell=read_shell, read_python=read_python
    )
    found = []
    for launch in launches:
        argv = tuple(word.text.value or f"unknown {word.text.display()}" for word in launch.command)
        environment = {
            name: text.value if text.known else f"unknown {text.display()}"
            for name, text in launch.environment.items()
            if text is not None and name in NAMES
        }
        found.append(Run(argv, {name: value or "" for name, value in environment.items()}))
    return found


@pytest.mark.parametrize(
    "name", sorted(path.name for path in FIXTURES.glob("*.sh") if path.stem != "sibling")
)
def test_launches_are_those_of_bash(name: str, tmp_path: Path) -> None:
    script = FIXTURES / name
    expected = run_bash(script, tmp_path)
    assert expected, "the fixture launches nothing"
    assert trace(script) == expected
