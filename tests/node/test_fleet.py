"""Frames through a hostile stream, and the verdict on many nodes."""

from __future__ import annotations

import json
import os
import pty
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight.node.digest import Digest, DigestError, Report, make_digest, read_digest, write_digest
from preflight.node.fleet import Expectation, Fleet, merge
from preflight.node.frames import LONGEST, Collector, collect, make_frames
from preflight.node.hosts import expand_hosts, fold_hosts, natural
from preflight.node.profiles import build_node

from .conftest import REPOSITORY, MachineMaker
from .fake import write_profile

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)
DIGESTS = st.builds(
    Digest,
    host=st.from_regex(r"[a-z][a-z0-9.-]{0,20}", fullmatch=True),
    silence=st.none(),
    remedy=st.none(),
    facts=st.dictionaries(WORDS, WORDS, max_size=30),
    cliques=st.dictionaries(WORDS, st.integers(0, 72), max_size=3),
    findings=st.lists(st.builds(Report, WORDS, st.just("error"), WORDS, st.none() | WORDS), max_size=20).map(
        tuple
    ),
    seconds=st.floats(0, 60),
)


def digest(host: str, text: str = "hgx-h100", *findings: Report) -> Digest:
    return make_digest(build_node(text)._replace(host=host), findings)


def fleet_of(digests: dict[str, str], **expected: object) -> Fleet:
    """The verdict on hosts with these profiles."""
    lines = [frame.decode() for host, text in digests.items() for frame in make_frames(digest(host, text))]
    hosts = expected.pop("hosts", tuple(digests))
    return merge(collect(lines), Expectation(hosts=hosts, **expected))  # type: ignore[arg-type]


def named(fleet: Fleet) -> dict[str, tuple[str, ...]]:
    return {verdict.rule: verdict.hosts for verdict in fleet.verdicts}


@given(DIGESTS)
def test_a_digest_survives_json(one: Digest) -> None:
    assert read_digest(write_digest(one)) == one


@given(DIGESTS, st.randoms())
def test_frames_survive_any_order_and_company(one: Digest, chance: random.Random) -> None:
    frames = [frame.decode() for frame in make_frames(one)]
    assert all(len(frame.encode()) <= LONGEST for frame in frames)
    assert all(frame.endswith("\n") and frame.count("\n") == 1 for frame in frames)
    lines = [
        *(f"{chance.choice(['', '12: ', 'n7: '])}{frame}" for frame in frames),
        "a prolog speaks\n",
        "\n",
        "@PF1\n",
    ]
    chance.shuffle(lines)
    assert collect(lines).digests == {one.host: one}


@settings(max_examples=60)
@given(DIGESTS, st.integers(0, 2000), st.integers(0, 255))
def test_a_damaged_frame_is_never_believed(one: Digest, at: int, byte: int) -> None:
    """Whatever single byte is damaged, the digest arrives as it was or not at all."""
    frames = make_frames(one)
    data = bytearray(b"".join(frames))
    data[at % len(data)] = byte
    got = collect(bytes(data).decode("utf-8", "replace").splitlines(keepends=True)).digests
    assert all(each == one for each in got.values())


def test_a_frame_cut_in_two_is_counted_and_its_host_named() -> None:
    one = digest(
        "n1", "hgx-h100", *(Report(f"rule-{n}", "error", os.urandom(60).hex(), None) for n in range(20))
    )
    frames = [frame.decode() for frame in make_frames(one)]
    assert len(frames) > 2
    collection = collect([*frames[:-1], frames[-1][:200]])
    assert collection.damaged == 1
    fleet = merge(collection, Expectation(hosts=("n1",)))
    assert [v.message for v in fleet.verdicts] == [
        f"no whole answer: {len(frames) - 1} of {len(frames)} frames arrived"
    ]


def test_a_payload_that_swells_is_refused() -> None:
    import base64
    import zlib

    payload = base64.b64encode(zlib.compress(b"[" * (64 << 20))).decode()
    chunks = [payload[at : at + 600] for at in range(0, len(payload), 600)]
    collector = Collector()
    for number, chunk in enumerate(chunks, 1):
        collector.feed(f"@PF1 n1 abcdef {number}/{len(chunks)} {zlib.crc32(chunk.encode()):08x} {chunk}\n")
    collection = collector.finish()
    assert collection.digests == {}
    assert collection.damaged == 1


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"schema": 2, "digest": "n"}', '{"schema": 1, "digest": "n", "findings": [1]}']
)
def test_what_is_no_digest_is_refused(text: str) -> None:
    with pytest.raises(DigestError):
        read_digest(text)


def test_missing_hosts_are_named_and_folded() -> None:
    fleet = fleet_of({"n1": "hgx-h100"}, hosts=tuple(f"n{n}" for n in range(1, 9)))
    assert named(fleet) == {"fleet-no-answer": tuple(f"n{n}" for n in range(2, 9))}
    assert fold_hosts(fleet.verdicts[0].hosts) == "n[2-8]"
    assert fleet.silent == tuple(f"n{n}" for n in range(2, 9))


def test_the_launchers_words_stand_beside_the_host_they_name() -> None:
    lines = [
        *(f.decode() for f in make_frames(digest("n1"))),
        "srun: error: Task launch for StepId=8.0 failed on node n11: Communication connection failure\n",
    ]
    fleet = merge(collect(lines), Expectation(hosts=("n1", "n11", "n111")))
    messages = {verdict.hosts: verdict.message for verdict in fleet.verdicts}
    assert "Communication connection failure" in messages["n11",]
    assert messages["n111",] == "no answer"


def test_a_full_name_answers_for_a_short_one() -> None:
    fleet = fleet_of({"n1.cluster.example": "hgx-h100", "n2": "hgx-h100"}, hosts=("n1", "n2"))
    assert fleet.verdicts == ()
    assert fleet.answered == ("n1", "n2")


def test_a_host_that_answers_twice_is_noted_and_the_last_counts() -> None:
    lines = [f.decode() for text in ("hgx-h100", "hgx-h200") for f in make_frames(digest("n1", text))]
    collection = collect(lines)
    assert collection.digests["n1"].facts["product"] == "NVIDIA H200"
    assert named(merge(collection, Expectation(("n1",)))) == {"fleet-repeated-answer": ("n1",)}


def test_a_stranger_is_noted() -> None:
    assert named(fleet_of({"n1": "hgx-h100", "x": "hgx-h100"}, hosts=("n1",))) == {
        "fleet-unexpected-node": ("x",)
    }


ODD = {
    "a driver": ("hgx-h100 driver=550.54.15", {"fleet-driver-odd": ("n2",)}),
    "a driver and its CUDA, blamed once": (
        "hgx-h100 driver=550.54.15 cuda=12040",
        {"fleet-driver-odd": ("n2",)},
    ),
    "a GPU less": ("hgx-h100 gpus.7=null", {"fleet-gpus-odd": ("n2",)}),
    "a VBIOS": ("hgx-h100 gpus.3.vbios=96.00.61.00.01", {"fleet-vbios-odd": ("n2",)}),
    "less memory": ("hgx-h100 gpus.*.memory_total=77309411328", {"fleet-memory-odd": ("n2",)}),
    "MIG": ("hgx-h100 gpus.*.mig=1", {"fleet-mig-odd": ("n2",)}),
    "ECC off": ("hgx-h100 gpus.*.ecc=0", {"fleet-ecc-odd": ("n2",)}),
    "fewer links": ("hgx-h100 gpus.1.link_count=12", {"fleet-links-odd": ("n2",)}),
    "other wiring": ("hgx-h100 peers.2=[5,5,null,5,5,5,5,5] peers.*.2=5", {"fleet-graph-odd": ("n2",)}),
    "another NCCL": ('hgx-h100 software.nccl=\\"2.19.3\\"', {"fleet-nccl-odd": ("n2",)}),
    "another product": ("hgx-h200", {"fleet-product-odd": ("n2",)}),
}


@pytest.mark.parametrize("case", ODD)
def test_the_odd_one_out_is_found(case: str) -> None:
    text, wanted = ODD[case]
    usual = 'hgx-h100 software.nccl=\\"2.21.5\\"' if case == "another NCCL" else "hgx-h100"
    fleet = fleet_of({f"n{n}": text if n == 2 else usual for n in range(1, 6)})
    assert named(fleet) == wanted
    assert fleet.healthy == ("n1", "n3", "n4", "n5")


PLANTS = {
    "driver": "550.54.15",
    "vbios": "96.00.61.00.01",
    "gpus": "7",
    "memory": "73728 MiB",
    "links": "16 of 18",
    "mig": "on",
    "ecc": "off",
    "python": "3.9.1",
}


@given(st.integers(3, 60), st.data())
def test_a_majority_names_exactly_the_odd_ones(size: int, data: st.DataObject) -> None:
    """Whatever differs on fewer than half of the nodes is named, and no other node is."""
    usual = digest("x").facts
    odd: dict[str, set[str]] = {}
    nodes = {f"n{n}": {**usual, "python": "3.11.7"} for n in range(size)}
    for fact in data.draw(st.sets(st.sampled_from(sorted(PLANTS)), max_size=4)):
        chosen = data.draw(st.sets(st.sampled_from(sorted(nodes)), min_size=1, max_size=(size - 1) // 2))
        for host in chosen:
            nodes[host][fact] = PLANTS[fact]
        odd[f"fleet-{fact}-odd"] = chosen
    lines = [f.decode() for host, facts in nodes.items() for f in make_frames(Digest(host, facts=facts))]
    fleet = merge(collect(lines), Expectation(tuple(nodes)))
    assert {rule: set(hosts) for rule, hosts in named(fleet).items()} == odd


def test_two_nodes_are_no_majority() -> None:
    fleet = fleet_of({"n1": "hgx-h100", "n2": "hgx-h100 driver=550.54.15"})
    assert [(v.rule, v.severity) for v in fleet.verdicts] == [("fleet-driver-split", "warning")]
    assert "no majority" in fleet.verdicts[0].message


def test_half_is_no_majority() -> None:
    fleet = fleet_of({f"n{n}": "hgx-h100" if n % 2 else "hgx-h100 driver=550.54.15" for n in range(6)})
    assert [v.rule for v in fleet.verdicts] == ["fleet-driver-split"]


def test_products_vote_for_themselves() -> None:
    """Three H100 nodes and three H200 nodes: other memory is no fault of either."""
    fleet = fleet_of({f"n{n}": "hgx-h100" if n < 3 else "hgx-h200" for n in range(6)})
    assert [v.rule for v in fleet.verdicts] == ["fleet-product-split"]


def test_a_reading_that_is_not_there_has_no_vote_and_no_blame() -> None:
    fleet = fleet_of({f"n{n}": "hgx-h100 gpus.*.vbios=null" if n == 2 else "hgx-h100" for n in range(5)})
    assert fleet.verdicts == ()


def test_what_is_expected_beats_the_vote() -> None:
    whole = {f"n{n}": "hgx-h100 driver=550.54.15" for n in range(5)}
    whole["n5"] = "hgx-h100"
    fleet = fleet_of(whole, facts={"driver": ("570.158.01",), "gpus": ("8",)})
    assert named(fleet) == {"fleet-driver-unexpected": ("n0", "n1", "n2", "n3", "n4")}
    assert fleet.verdicts[0].severity == "error"


def test_findings_of_equal_words_are_one() -> None:
    finding = Report("mig-on", "error", "GPU 3: MIG mode is on", "nvidia-smi -mig 0")
    lines = [f.decode() for n in (3, 1, 2) for f in make_frames(digest(f"n{n}", "hgx-h100", finding))]
    fleet = merge(collect(lines), Expectation())
    assert [(v.rule, v.hosts) for v in fleet.verdicts] == [("mig-on", ("n1", "n2", "n3"))]


def test_worst_comes_first() -> None:
    lines = [f.decode() for f in make_frames(digest("n1", "hgx-h100", Report("a", "warning", "w", None)))]
    lines += [f.decode() for f in make_frames(digest("n2", "hgx-h100", Report("b", "error", "e", None)))]
    fleet = merge(collect(lines), Expectation(("n1", "n2", "n3")))
    assert [v.rule for v in fleet.verdicts] == ["fleet-no-answer", "b", "a"]


def rack(trays: int, clique: int = 32766) -> dict[str, str]:
    return {f"r{clique}t{n:02}": f"gb200-nvl72-tray gpus.*.fabric.clique={clique}" for n in range(trays)}


@pytest.mark.parametrize(
    ("racks", "planned", "wanted"),
    [
        ({1: 18}, 72, {"fleet-clique"}),
        ({1: 18}, None, {"fleet-clique"}),
        ({1: 17}, 72, {"fleet-clique-below-plan"}),
        ({1: 9, 2: 9}, 36, {"fleet-clique"}),
        ({1: 9, 2: 9}, 72, {"fleet-clique-below-plan"}),
        ({1: 10}, 16, {"fleet-clique-not-whole"}),
    ],
    ids=[
        "a whole rack",
        "no plan",
        "a tray less",
        "two halves",
        "two halves for one domain",
        "not whole groups",
    ],
)
def test_cliques_are_held_against_the_plan(
    racks: dict[int, int], planned: int | None, wanted: set[str]
) -> None:
    nodes = {host: text for clique, trays in racks.items() for host, text in rack(trays, clique).items()}
    fleet = fleet_of(nodes, domain=planned)
    assert {v.rule for v in fleet.verdicts} == wanted
    sizes = sorted(sum(hosts.values()) for hosts in fleet.cliques.values())
    assert sizes == sorted(4 * trays for trays in racks.values())


def test_a_tray_outside_of_every_clique_is_named() -> None:
    nodes = {**rack(4), "x": "gb200-nvl72-tray gpus.*.fabric=null"}
    assert named(fleet_of(nodes, domain=16))["fleet-clique-none"] == ("x",)


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n[1-3]", ("n1", "n2", "n3")),
        ("n1,n2", ("n1", "n2")),
        ("a b\nc\n", ("a", "b", "c")),
        ("n[01-02],x", ("n01", "n02", "x")),
        ("", ()),
    ],
)
def test_lists_of_hosts(text: str, hosts: tuple[str, ...]) -> None:
    assert expand_hosts(text) == hosts


def test_a_list_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="not a list of hosts"):
        expand_hosts("n[1-")


def test_natural_order() -> None:
    assert sorted(["n10", "n9", "n2a", "m1"], key=natural) == ["m1", "n2a", "n9", "n10"]


def write_stream(path: Path, count: int) -> None:
    """Frames of many nodes: a hang, a missing one, an odd driver, faults, with a launcher's noise between them."""
    usual = digest("x", "hgx-h100")
    with path.open("wb") as stream:
        for number in range(1, count + 1):
            if number == 77:
                continue
            one = usual._replace(host=f"n{number}")
            if number % 1000 == 5:
                one = one._replace(facts={**one.facts, "driver": "550.54.15"})
            if number % 500 == 9:
                one = one._replace(
                    findings=(Report("gpu-lost", "error", f"GPU {number % 8} fell off the bus", "reset"),)
                )
            if number == 123:
                one = Digest(f"n{number}", "no answer from NVML in 20 s", "reboot")
            for frame in make_frames(one):
                stream.write(frame)
            stream.write(b"a task prolog prints this line\n")


def test_five_thousand_nodes_in_two_seconds(tmp_path: Path) -> None:
    """The command, start to end, in processor time: others may use this machine meanwhile; the best of three."""
    stream = tmp_path / "frames"
    write_stream(stream, 5000)
    took = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with stream.open("rb") as source:
            done = subprocess.run(
                [sys.executable, "-m", "preflight", "fleet", "gather", "--expect", "n[1-5000]", "--output", "json"],
                stdin=source, capture_output=True, check=False, env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    document = json.loads(done.stdout)
    found = {f["rule"]: f["hosts"] for f in document["findings"] if f["rule"] != "gpu-lost"}
    assert found["fleet-no-answer"] == ["n77"]
    assert found["fleet-nvml-silent"] == ["n123"]
    assert found["fleet-driver-odd"] == ["n5", "n1005", "n2005", "n3005", "n4005"]
    assert done.returncode == 3
    assert min(took) < 2.0, took


def run_gather(words: list[str], text: str = "") -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
    return subprocess.run(
        [sys.executable, "-m", "preflight", "fleet", *words],
        input=text, text=True, capture_output=True, check=False, env={**kept, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "status", "words_on_error"),
    [
        (["gather"], 3, "no node's answer was found"),
        (["gather", "--expect", "n[1-"], 2, "not a list of hosts"),
        (["gather", "--expect", "@/no/such/file"], 2, "no such file"),
        (["gather", "/no/such/file"], 2, "no such file"),
        (["gather", "--output", "xml"], 2, "no output format"),
        (["scatter"], 2, "invalid choice"),
        ([], 2, ""),
    ],
    ids=["nothing arrives", "a bad list", "no list", "no input", "no format", "no action", "nothing asked"],
)
def test_bad_invocations(words: list[str], status: int, words_on_error: str) -> None:
    done = run_gather(words)
    assert done.returncode == status
    assert words_on_error in done.stderr
    assert "Traceback" not in done.stderr


def test_the_text_folds_hosts_and_says_what_to_do() -> None:
    lost = Report("gpu-lost", "error", "GPU 3 of 8 fell off the bus", "reset it")
    text = "".join(
        frame.decode()
        for n in range(1, 9)
        for frame in make_frames(digest(f"n{n}", "hgx-h100", *([lost] if n in (2, 3, 4) else [])))
    )
    done = run_gather(["gather", "--expect", "n[1-8]"], text)
    assert done.returncode == 4
    assert done.stdout.splitlines() == [
        "error[gpu-lost]: GPU 3 of 8 fell off the bus",
        "  --> n[2-4]  3 nodes",
        "  = help: reset it",
        "",
        "8 of 8 nodes answered; 5 without findings, 3 with errors",
    ]


def test_reading_ends_at_the_deadline() -> None:
    """A launcher that never closes its output does not keep the verdict back."""
    started = time.monotonic()
    receiver, sender = os.pipe()
    try:
        for frame in make_frames(digest("n1")):
            os.write(sender, frame)
        done = subprocess.run(
            [sys.executable, "-m", "preflight", "fleet", "gather", "--expect", "n[1-2]", "--deadline", "1"],
            stdin=receiver, capture_output=True, text=True, check=False, timeout=20,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        )  # fmt: skip
    finally:
        os.close(receiver)
        os.close(sender)
    assert time.monotonic() - started < 10
    assert done.returncode == 3
    assert "1 of 2 nodes answered" in done.stdout


def test_clush_brings_the_frames(machine: MachineMaker, installed: Path, tmp_path: Path) -> None:
    """ClusterShell's own worker runs the probes on this host under eight names; one driver hangs, one GPU is gone."""
    there = machine("hgx-h100")
    profiles = tmp_path / "nvml"
    profiles.mkdir()
    for number in range(1, 9):
        extra = {"gpu__1__name": "@60:x"} if number == 3 else {}
        text = "hgx-h100 gpus.7=null" if number == 6 else "hgx-h100"
        (profiles / f"n{number}.nvml").write_text(write_profile(build_node(text), **extra))
    environment = {name: value for name, value in there.environment.items() if name != "FAKE_NVML_PROFILE"}
    environment |= {
        "FAKE_NVML_DIR": str(profiles),
        "PREFLIGHT_NODE_ROOT": str(tmp_path),
        "PYTHONPATH": str(installed),
    }
    python = sys.executable
    clush = Path(python).with_name("clush")
    probe = f"env SLURMD_NODENAME=%h {python} -m preflight node --isolated --frames --deadline 6"
    gather = f"{python} -m preflight fleet gather --expect n[1-9] --output json"
    line = f"{clush} -R exec -w n[1-8] -u 40 -N {probe} | {gather}"
    done = subprocess.run(
        ["bash", "-c", line], env=environment, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    found = {f["rule"]: f["hosts"] for f in json.loads(done.stdout)["findings"]}
    assert found == {"fleet-no-answer": ["n9"], "fleet-nvml-silent": ["n3"], "fleet-gpus-odd": ["n6"]}
    assert done.returncode == 3


def test_progress_is_shown_on_a_terminal_and_the_verdict_is_not_disturbed() -> None:
    """Standard error is a terminal, standard output a pipe: the bar counts there, the text here is plain."""
    text = b"".join(frame for n in (1, 2, 3) for frame in make_frames(digest(f"n{n}")))
    controller, terminal = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "preflight", "fleet", "gather", "--expect", "n[1-4]"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=terminal,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), "TERM": "xterm"},
        )  # fmt: skip
        os.close(terminal)
        out, _ = process.communicate(text, timeout=30)
        shown = os.read(controller, 1 << 16).decode()
    finally:
        os.close(controller)
    assert "3/4" in shown
    assert "nodes" in shown
    assert "\x1b" not in out.decode()
    assert "3 of 4 nodes answered" in out.decode()
