"""NVLink domains, the matrix, and what they look like on each platform."""

from __future__ import annotations

import re

import pytest

from preflight.facts.surroundings import PROFILES
from preflight.node.facts import Doubt, node_facts
from preflight.node.model import Node
from preflight.node.profiles import build_node, find_product, list_profiles, read_index, read_node
from preflight.node.topology import read_topology
from preflight.report.node import write_node

from .plausible import HYBRID_CUBE_MESH

DOMAINS = {
    "hgx-a100": [("switch", 8, True)],
    "hgx-h100": [("switch", 8, True)],
    "hgx-h200": [("switch", 8, True)],
    "hgx-b200": [("switch", 8, True)],
    "hgx-h100-x4": [("mesh", 4, True)],
    "hgx-a100-2x4": [("mesh", 4, True)] * 2,
    "gb200-nvl72-tray": [("fabric", 4, True)],
    "a100-pcie-pairs": [("mesh", 2, True)] * 4,
    "l40s": [("alone", 1, True)] * 8,
    "dgx-1-v100": [("mesh", 8, False)],
}


@pytest.mark.parametrize("name", list_profiles())
def test_the_domains_of_each_platform(name: str) -> None:
    topology = read_topology(read_node(name))
    assert topology.doubt is None
    assert topology.domains is not None
    assert [(d.kind, len(d.members), d.complete) for d in topology.domains] == DOMAINS[name]


CASES = {
    "a zero UUID is no key": ("hgx-h100", [8]),
    "a fabric key that spans nodes": ("gb200-nvl72-tray", [4]),
    "a clique split inside a tray": ("gb200-nvl72-tray gpus.3.fabric.clique=7", [3, 1]),
    "a virtual machine's partition": (
        "hgx-h100 peers.0=[null,0,0,0,5,5,5,5] peers.1=[0,null,0,0,5,5,5,5] peers.2=[0,0,null,0,5,5,5,5] "
        "peers.3=[0,0,0,null,5,5,5,5] peers.4=[5,5,5,5,null,0,0,0] peers.5=[5,5,5,5,0,null,0,0] "
        "peers.6=[5,5,5,5,0,0,null,0] peers.7=[5,5,5,5,0,0,0,null]",
        [4, 4],
    ),
    "peers that cannot be read": ("hgx-h100 peers=[]", [8]),
    "switches without a bus id": ("hgx-h100 gpus.*.links.*.remote=", [8]),
    "switches of unknown type without a bus id": (
        "hgx-h100 gpus.*.links.*.remote= gpus.*.links.*.remote_type=255",
        [8],
    ),
    "GPUs of unknown type, found among NVML's own": (
        "a100-pcie-pairs gpus.*.links.*.remote_type=255",
        [2, 2, 2, 2],
    ),
    "GPUs that call themselves switches": ("a100-pcie-pairs gpus.*.links.*.remote_type=2", [2, 2, 2, 2]),
    "a peer outside of what we see": ("a100-pcie-pairs gpus.1=null", [1, 2, 2, 2]),
    "a GPU with all links down": ("hgx-h100 gpus.2.links.*.state=0", [7, 1]),
    "a GPU that is not ours": ("hgx-h100 gpus.5.errors.handle=4", [7]),
}


@pytest.mark.parametrize("case", CASES)
def test_the_rules_for_domains(case: str) -> None:
    text, sizes = CASES[case]
    topology = read_topology(build_node(text))
    assert topology.domains is not None, topology.doubt
    assert [len(domain.members) for domain in topology.domains] == sizes


DOUBTS = {
    "hgx-h100 gpus.3.errors.handle=15": "GPU 3 is lost",
    "hgx-h100 gpus.3.errors.fabric=999": "GPU 3: reading fabric failed with NVML error 999",
    "hgx-h100 gpus.*.fabric.state=2": "GPU 0: the fabric manager has not registered it",
    "hgx-h100 gpus.*.fabric.status=7": "GPU 0: the fabric manager has not registered it",
    "hgx-h100 gpus.1.links.4.state=null": "GPU 1: the state of link 4 cannot be read",
    "hgx-h100 gpus.1.links.4.remote_type=255 gpus.1.links.4.errors.remote=999":
        "GPU 1: the peer of link 4 cannot be read",
}  # fmt: skip


@pytest.mark.parametrize("text", DOUBTS)
def test_a_domain_is_stated_only_on_clean_readings(text: str) -> None:
    node = build_node(text)
    topology = read_topology(node)
    assert topology.domains is None
    assert topology.doubt == DOUBTS[text]
    assert node_facts(node)["node_nvlink_domain"] == Doubt(DOUBTS[text])


def matrix(node: Node) -> list[list[str]]:
    return [list(row) for row in read_topology(node).matrix]


def test_the_matrix_of_an_hgx_h100() -> None:
    assert matrix(read_node("hgx-h100")) == [["X" if a == b else "NV18" for b in range(8)] for a in range(8)]


def test_the_matrix_of_a100_pairs() -> None:
    def cell(a: int, b: int) -> str:
        if a == b:
            return "X"
        if a // 2 == b // 2:
            return "NV12"
        return "NODE" if a // 4 == b // 4 else "SYS"

    assert matrix(read_node("a100-pcie-pairs")) == [[cell(a, b) for b in range(8)] for a in range(8)]


def test_the_matrix_of_a_dgx_1() -> None:
    got = matrix(read_node("dgx-1-v100"))
    for a in range(8):
        for b in range(8):
            links = HYBRID_CUBE_MESH[a][b]
            wanted = "X" if a == b else f"NV{links}" if links else "SYS"
            assert got[a][b] == wanted, (a, b)


def test_the_drawing_of_pairs() -> None:
    text = write_node(read_node("a100-pcie-pairs"), read_topology(read_node("a100-pcie-pairs")))
    lines = text.splitlines()
    assert (
        lines[0] == "node a100-pcie-pairs: 8 x NVIDIA A100 80GB PCIe, driver 570.158.01 for CUDA up to 12.8"
    )
    assert lines[1] == "a plausible profile, not measured on a machine"
    assert "GPU2  NODE  NODE     X  NV12   SYS   SYS   SYS   SYS" in lines
    assert "NVLink domain C: GPU 4-5, direct links" in lines
    assert (
        lines[-1]
        == "NV# = a bonded set of # NVLinks; NODE = between host bridges of one NUMA node; SYS = between NUMA nodes"
    )


def test_a_lost_gpu_is_drawn_as_such() -> None:
    node = build_node("hgx-h100 gpus.3.errors.handle=15")
    text = write_node(node, read_topology(node))
    assert any(line.split()[0] == "3" and line.endswith("lost") for line in text.splitlines() if line.strip())
    assert "NVLink domains are not known: GPU 3 is lost" in text


VISIBLE = {
    "": ((), []),
    "0,1,2,3": ((0, 1, 2, 3), [4]),
    "3,4": ((3, 4), [1, 1]),
    "0,9,1": ((0,), [1]),
    "-1": ((), []),
    "GPU-00000000-0000-4000-8000-000000000005,1": ((5, 1), [1, 1]),
    "GPU-": ((), []),
    "NoDevFiles": ((), []),
}


@pytest.mark.parametrize("text", VISIBLE)
def test_cuda_visible_devices_narrows_as_cuda_does(text: str) -> None:
    """It keeps its order, and ends at the first that is no device."""
    node = build_node("hgx-a100-2x4")._replace(scheduler={"CUDA_VISIBLE_DEVICES": text})
    facts = node_facts(node)
    members, sizes = VISIBLE[text]
    assert facts["node_gpu_count"] == len(members)
    assert facts["node_gpu_total"] == 8
    assert facts["node_nvlink_domains"] == tuple(sizes)


@pytest.mark.parametrize(
    ("variables", "count"),
    [
        ({}, None),
        ({"SLURM_JOB_GPUS": "0-3,6"}, 5),
        ({"SLURM_STEP_GPUS": "0,1", "SLURM_JOB_GPUS": "0-7"}, 2),
        ({"SLURM_GPUS_ON_NODE": "8"}, 8),
        ({"SLURM_STEP_GPUS": "0-7", "SLURM_GPUS_PER_TASK": "1"}, None),
        ({"SLURM_JOB_GPUS": "h100:4"}, None),
        ({"SLURM_GPUS_ON_NODE": "many"}, None),
    ],
)
def test_what_the_scheduler_gave(variables: dict[str, str], count: int | None) -> None:
    node = read_node("hgx-h100")._replace(scheduler=variables, in_job=True)
    assert node_facts(node)["node_scheduled_gpus"] == count


PARTS = {
    "one task on the node": ({"SLURM_STEP_TASKS_PER_NODE": "1(x2)"}, True, 8),
    "eight tasks on the node": ({"SLURM_STEP_TASKS_PER_NODE": "8(x2)"}, True, None),
    "a GPU for each task": ({"SLURM_GPUS_PER_TASK": "1"}, True, None),
    "eight processes of an MPI": ({"OMPI_COMM_WORLD_LOCAL_SIZE": "8"}, False, None),
    "one process of an MPI": ({"OMPI_COMM_WORLD_LOCAL_SIZE": "1"}, False, 8),
    "the shell of an allocation": ({"SLURM_TASKS_PER_NODE": "8"}, False, 8),
}


@pytest.mark.parametrize("case", PARTS)
def test_one_of_several_tasks_does_not_speak_for_the_node(case: str) -> None:
    """It may see one GPU where the job has eight: then a count, or a domain of one, would blame a good script."""
    variables, in_job, count = PARTS[case]
    node = read_node("hgx-h100")._replace(scheduler=variables, in_job=in_job)
    facts = node_facts(node)
    for name in ("node_gpu_count", "node_nvlink_domain"):
        assert facts[name] == count if count is not None else isinstance(facts[name], Doubt)


def test_profiles_and_the_gpu_option_say_the_same() -> None:
    index = read_index()
    assert index.keys() == PROFILES.keys()
    for name, entry in index.items():
        known = PROFILES[name]
        assert (entry.capability, entry.memory) == (known.capability, known.memory), name
        assert (entry.gpus_per_node, entry.domain) == (known.gpus_per_node, known.nvlink_domain), name
        if entry.profile is not None:
            facts = node_facts(read_node(entry.profile))
            assert facts["node_gpu_count"] == entry.gpus_per_node, name
            assert facts["node_nvlink_domain"] == entry.domain, name
            capability = facts["node_compute_capability"]
            assert capability == (entry.capability[0] + entry.capability[1] / 10,) * entry.gpus_per_node, name
            memory = facts["node_gpu_memory"]
            assert isinstance(memory, tuple)
            assert abs(float(str(memory[0])) - entry.memory) < 0.09 * entry.memory, name


def test_products_are_matched_by_their_whole_name() -> None:
    """ "GH200" contains "H200" and is not one."""
    assert find_product("NVIDIA H200") == read_index()["h200"]
    assert find_product("NVIDIA GH200 480GB") == read_index()["gh200"]
    assert find_product("NVIDIA GH200 something") is None
    assert find_product(None) is None


def test_shipped_profiles_say_whether_somebody_measured_them() -> None:
    for name in list_profiles():
        node = read_node(name)
        said = "a plausible profile, not measured" in write_node(node, read_topology(node))
        assert said != node.measured, name


@pytest.mark.parametrize("width", [60, 80, 100, 200])
@pytest.mark.parametrize("colour", [False, True], ids=["plain", "colour"])
def test_a_narrow_terminal_gets_fewer_columns(width: int, colour: bool) -> None:
    """The table fits, and keeps product, links, domain and state to the end."""
    node = read_node("hgx-h100")
    text = re.sub(r"\x1b\[[0-9;]*m", "", write_node(node, read_topology(node), colour, width))
    table = [line.rstrip() for line in text.split("\n\n")[1].splitlines()]
    assert len(table) == 9
    assert max(map(len, table)) <= width
    for heading in ("GPU", "product", "NVLinks", "domain", "state"):
        assert heading in table[0].split()
    assert all(line.endswith("ok") for line in table[1:])
    assert ("CPUs" in table[0].split()) == (width == 200)
