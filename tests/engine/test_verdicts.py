"""Verdicts go over from one configuration to the next where nothing that they rest on says something else."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Mapping

import pytest

from preflight.chain import Request, resolve
from preflight.cli.session import shipped_rules
from preflight.diagnostics import Diagnostic
from preflight.engine.run import Outcome, Subject, run_rules
from preflight.engine.verdicts import FAILS, MAXIMUM_KEPT, Selection, Verdicts, select_rules
from preflight.facts.derive import Facts
from preflight.facts.model import Fact
from preflight.facts.surroundings import Surroundings
from preflight.source import Source
from preflight.targets.releases import parse_release

LAUNCH = """#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
{head}
torchrun --nproc-per-node {processes} {program} --num-layers {layers} --hidden-size 1024 \\
  --num-attention-heads {heads} --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 \\
  --global-batch-size 64 --bf16 --train-iters 100 --lr 1e-4 --tokenizer-type NullTokenizer --vocab-size 32000 \\
  --mock-data --tensor-model-parallel-size {tensor} {rest}
"""
BASE = {
    "head": "",
    "program": "pretrain_gpt.py",
    "processes": "8",
    "layers": "8",
    "heads": "16",
    "tensor": "2",
    "rest": "",
}
CHANGES: tuple[dict[str, str], ...] = (
    {},
    {"tensor": "3"},
    {"tensor": "$TP"},
    {"layers": "7", "rest": "--pipeline-model-parallel-size 2"},
    {"heads": "12", "tensor": "8"},
    {"processes": "$GPUS"},
    {"rest": '"$@"'},
    {"rest": "--num-experts 6 --expert-model-parallel-size 4"},
    {"rest": "--sequence-parallel --fp16"},
    {"rest": "--virtual-pipeline-model-parallel-size 2"},
    {"rest": "--use-checkpoint-args --load here"},
    {"rest": "--use-checkpoint-args --load here --use-mp-args-from-checkpoint-args"},
    {"rest": "--yaml-cfg here.yaml"},
    {"program": "fork/train.py"},
    {"program": "pretrain_t5.py", "rest": "--encoder-seq-length 512 --decoder-seq-length 128"},
    {"program": "fork/train.py", "rest": "--layer-shares 3 --num-layers-per-stage 4 $MORE"},
    {"rest": "$MORE"},
    {"head": "export NCCL_DEBUG=INFO\nunset CUDA_DEVICE_MAX_CONNECTIONS"},
    {"head": "#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4"},
)
RELEASE = "core_v0.19.0"
ELSEWHERE = ("--use-checkpoint-args", "--yaml-cfg", "--layer-shares")
AROUND = Surroundings()


def read_facts(change: Mapping[str, str]) -> Facts:
    source = Source("train.sh", LAUNCH.format(**{**BASE, **change}).encode())
    resolved = resolve(source, Request(shipped_rules(), target=RELEASE, surroundings=AROUND))
    assert resolved is not None
    ((_, facts),) = resolved.launches[0].configurations
    assert isinstance(facts, Facts)
    return facts


def judge_alone(change: Mapping[str, str]) -> Outcome:
    """The verdicts on facts that nothing is known of before."""
    plain: Mapping[str, Fact] = Plain(read_facts(change))
    return judge(plain)


def judge(facts: Mapping[str, Fact]) -> Outcome:
    return run_rules(shipped_rules(), Subject(facts, (), RELEASE, "train.sh", None))


class Plain(dict[str, Fact]):
    """Facts of which nobody knows where they come from: each configuration of them stands for itself."""

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self.facts = facts

    def get(self, name: str, default: object = None) -> Fact:
        return self.facts[name]

    def __missing__(self, name: str) -> Fact:
        return self.facts[name]


def fresh_selection() -> Selection:
    return Selection(shipped_rules().rules, parse_release(RELEASE))


def start(change: Mapping[str, str]) -> Verdicts:
    return Verdicts(fresh_selection(), read_facts(change))


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(CHANGES, 2)))
def test_an_earlier_configuration_changes_no_verdict(first: dict[str, str], second: dict[str, str]) -> None:
    verdicts, alone = start(first), start(second).found
    facts = read_facts(second)
    changed = facts.list_changes(verdicts.facts)
    if changed is None:
        assert kind_of(first) != kind_of(second)
        return
    verdicts.follow(facts, changed)
    assert verdicts.found == alone


def kind_of(change: Mapping[str, str]) -> tuple[bool, str, list[str]]:
    """What tells kinds of lines apart: whether there may be more of it, the program, and what says all in its place."""
    rest, program = change.get("rest", ""), change.get("program", "")
    return "$" in rest, program, [word for word in rest.split() if word in ELSEWHERE]


def test_a_chain_of_configurations_changes_no_verdict() -> None:
    selection = fresh_selection()
    for change in (*CHANGES, *reversed(CHANGES), *CHANGES[::2], *CHANGES[1::2]):
        assert selection.judge(read_facts(change)) == sorted(start(change).found.items())


def test_a_random_walk_changes_no_verdict() -> None:
    choice, selection = random.Random(7), fresh_selection()
    for _ in range(60):
        change = {key: value for each in choice.sample(CHANGES, 3) for key, value in each.items()}
        assert selection.judge(read_facts(change)) == sorted(start(change).found.items())


def test_findings_and_what_would_decide_are_those_of_the_own_configuration() -> None:
    for change in (*CHANGES, *reversed(CHANGES)):
        shared, alone = judge(read_facts(change)), judge_alone(change)
        assert list(map(describe, shared.findings)) == list(map(describe, alone.findings))
        assert list(shared.undecided) == list(alone.undecided)


def describe(finding: Diagnostic) -> tuple[object, ...]:
    labels = [(label.span.start, label.span.end, label.text) for label in finding.labels]
    return finding.rule, finding.severity, finding.message, finding.help, labels


def test_what_did_not_change_is_not_worked_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[int] = []
    plain = Verdicts._judge

    def count(self: Verdicts, numbers: Collection[int]) -> None:
        judged.append(len(numbers))
        plain(self, numbers)

    monkeypatch.setattr(Verdicts, "_judge", count)
    selection = fresh_selection()
    for tensor in ("2", "4", "3", "3"):
        selection.judge(read_facts({"tensor": tensor}))
    assert judged[0] == len(selection.about_facts) > 500
    assert judged[1] == 0, "4 ranks are as good as 2"
    assert 0 < judged[2] < judged[0] / 10 and judged[3] == 0


def test_a_rule_that_could_not_be_worked_out_is_asked_again() -> None:
    selection = fresh_selection()
    verdicts = Verdicts(selection, read_facts({}))
    verdicts._faulty.add(selection.about_facts[0])
    verdicts.found[selection.about_facts[0]] = FAILS
    verdicts.follow(read_facts({}), ())
    assert verdicts.found == start({}).found


def test_kinds_of_launches_take_turns() -> None:
    selection = select_rules(shipped_rules().rules, parse_release(RELEASE))
    assert selection is select_rules(shipped_rules().rules, parse_release(RELEASE))
    for change in ({}, {"rest": "$MORE"}, {}, {"rest": "$MORE"}):
        selection.judge(read_facts(change))
    assert 2 <= len(selection._kept) <= MAXIMUM_KEPT


def test_an_error_while_going_over_leaves_nothing_half_done(monkeypatch: pytest.MonkeyPatch) -> None:
    selection = fresh_selection()
    selection.judge(read_facts({}))

    def fail(self: Verdicts, *given: object) -> None:
        raise RecursionError

    with monkeypatch.context() as patched:
        patched.setattr(Verdicts, "follow", fail)
        with pytest.raises(RecursionError):
            selection.judge(read_facts({"tensor": "3"}))
    assert selection.judge(read_facts({"tensor": "3"})) == sorted(start({"tensor": "3"}).found.items())
