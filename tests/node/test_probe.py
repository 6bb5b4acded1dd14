"""The real probe, through the unmodified pynvml in the real child process, against the fake driver."""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path

import pynvml
import pytest

from preflight.node import nvml
from preflight.node.facts import node_facts
from preflight.node.profiles import build_node, list_profiles, read_node
from preflight.node.topology import read_topology

from .conftest import MachineMaker


@pytest.mark.parametrize("name", list_profiles())
def test_a_profile_comes_back_as_it_was(machine: MachineMaker, name: str) -> None:
    """Driver, binding, child process and record lose nothing: the probe of the fake is the profile itself."""
    wanted = read_node(name)
    got = machine(name).probe()
    assert got.silence is None
    assert got.pci == wanted.pci
    for ours, theirs in zip(got.gpus, wanted.gpus, strict=True):
        assert ours.errors == {}
        assert ours == theirs
    assert (got.ancestors, got.peers) == (wanted.ancestors, wanted.peers)
    assert (got.driver, got.cuda) == (wanted.driver, wanted.cuda)


def test_only_calls_on_the_list_are_made(machine: MachineMaker) -> None:
    """The fake offers functions that change a device; nothing outside the read-only list reaches the driver."""
    allowed = {name.removesuffix("_v2").removesuffix("_v3") for name in nvml.READ_ONLY}
    for name in ("hgx-h100", "gb200-nvl72-tray", "dgx-1-v100", "hgx-h100 gpus.2.errors.handle=15"):
        there = machine(name)
        there.probe()
        called = {call.removesuffix("_v2").removesuffix("_v3") for call in there.calls}
        called = {"nvmlInit" if call == "nvmlInitWithFlags" else call for call in called}
        assert "nvmlDeviceGetName" in called
        assert called <= allowed, called - allowed
        assert not any("Set" in call or "Clear" in call or "Reset" in call for call in called)


def test_the_door_refuses_what_is_not_on_the_list() -> None:
    with pytest.raises(PermissionError, match="nvmlDeviceSetPersistenceMode"):
        nvml.Driver(pynvml).ask("nvmlDeviceSetPersistenceMode", None, 1)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (9, "no NVIDIA driver is loaded"),
        (12, "libnvidia-ml.so.1 was not found"),
        (18, "driver and library versions do not match"),
        (4, "no permission"),
        (15, "fallen off the bus"),
        (999, "unknown error"),
        (30, "NVML does not answer: error 30"),
    ],
    ids=lambda value: str(value).replace(" ", "-"),
)
def test_a_driver_that_does_not_start(machine: MachineMaker, code: int, words: str) -> None:
    node = machine("l40s", init=f"!{code}").probe()
    assert node.silence is not None
    assert (node.silence.step, node.silence.code) == ("start", code)
    assert words in node.silence.text
    assert node.silence.remedy
    assert node_facts(node) == {"node_known": False}


def test_no_library_at_all(machine: MachineMaker, tmp_path: Path) -> None:
    node = machine("l40s", environment={"LD_LIBRARY_PATH": str(tmp_path)}).probe()
    assert node.silence is not None
    assert node.silence.code == 12


@pytest.mark.parametrize(
    "extra",
    [
        {"init": "@60:0"},
        {"driver": "@60:570"},
        {"count": "@60:8"},
        {"gpu__5__ecc": "@60:1"},
        {"gpu__0__fabric__state": "@60:3"},
    ],
    ids=["at the start", "at a version", "at the count", "in the middle", "at the fabric"],
)
def test_a_driver_that_hangs(machine: MachineMaker, extra: dict[str, str]) -> None:
    started = time.monotonic()
    node = machine("hgx-h100", **extra).probe(deadline=1.0)
    assert time.monotonic() - started < 3
    assert node.silence is not None
    assert node.silence.text == "no answer from NVML in 1 s"
    assert node.host == os.uname().nodename


def test_a_library_that_crashes(machine: MachineMaker) -> None:
    node = machine("hgx-h100", gpu__1__name="#11").probe()
    assert node.silence is not None
    assert "was ended by SIGSEGV" in node.silence.text


def test_an_old_driver_answers_through_its_own_calls(machine: MachineMaker, old_library: Path) -> None:
    node = machine("hgx-h100", fake=old_library).probe()
    gpu = node.gpus[0]
    assert gpu.errors == {}
    assert gpu.clock_reasons == 1
    assert gpu.memory_reserved is None
    assert gpu.memory_total == 81559 << 20
    assert gpu.fabric is not None
    assert (gpu.fabric.state, gpu.fabric.health_mask) == (3, None)
    assert read_topology(node).domains == read_topology(read_node("hgx-h100")).domains


def test_a_driver_that_knows_fabric_version_2_only(machine: MachineMaker) -> None:
    gpu = machine("gb200-nvl72-tray", fabric_newest_version=2).probe().gpus[0]
    assert gpu.fabric is not None
    assert gpu.fabric.key is not None
    assert (gpu.fabric.health_mask, gpu.fabric.health_summary) == (0xAA, None)


def test_a_fabric_in_progress_is_waited_for(machine: MachineMaker) -> None:
    started = time.monotonic()
    node = machine("hgx-h100 gpus.*.fabric.state=2").probe(deadline=3.0)
    assert time.monotonic() - started > 1
    assert node.silence is None
    assert read_topology(node).domains is None


def test_one_call_that_fails_costs_one_field(machine: MachineMaker) -> None:
    gpu = machine("hgx-h100", gpu__2__ecc="!999", gpu__2__vbios="!2").probe().gpus[2]
    assert gpu.errors == {"ecc": 999, "vbios": 2}
    assert gpu.name == "NVIDIA H100 80GB HBM3"
    assert len(gpu.links) == 18


@pytest.mark.parametrize(
    ("code", "lost", "forbidden"), [(15, True, False), (999, True, False), (4, False, True)]
)
def test_a_handle_that_is_refused(machine: MachineMaker, code: int, lost: bool, forbidden: bool) -> None:
    node = machine("hgx-h100", gpu__6__handle=f"!{code}").probe()
    assert (node.gpus[6].lost, node.gpus[6].forbidden) == (lost, forbidden)
    assert len(node.present) == (7 if forbidden else 8)


def test_a_gpu_that_is_lost_while_it_is_read(machine: MachineMaker) -> None:
    node = machine("hgx-h100", gpu__3__lost=15).probe()
    assert node.gpus[3].lost
    topology = read_topology(node)
    assert topology.domains is None
    assert topology.doubt == "GPU 3 is lost"


def test_the_record_of_calls_holds_codes_and_raw_answers(machine: MachineMaker) -> None:
    calls = machine("gb200-nvl72-tray").probe(calls=True).calls
    names = [call[0] for call in calls]
    assert names[0] == "nvmlInit"
    assert names[-1] == "nvmlShutdown"
    raw = next(call[3] for call in calls if call[0] == "nvmlDeviceGetGpuFabricInfoV.answer")
    assert isinstance(raw, str)
    assert "5f0e6a2c91d34b7e8a41c0d2f7b39e16" in raw


def test_the_fake_has_the_layouts_of_the_binding(library: Path) -> None:
    """Else the fake proves nothing."""
    fake = ctypes.CDLL(str(library))
    for name, kind in {
        "memory1": pynvml.c_nvmlMemory_t,
        "memory2": pynvml.c_nvmlMemory_v2_t,
        "pci": pynvml.nvmlPciInfo_t,
        "field": pynvml.c_nvmlFieldValue_t,
        "fabric1": pynvml.c_nvmlGpuFabricInfo_t,
        "fabric3": pynvml.c_nvmlGpuFabricInfo_v3_t,
        "process": pynvml.c_nvmlProcessInfo_t,
    }.items():
        assert fake.fake_size(name.encode()) == ctypes.sizeof(kind), name


def test_planted_changes_reach_the_driver(machine: MachineMaker) -> None:
    """The tests plant faults by changing a profile; the fake must then answer with the fault."""
    text = "hgx-h100 gpus.4.links.7.state=0 gpus.1.remap_pending=1"
    got = machine(text).probe()
    assert got.gpus[4].links[7].state == 0
    assert got.gpus[1].remap_pending == 1
    assert got.gpus[4].links[6] == build_node(text).gpus[4].links[6]
