"""The recipes of docs/howto/slurm.md on a real Slurm: planted faults, a prolog, a health check, a job script.

Needs root, Debian's Slurm and munge; skipped with that sentence elsewhere.  Every process is ended by its id.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from preflight.node.profiles import build_node

from .cluster import Cluster, why_not
from .conftest import REPOSITORY
from .fake import write_profile

NODES = 16
DEADLINE = 3
pytestmark = [
    pytest.mark.skipif(why_not() is not None, reason=why_not() or ""),
    pytest.mark.xdist_group("slurm"),
]


def recipe(name: str) -> str:
    """A script as the documentation has it."""
    text = (REPOSITORY / "docs" / "howto" / "slurm.md").read_text("utf-8")
    found = re.search(rf"^```bash\n# FILE: preflight-{name}.sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found, f"the page has no recipe {name}"
    return found[1]


class Site:
    """A cluster whose nodes have fake GPUs, each with a driver profile of its own."""

    def __init__(self, folder: Path, library: Path, installed: Path) -> None:
        self.folder = folder
        self.nvml = folder / "nvml"
        self.nvml.mkdir()
        (folder / "empty-root").mkdir()
        for number in range(1, NODES + 1):
            self.plant(f"n{number}", "hgx-h100")
        package = folder / "package"
        shutil.copytree(installed, package)
        self.command = folder / "preflight"
        self.command.write_text(
            f"#!/bin/bash\nexport PYTHONPATH={package} LD_LIBRARY_PATH={library.parent}\n"
            f"export FAKE_NVML_DIR={self.nvml} PREFLIGHT_NODE_ROOT={folder}/empty-root\n"
            f'exec {sys.executable} -m preflight "$@"\n'
        )
        self.command.chmod(0o755)
        for name in ("prolog", "health"):
            switch = f'[ -e {folder}/{name}-on-"$SLURMD_NODENAME" ] || exit 0\n'
            body = recipe(name).replace("/opt/preflight/bin/preflight", str(self.command))
            first, _, rest = body.partition("\n")
            script = folder / f"{name}.sh"
            exports = f"export SLURM_CONF={folder}/slurm.conf PATH=/usr/bin:/bin\n"
            script.write_text(f"{first}\n{exports}{switch}{rest}")
            script.chmod(0o755)
        self.cluster = Cluster(
            folder, NODES, 8,
            f"Prolog={folder}/prolog.sh\nHealthCheckProgram={folder}/health.sh\nHealthCheckInterval=2\n"
            "HealthCheckNodeState=IDLE",
        )  # fmt: skip

    def plant(self, node: str, text: str, **extra: object) -> None:
        """Give a node another driver's answers."""
        (self.nvml / f"{node}.nvml").write_text(write_profile(build_node(text), **extra))

    def gather(self, srun: str, *options: str, timeout: float = 60) -> tuple[dict[str, object], int, float]:
        """The documented pipe; its document, exit status and duration."""
        words = " ".join(options)
        line = f"{srun} 2>&1 | {self.command} fleet gather --expect n[1-{NODES}] --output json {words}"
        started = time.monotonic()
        done = self.cluster.run("/bin/bash", "-c", line, timeout=timeout)
        assert done.stdout.startswith("{"), done.stdout + done.stderr
        return json.loads(done.stdout), done.returncode, time.monotonic() - started

    def probe_line(self, nodes: str = f"-N{NODES}") -> str:
        return (
            f"srun {nodes} --gres=gpu:8 --mpi=none --ntasks-per-node=1 --kill-on-bad-exit=0 --wait=0 --no-kill "
            f"--overlap {self.command} node --isolated --frames --deadline {DEADLINE}"
        )

    def allocate(self) -> str:
        """An allocation of all nodes; returns the job's number."""
        done = self.cluster.run("salloc", "--no-shell", f"-N{NODES}", "--gres=gpu:8")
        found = re.search(r"Granted job allocation (\d+)", done.stderr)
        assert found, done.stderr
        return found[1]

    def finish(self, script: Path) -> int:
        """Submit a batch script and wait for its end; returns its exit status."""
        job = self.cluster.run("sbatch", "--parsable", str(script)).stdout.strip()
        states: list[str] = []

        def ended() -> bool:
            text = self.cluster.run("scontrol", "show", "job", job).stdout
            states.append(text)
            return re.search(r"JobState=(COMPLETED|FAILED|CANCELLED)", text) is not None

        self.cluster.wait(ended, 40, f"job {job} does not end")
        found = re.search(r"ExitCode=(\d+):", states[-1])
        assert found, states[-1]
        return int(found[1])


@pytest.fixture(scope="module")
def site(library: Path, installed: Path) -> Iterator[Site]:
    """munged wants every folder above its socket to be open to all, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="preflight-slurm-"))
    folder.chmod(0o755)
    made = Site(folder, library, installed)
    try:
        made.cluster.start()
        yield made
    finally:
        made.cluster.stop()
        left = made.cluster.leftovers()
        shutil.rmtree(folder, ignore_errors=True)
    assert left == []


@pytest.fixture(autouse=True)
def healthy(site: Site) -> Iterator[None]:
    """Each test finds all nodes idle, and leaves their drivers as they were."""
    site.cluster.wait(
        lambda: site.cluster.count("idle") == NODES, 30, f"not all are idle: {site.cluster.drained()}"
    )
    yield
    for number in range(1, NODES + 1):
        site.plant(f"n{number}", "hgx-h100")
    for switch in site.folder.glob("*-on-n*"):
        switch.unlink()


def named(document: dict[str, object]) -> dict[str, list[str]]:
    findings = document["findings"]
    assert isinstance(findings, list)
    return {finding["rule"]: finding["hosts"] for finding in findings}


def test_healthy_nodes_all_answer(site: Site) -> None:
    document, status, _ = site.gather(site.probe_line())
    assert document["findings"] == []
    assert len(document["answered"]) == NODES  # type: ignore[arg-type]
    assert status == 0


def test_the_health_check_drains_with_our_reason(site: Site) -> None:
    site.plant("n2", "hgx-h100 gpus.1.errors.handle=15")
    (site.folder / "health-on-n2").touch()
    site.cluster.wait(lambda: site.cluster.reason("n2") != "", 15, "n2 is not drained")
    assert "preflight: " in site.cluster.reason("n2")
    assert "fell off the bus" in site.cluster.reason("n2")
    site.plant("n2", "hgx-h100")
    (site.folder / "health-on-n2").unlink()
    site.cluster.resume("n2")


def test_the_prolog_refuses_a_bad_node(site: Site) -> None:
    site.plant("n4", "hgx-h100 gpus.*.fabric.state=1", count=7)
    (site.folder / "prolog-on-n4").touch()
    done = site.cluster.run("srun", "-w", "n4", "--gres=gpu:8", "--mpi=none", "/bin/true", timeout=40)
    assert done.returncode != 0
    reason = site.cluster.reason("n4")
    assert reason.startswith("preflight: ")
    assert "error" in reason
    (site.folder / "prolog-on-n4").unlink()
    site.cluster.resume("n4")


def test_the_prolog_lets_a_good_node_work(site: Site) -> None:
    (site.folder / "prolog-on-n4").touch()
    done = site.cluster.run(
        "srun", "-w", "n4", "--gres=gpu:8", "--mpi=none", "/bin/echo", "works", timeout=40
    )
    assert (done.returncode, done.stdout) == (0, "works\n")


def write_job(site: Site, tensor_parallel: int) -> Path:
    """A batch script that starts a launcher through preflight exec."""
    torchrun = site.folder / "torchrun"
    torchrun.write_text('#!/bin/bash\necho "torchrun runs on $SLURMD_NODENAME"\nexit 5\n')
    torchrun.chmod(0o755)
    job = site.folder / "job.sh"
    job.write_text(
        f"""#!/bin/bash
#SBATCH --nodes=1
#SBATCH --nodelist=n6
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:8
#SBATCH --output={site.folder}/job.out
export CUDA_DEVICE_MAX_CONNECTIONS=1
export PATH={site.folder}:$PATH
{site.command} exec --isolated --deadline {DEADLINE} -- torchrun --nproc-per-node 8 pretrain_gpt.py \\
  --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 \\
  --micro-batch-size 1 --global-batch-size 64 --bf16 --train-iters 100 --lr 1e-4 --tokenizer-type NullTokenizer \\
  --vocab-size 32000 --mock-data --tensor-model-parallel-size {tensor_parallel} --sequence-parallel
"""
    )
    return job


@pytest.mark.parametrize(
    ("fault", "tensor_parallel", "status", "runs"),
    [("", 8, 5, True), ("gpus.0.mig=1", 8, 4, False), ("", 3, 1, False)],
    ids=["a good job on a good node runs", "a bad node refuses with 4", "a bad command line refuses with 1"],
)
def test_a_batch_job_through_exec(
    site: Site, fault: str, tensor_parallel: int, status: int, runs: bool
) -> None:
    site.plant("n6", f"hgx-h100 {fault}")
    out = site.folder / "job.out"
    out.unlink(missing_ok=True)
    got = site.finish(write_job(site, tensor_parallel))
    text = out.read_text()
    assert got == status, text
    assert ("torchrun runs on n6" in text) == runs


def test_files_on_shared_storage(site: Site) -> None:
    shared = site.folder / "shared"
    line = site.probe_line("-N4 -w n[1-4]").replace("--frames", f"--out-dir {shared}")
    done = site.cluster.run("/bin/bash", "-c", line)
    assert done.returncode == 0, done.stderr
    gathered = site.cluster.run(str(site.command), "fleet", "gather", "--expect", "n[1-5]", str(shared))
    assert gathered.returncode == 3
    assert "--> n5  1 node" in gathered.stdout
    assert "4 of 5 nodes answered; 4 without findings" in gathered.stdout


def test_every_planted_fault_is_named_and_no_good_node_is_blamed(site: Site) -> None:
    """A missing GPU, an odd driver, a driver that hangs, a dead node, among sixteen."""
    site.plant("n3", "hgx-h100 gpus.7=null")
    site.plant("n5", "hgx-h100 driver=550.54.15 cuda=12040")
    site.plant("n7", "hgx-h100", gpu__2__name="@60:x")
    job = site.allocate()
    site.cluster.kill("n9")
    try:
        document, status, seconds = site.gather(site.probe_line(f"--jobid={job} -N{NODES}"))
    finally:
        site.cluster.run("scancel", job)
        site.cluster.start_node("n9")
    found = named(document)
    assert found.pop("fleet-no-answer") == ["n9"]
    assert found.pop("fleet-nvml-silent") == ["n7"]
    assert found.pop("fleet-driver-odd") == ["n5"]
    assert found.pop("fleet-gpus-odd") == ["n3"]
    assert found == {"gpus-below-allocation": ["n3"]}
    assert status == 3
    assert seconds < DEADLINE + 15
    assert len(document["healthy"]) == NODES - 4  # type: ignore[arg-type]
