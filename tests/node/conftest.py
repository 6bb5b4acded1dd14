"""The fake NVML, compiled once in a session, and a machine that a child process can be started on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from preflight.node.model import Node
from preflight.node.profiles import build_node
from preflight.node.record import read_record

from .fake import write_profile, write_root

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]


def compile_fake(folder: Path, *definitions: str) -> Path:
    """Build libnvidia-ml.so.1 in a folder of its own."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler: apt-get install gcc libc6-dev")
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "libnvidia-ml.so.1"
    command = [compiler, "-O1", "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", *definitions]
    subprocess.run([*command, "-o", str(library), str(HERE / "fake_nvml.c")], check=True, capture_output=True)
    return library


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fake of a recent driver."""
    return compile_fake(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(scope="session")
def old_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fake of a driver from before versioned structures."""
    return compile_fake(tmp_path_factory.mktemp("old-nvml"), "-DOLD_DRIVER")


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as a wheel lays it out, its rules compiled."""
    from preflight.engine.compiled import write_compiled
    from preflight.engine.load import load_rules
    from preflight.facts.catalogue import fact_types

    folder = tmp_path_factory.mktemp("installed")
    source = REPOSITORY
    shutil.copytree(source / "preflight", folder / "preflight", ignore=shutil.ignore_patterns("__pycache__"))
    rules, _ = load_rules([source / "rules"], fact_types())
    write_compiled(rules, folder / "preflight" / "compiled")
    return folder


class Machine(NamedTuple):
    """A machine with a fake driver: what its environment is, and where the calls are traced."""

    environment: dict[str, str]
    folder: Path

    @property
    def calls(self) -> list[str]:
        trace = self.folder / "trace"
        return trace.read_text().split() if trace.exists() else []

    def run(self, *words: str, timeout: float = 60, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run preflight on the machine."""
        return subprocess.run(
            [sys.executable, "-m", "preflight", *words],
            env={**self.environment, **more.pop("env", {})},
            text=True,
            capture_output=True,
            timeout=timeout,
            check=False,
            cwd=more.pop("cwd", self.folder),
            **more,
        )

    def probe(self, deadline: float = 10.0, calls: bool = False) -> Node:
        """Probe it with preflight's own code in a process of its own, since a library loads only once."""
        code = (
            "import os,sys; from preflight.node.probe import probe_node; "
            "from preflight.node.record import write_record; "
            f"sys.stdout.write(write_record(probe_node(os.environ, {deadline}, {calls})))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], env=self.environment, capture_output=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return read_record(done.stdout)


MachineMaker = Callable[..., Machine]


@pytest.fixture
def machine(library: Path, installed: Path, tmp_path: Path) -> Iterator[MachineMaker]:
    """Make a machine from a node (`"hgx-h100 gpus.3.mig=1"`) and more lines of the fake's profile."""

    def make(
        text: str,
        *,
        pci: tuple[str, ...] | None = None,
        environment: dict[str, str] | None = None,
        fake: Path = library,
        **extra: object,
    ) -> Machine:
        node = build_node(text)
        profile = tmp_path / "node.nvml"
        profile.write_text(write_profile(node, **extra))
        root = write_root(tmp_path / "root", node.pci if pci is None else pci)
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return Machine(
            {
                **kept,
                "PYTHONPATH": str(installed),
                "LD_LIBRARY_PATH": str(fake.parent),
                "FAKE_NVML_PROFILE": str(profile),
                "FAKE_NVML_TRACE": str(tmp_path / "trace"),
                "PREFLIGHT_NODE_ROOT": str(root),
                **(environment or {}),
            },
            tmp_path,
        )

    yield make
