"""Lists of faulty GPUs: what puts a GPU on each, and what does not."""

from __future__ import annotations

import pytest

from preflight.node.facts import node_facts
from preflight.node.profiles import build_node, list_profiles, read_node

PLANTED = [
    ("gpus.3.errors.handle=15", "node_gpus_lost", (3,)),
    ("gpus.3.errors.handle=999", "node_gpus_lost", (3,)),
    ("gpus.3.errors.handle=4", "node_gpus_lost", ()),
    ("gpus.3.errors.ecc=15", "node_gpus_lost", (3,)),
    ("gpus.3.errors.ecc=999", "node_gpus_lost", ()),
    ("gpus.3.errors.ecc=999", "node_gpus_failing", ("3 (ecc: NVML error 999)",)),
    ("gpus.3.errors.handle=4", "node_gpus_failing", ()),
    ("gpus.3.recovery_action=4", "node_gpus_to_recover", ("3 (drain and reset the GPU)",)),
    ("gpus.3.recovery_action=99", "node_gpus_to_recover", ("3 (action 99)",)),
    ("gpus.*.clock_reasons=4", "node_gpus_slowed", ()),
    ("gpus.*.clock_reasons=1", "node_gpus_slowed", ()),
    ("gpus.2.clock_reasons=136", "node_gpus_slowed", ("2 (hardware slowdown, power brake)",)),
    ("gpus.2.clock_reasons=32", "node_gpus_warm", ("2 (software thermal slowdown)",)),
    ("gpus.3.ecc_uncorrected=2", "node_gpus_ecc_uncorrected", ()),
    ("gpus.3.ecc_uncorrected=2", "node_gpus_ecc_contained", ("3 (2)",)),
    ("gpus.3.ecc_uncorrected=2 gpus.3.remap_pending=1", "node_gpus_ecc_uncorrected", ("3 (2)",)),
    ("gpus.*.fabric.state=1", "node_gpus_fabric_not_ready", ("0-7 (not started)",)),
    ("gpus.*.fabric.state=2", "node_gpus_fabric_not_ready", ("0-7 (in progress)",)),
    ("gpus.*.fabric.status=7", "node_gpus_fabric_not_ready", ("0-7 (failed with NVML status 7)",)),
    ("gpus.*.fabric.state=0", "node_gpus_fabric_not_ready", ()),
    ("gpus.*.fabric=null", "node_gpus_fabric_not_ready", ()),
    ("gpus.*.fabric.health_mask=170", "node_gpus_fabric_unhealthy", ()),
    ("gpus.*.fabric.health_mask=426", "node_gpus_fabric_unhealthy", ()),
    ("gpus.*.fabric.health_mask=0", "node_gpus_fabric_unhealthy", ()),
    ("gpus.1.fabric.health_mask=169", "node_gpus_fabric_unhealthy", ("1 (degraded bandwidth)",)),
    ("gpus.1.fabric.health_mask=682", "node_gpus_fabric_unhealthy", ("1 (incorrect configuration)",)),
    ("gpus.1.links.0.state=0 gpus.1.links.1.state=0", "node_gpus_links_down", ("1 (links 0-1 of 18)",)),
    ("gpus.*.links.3.state=0", "node_gpus_links_down", ("0-7 (link 3 of 18)",)),
    ("gpus.*.links.3.state=0 gpus.*.name=Unheard-of", "node_gpus_links_down", ()),
    (
        "gpus.*.links.3.state=0 gpus.*.name=Unheard-of gpus.5.links.4.state=0",
        "node_gpus_links_down", ("5 (links 3-4 of 18)",),
    ),
    ("gpus.*.links.*.state=0", "node_gpus_links_down", ()),
    ("gpus.*.links.*.state=0", "node_gpus_all_links_down", ()),
    ("gpus.3.memory_used=900000000", "node_gpus_memory_unexplained", ()),
    ("gpus.3.memory_used=3000000000", "node_gpus_memory_unexplained", ("3 (2.8 GiB)",)),
    ("gpus.3.memory_used=3000000000", "node_gpus_memory_taken", ()),
    ("gpus.3.memory_used=30000000000", "node_gpus_memory_taken", ("3 (27.9 of 80 GiB)",)),
    ("gpus.3.memory_used=30000000000", "node_gpus_memory_unexplained", ()),
    (
        "gpus.3.memory_used=3000000000 'gpus.3.processes=[{\"pid\": 7, \"memory\": 2900000000}]'",
        "node_gpus_memory_unexplained", (),
    ),
    (
        "gpus.3.memory_used=30000000000 'gpus.3.processes=[{\"pid\": 7, \"memory\": 30000000000, \"own\": true}]'",
        "node_gpus_memory_taken", (),
    ),
    ("'gpus.3.processes=[{\"pid\": 7, \"own\": true}]'", "node_gpus_busy", ()),
    ("'gpus.3.processes=[{\"pid\": 7, \"name\": \"python3\"}]'", "node_gpus_busy", ("3 (python3 7)",)),
    ("gpus.3.vbios=null", "node_gpus_odd_vbios", ()),
    ("gpus.3.power_limit=650000", "node_gpus_power_limited", ("3 (650 of 700 W)",)),
    ("gpus.3.mig_pending=1", "node_gpus_mig", ()),
    ("gpus.3.retired_pending=1", "node_gpus_remap_pending", (3,)),
]  # fmt: skip


@pytest.mark.parametrize(("planted", "fact", "wanted"), PLANTED, ids=lambda value: str(value)[:60])
def test_what_puts_a_gpu_on_a_list(planted: str, fact: str, wanted: tuple[object, ...]) -> None:
    assert node_facts(build_node(f"hgx-h100 {planted}"))[fact] == wanted


@pytest.mark.parametrize("name", list_profiles())
def test_a_healthy_node_is_on_no_list(name: str) -> None:
    facts = node_facts(read_node(name))
    assert {fact: value for fact, value in facts.items() if fact.startswith("node_gpus_") and value} == {}


def test_bridged_cards_without_their_bridge_are_no_fault() -> None:
    facts = node_facts(build_node("a100-pcie-pairs gpus.*.links.*.state=0"))
    assert facts["node_gpus_links_down"] == ()
    assert facts["node_gpus_all_links_down"] == ()
    assert facts["node_nvlink_domain"] == 1


def test_a_card_without_a_bridge_among_bridged_ones_is_no_fault() -> None:
    text = "a100-pcie-pairs gpus.6.links.*.state=0 gpus.7.links.*.state=0"
    facts = node_facts(build_node(text))
    assert facts["node_gpus_links_down"] == ()
    assert facts["node_gpus_without_nvlink"] == ()
    assert facts["node_nvlink_domains"] == (2, 2, 2, 1, 1)


def test_a_bridge_with_a_dead_link_is_a_fault() -> None:
    text = "a100-pcie-pairs gpus.6.links.3.state=0 gpus.7.links.3.state=0"
    assert node_facts(build_node(text))["node_gpus_links_down"] == ("6-7 (link 3 of 12)",)


def test_a_gpu_of_a_board_without_links_is_a_fault() -> None:
    node = build_node("hgx-h100-x4 gpus.2.links.*.state=0")
    dead = node.gpus[2].bus_id
    gpus = tuple(
        gpu._replace(
            links=tuple(link._replace(state=0) if link.remote == dead else link for link in gpu.links)
        )
        for gpu in node.gpus
    )
    facts = node_facts(node._replace(gpus=gpus))
    assert facts["node_gpus_without_nvlink"] == (2,)
    assert facts["node_gpus_links_down"] == ()


def test_an_a100_board_with_a_dead_fabric_manager_is_one() -> None:
    facts = node_facts(build_node("hgx-a100 gpus.*.links.*.state=0 peers.*.*=5"))
    assert facts["node_gpus_all_links_down"] == tuple(range(8))


def test_the_page_cache_of_grace_is_not_called_taken_memory() -> None:
    facts = node_facts(build_node("gb200-nvl72-tray gpus.*.memory_used=90000000000"))
    assert facts["node_gpus_memory_taken"] == ()
    assert facts["node_gpus_memory_unexplained"] == ("0-3 (83.8 GiB)",)
