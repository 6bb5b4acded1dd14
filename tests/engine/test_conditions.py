"""What conditions come to is carried from one configuration to the next where nothing that they ask for changed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest

from preflight.chain import Request, resolve
from preflight.cli.session import shipped_rules
from preflight.engine.conditions import Truths
from preflight.engine.run import Outcome, Subject, run_rules
from preflight.facts.model import Fact
from preflight.source import Source

LAUNCH = """#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node {processes} pretrain_gpt.py --num-layers {layers} --hidden-size 1024 \\
  --num-attention-heads {heads} --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 \\
  --global-batch-size 64 --bf16 --train-iters 100 --lr 1e-4 --tokenizer-type NullTokenizer --vocab-size 32000 \\
  --mock-data --tensor-model-parallel-size {tensor} {rest}
"""
BASE = {"processes": "8", "layers": "8", "heads": "16", "tensor": "2", "rest": ""}
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
)


def read_facts(change: Mapping[str, str]) -> Mapping[str, Fact]:
    source = Source("train.sh", LAUNCH.format(**{**BASE, **change}).encode())
    resolved = resolve(source, Request(shipped_rules(), target="core_v0.19.0"))
    assert resolved is not None
    ((_, facts),) = resolved.launches[0].configurations
    return facts


def judge(facts: Mapping[str, Fact], earlier: Truths | None) -> Outcome:
    return run_rules(shipped_rules(), Subject(facts, (), "core_v0.19.0", "train.sh", None), None, earlier)


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(CHANGES, 2)))
def test_an_earlier_configuration_changes_no_verdict(first: dict[str, str], second: dict[str, str]) -> None:
    alone = judge(read_facts(second), None)
    before = judge(read_facts(first), None)
    after = judge(read_facts(second), before.truths)
    assert [d.message for d in after.findings] == [d.message for d in alone.findings]
    assert after.undecided == alone.undecided


def test_a_chain_of_configurations_changes_no_verdict() -> None:
    truths = None
    for change in (*CHANGES, *reversed(CHANGES)):
        outcome = judge(read_facts(change), truths)
        alone = judge(read_facts(change), None)
        assert [d.message for d in outcome.findings] == [d.message for d in alone.findings]
        assert outcome.undecided == alone.undecided
        truths = outcome.truths


def test_what_did_not_change_is_not_worked_out_again() -> None:
    before = judge(read_facts({}), None)
    after = Truths(read_facts({"tensor": "4"}), before.truths)
    assert len(after._known) > len(before.truths._known) / 2
