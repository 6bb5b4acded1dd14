"""`preflight node` as people run it: faults named with their remedy, exit statuses, output, records, time."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from preflight.node.profiles import list_profiles

from .conftest import Machine, MachineMaker

FAULTS = {
    "gpu-lost": "hgx-h100 gpus.3.errors.handle=15",
    "gpu-missing": "hgx-h100",  # planted below: a GPU on the bus that NVML does not list
    "gpu-recovery-action": "hgx-h100 gpus.3.recovery_action=2",
    "row-remap-pending": "hgx-h100 gpus.3.remap_pending=1",
    "row-remap-failed": "hgx-h100 gpus.3.remap_failure=1",
    "ecc-uncorrected": "hgx-h100 gpus.3.ecc_uncorrected=2 gpus.3.recovery_action=null",
    "gpu-slowed": "hgx-h100 gpus.3.clock_reasons=72",
    "mig-on": "hgx-h100 gpus.3.mig=1 gpus.3.mig_pending=1",
    "compute-prohibited": "hgx-h100 gpus.3.compute_mode=2",
    "nvlink-down": "hgx-h100 gpus.3.links.4.state=0 gpus.3.links.5.state=0",
    "nvlink-all-down": "hgx-a100 gpus.*.links.*.state=0 peers.*.*=5",
    "fabric-not-ready": "hgx-h100 gpus.*.fabric.state=1",
    "fabric-unhealthy": "gb200-nvl72-tray gpus.3.fabric.health_mask=169",
    "gpu-memory-taken": "hgx-h100 gpus.3.memory_used=30000000000",
    "gpu-without-nvlink": "hgx-h100 peers.2=[5,5,null,5,5,5,5,5] peers.*.2=5",
    "gpu-links-odd": "hgx-h100 gpus.3.link_count=12",
    "clique-split": "gb200-nvl72-tray gpus.3.fabric.clique=7",
}


@pytest.mark.parametrize("rule", FAULTS)
def test_each_fault_is_named_with_its_remedy(machine: MachineMaker, rule: str) -> None:
    text = FAULTS[rule]
    extra = {"count": 7} if rule == "gpu-missing" else {}
    done = machine(text, **extra).run("node", "--isolated", "--output", "json", "--deadline", "3")
    assert done.stderr == ""
    document = json.loads(done.stdout)
    errors = {finding["rule"]: finding for finding in document["findings"] if finding["severity"] == "error"}
    assert rule in errors, document["findings"]
    assert len(errors) == 1, "one fault is one error"
    assert errors[rule]["help"]
    assert errors[rule]["node"] == os.uname().nodename
    assert done.returncode == 4


@pytest.mark.parametrize("name", list_profiles())
def test_a_healthy_node_has_no_findings(machine: MachineMaker, name: str) -> None:
    done = machine(name).run("node", "--isolated", "--output", "json")
    assert json.loads(done.stdout)["findings"] == []
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"init": "!9"}, "no NVIDIA driver is loaded"),
        ({"init": "!18"}, "driver and library versions do not match"),
        ({"gpu__0__name": "@60:x"}, "no answer from NVML in 1 s"),
    ],
    ids=["no driver", "mismatch", "hang"],
)
def test_no_answer_is_status_3(machine: MachineMaker, extra: dict[str, str], words: str) -> None:
    there = machine("hgx-h100", **extra)
    done = there.run("node", "--isolated", "--output", "text", "--deadline", "1", timeout=5)
    assert done.returncode == 3
    assert words in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_machine_without_a_gpu_gets_a_sentence(tmp_path: Path) -> None:
    here = Machine({"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2])}, tmp_path)
    if here.probe().silence is None:
        pytest.skip("this machine has a GPU")
    done = here.run("node", "--isolated", "--output", "text")
    assert done.returncode == 3
    assert "libnvidia-ml.so.1 was not found" in done.stdout or "no NVIDIA driver is loaded" in done.stdout


def test_a_pipe_gets_json_and_a_terminal_gets_tables(machine: MachineMaker) -> None:
    there = machine("hgx-h100")
    document = json.loads(there.run("node", "--isolated").stdout)
    assert document["node"]["topology"]["domains"][0]["members"] == list(range(8))
    assert document["schema"] == 1
    controller, terminal = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "preflight", "node", "--isolated"],
            env={**there.environment, "TERM": "xterm"},
            stdout=terminal,
            stderr=terminal,
            stdin=subprocess.DEVNULL,
        )
        os.close(terminal)
        shown = read_terminal(controller)
        assert process.wait(30) == 0
    finally:
        os.close(controller)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert "\x1b[" in shown
    assert "NVLink domain A: GPU 0-7, NVSwitch" in plain
    assert re.search(r"GPU0\s+X\s+NV18", plain)


def read_terminal(descriptor: int) -> str:
    data = b""
    while True:
        try:
            chunk = os.read(descriptor, 65536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        data += chunk
    return data.decode()


def test_a_record_replays_anywhere(machine: MachineMaker, tmp_path: Path) -> None:
    there = machine("hgx-a100-2x4 gpus.1.mig=1")
    record = tmp_path / "node.json"
    first = there.run("node", "--isolated", "--record", str(record), "--output", "json")
    assert first.returncode == 4
    stored = json.loads(record.read_text())
    assert stored["schema"] == 1
    assert any(call[0] == "nvmlDeviceGetMigMode" for call in stored["calls"])
    elsewhere = Machine({"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2])}, tmp_path)
    second = elsewhere.run("node", "--isolated", "--node", str(record), "--output", "json")
    assert second.returncode == 4
    assert json.loads(second.stdout)["findings"] == json.loads(first.stdout)["findings"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not JSON"),
        ('{"a": 1}', 'no "schema"'),
        ('{"schema": 99, "host": "n"}', "schema 99"),
        ('{"schema": 1}', "host is missing"),
        ('{"schema": 1, "host": 3}', "record.host: expected a text, found 3"),
        (
            '{"schema": 1, "host": "n", "gpus": [{"number": "x"}]}',
            "record.gpus[0].number: expected a whole number",
        ),
        ('{"schema": 1, "host": "n", "gpus": [{"number": 0}], "peers": [[0, 0]]}', "not a 1 x 1 matrix"),
    ],
    ids=[
        "no JSON",
        "no record",
        "another schema",
        "no host",
        "a wrong type",
        "a wrong type inside",
        "a wrong matrix",
    ],
)
def test_a_bad_record_is_refused_with_the_place(tmp_path: Path, content: str, words: str) -> None:
    record = tmp_path / "node.json"
    record.write_text(content)
    here = Machine({"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2])}, tmp_path)
    done = here.run("node", "--isolated", "--node", str(record))
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_an_expected_number_of_gpus(machine: MachineMaker) -> None:
    done = machine("hgx-h100-x4", pci=()).run(
        "node", "--isolated", "--expect-gpus", "8", "--output", "concise"
    )
    assert done.returncode == 4
    assert "4 GPUs instead of the 8 that were expected" in done.stdout


def test_a_container_may_see_fewer_gpus_than_the_bus(machine: MachineMaker) -> None:
    there = machine("hgx-h100", count=4, environment={"NVIDIA_VISIBLE_DEVICES": "0,1,2,3"})
    assert there.run("node", "--isolated").returncode == 0


def test_a_job_that_got_fewer_gpus_than_it_was_given(machine: MachineMaker) -> None:
    job = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_STEP_GPUS": "0-7"}
    done = machine("hgx-h100", count=7, environment=job).run("node", "--isolated", "--output", "json")
    assert [f["rule"] for f in json.loads(done.stdout)["findings"]] == ["gpus-below-allocation"]


@pytest.mark.parametrize("name", ["concise", "json", "sarif", "github", "gitlab", "junit"])
def test_every_format_names_the_node(machine: MachineMaker, name: str) -> None:
    there = machine("hgx-h100 gpus.3.remap_pending=1")
    done = there.run("node", "--isolated", "--host", "n17", "--output", name)
    assert done.returncode == 4
    assert "row-remap-pending" in done.stdout
    assert "bad memory is to be replaced" in done.stdout
    if name not in ("github", "gitlab", "junit"):
        assert "n17" in done.stdout


def test_a_script_without_a_launch(machine: MachineMaker) -> None:
    there = machine("hgx-h100")
    (there.folder / "nothing.sh").write_text("echo hello\n")
    assert there.run("node", "--isolated", "nothing.sh").returncode == 0
    done = there.run("node", "--isolated", "--require-launch", "nothing.sh")
    assert done.returncode == 3
    assert "no launch was found" in done.stderr


def test_a_record_that_cannot_be_written_is_said(machine: MachineMaker) -> None:
    done = machine("hgx-h100").run("node", "--isolated", "--record", "/no/such/folder/node.json")
    assert done.returncode == 3
    assert "no such file or directory" in done.stderr
    assert "Traceback" not in done.stderr


def spent(there: Machine, code: str) -> float:
    """Processor seconds of a new interpreter, its children left out; the best of five."""
    program = (
        f"{code}\nimport resource, sys\nuse = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(use.ru_utime + use.ru_stime, file=sys.stderr)"
    )
    took = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=there.environment,
            cwd=there.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        took.append(float(done.stderr.split()[-1]))
    return min(took)


def test_a_healthy_node_costs_little_more_than_a_start(machine: MachineMaker, installed: Path) -> None:
    """At most 100 ms beyond the start of the interpreter, in processor time: others may use this machine meanwhile."""
    there = machine("hgx-h100")
    there = there._replace(environment={**there.environment, "PYTHONPATH": str(installed)})
    bare = spent(there, "")
    whole = spent(
        there, "from preflight.cli.main import run\nassert run(['node', '--isolated', '--frames']) == 0"
    )
    slowness = max(1.0, bare / 0.010)
    assert whole - bare < 0.100 * slowness, (bare, whole)


def test_a_healthy_node_is_checked_within_a_second(machine: MachineMaker, installed: Path) -> None:
    there = machine("hgx-h100")
    there = there._replace(environment={**there.environment, "PYTHONPATH": str(installed)})
    took = []
    for _ in range(3):
        started = time.monotonic()
        assert there.run("node", "--isolated", "--output", "text").returncode == 0
        took.append(time.monotonic() - started)
    assert min(took) < 1.0
