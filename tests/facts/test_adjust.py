"""What Megatron changes by itself, release by release."""

from __future__ import annotations

import pytest

from preflight.configuration.bind import bind_launch
from preflight.facts.adjust import ADJUSTMENTS
from preflight.facts.catalogue import ENTRIES, fact_types
from preflight.facts.derive import NOTHING_SAID, derive_facts
from preflight.facts.derived import DERIVATIONS
from preflight.targets.table import load_table
from tests.configuration.launches import make_launch
from tests.facts.settings import facts_of

SIZES = "--num-layers 16 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --micro-batch-size 1 "


@pytest.mark.parametrize(
    ("arguments", "release", "name", "value"),
    [
        pytest.param("--sequence-parallel", "core_v0.19.0", "sequence_parallel", False, id="nothing to split at TP 1"),
        pytest.param(
            "--sequence-parallel --tensor-model-parallel-size 2",
            "core_v0.19.0",
            "sequence_parallel",
            True,
            id="kept at TP 2",
        ),
        pytest.param(
            SIZES + "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 4",
            "core_v0.13.1",
            "virtual_pipeline_model_parallel_size",
            1,
            id="one virtual stage stays one before 0.14",
        ),
        pytest.param(
            SIZES + "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 4",
            "core_v0.14.0",
            "virtual_pipeline_model_parallel_size",
            None,
            id="one virtual stage is none from 0.14",
        ),
        pytest.param(
            SIZES + "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*4|t*4|t*4|t*4,L",
            "core_v0.19.0",
            "virtual_pipeline_model_parallel_size",
            2,
            id="virtual stages from a layout",
        ),
        pytest.param(
            SIZES + "--pipeline-model-parallel-size 2",
            "core_v0.19.0",
            "overlap_p2p_comm",
            False,
            id="the plain schedule does not overlap",
        ),
        pytest.param(SIZES + "--swiglu", "core_v0.19.0", "ffn_hidden_size", 2688, id="gates take two thirds"),
        pytest.param(SIZES, "core_v0.19.0", "ffn_hidden_size", 4096, id="four times without gates"),
        pytest.param(SIZES, "core_v0.19.0", "global_batch_size", 8, id="one micro batch for each rank"),
        pytest.param(
            SIZES + "--tensor-model-parallel-size 16",
            "core_v0.19.0",
            "global_batch_size",
            None,
            id="no model fits the ranks, and so no batch",
        ),
        pytest.param("--num-experts 0", "core_v0.19.0", "num_experts", None, id="no experts is dense"),
        pytest.param("--num-experts 0", "core_v0.7.0", "num_experts", 0, id="zero stays zero before 0.8"),
        pytest.param(
            "--tensor-model-parallel-size 16",
            "core_r0.8.0",
            "tensor_model_parallel_size",
            8,
            id="old releases cut TP to the world",
        ),
        pytest.param(
            "--tensor-model-parallel-size 16",
            "core_v0.9.0",
            "tensor_model_parallel_size",
            16,
            id="newer ones refuse instead",
        ),
        pytest.param(
            "--hybrid-layer-pattern M*M*|M-M-/MM/MM", "core_v0.19.0", "num_layers", 8, id="a pattern counts layers"
        ),
        pytest.param(
            "--hybrid-layer-pattern M*M*|M-M-/MM/MM", "core_v0.19.0", "mtp_num_layers", 2, id="a pattern counts depths"
        ),
        pytest.param(
            "--optimizer muon --use-distributed-optimizer",
            "core_v0.19.0",
            "use_distributed_optimizer",
            False,
            id="emerging optimizers distribute by layer",
        ),
        pytest.param(
            SIZES + "--group-query-attention --num-query-groups 4",
            "core_v0.19.0",
            "config_num_query_groups",
            4,
            id="groups with their switch",
        ),
        pytest.param(
            SIZES + "--num-query-groups 4", "core_v0.19.0", "config_num_query_groups", 16, id="groups without it"
        ),
        pytest.param("--rampup-batch-size 2 2 100 --global-batch-size 64 --micro-batch-size 1 --train-samples 9",
            "core_v0.17.1", "first_global_batch_size", 2, id="a ramp-up begins small"),
        pytest.param("--rampup-batch-size 2 2 100 --global-batch-size 64 --micro-batch-size 1 --train-samples 9",
            "core_v0.19.0", "first_global_batch_size", 64, id="later releases ignore it"),
    ],
)  # fmt: skip
def test_a_setting_becomes_what_megatron_uses(arguments: str, release: str, name: str, value: object) -> None:
    fact = facts_of(arguments, release)[name]
    assert fact.known
    assert fact.value == value


def test_a_fork_is_one_where_nobody_named_the_release() -> None:
    launch = make_launch(["--use-flash-attn"], kind="msrun")
    for assumed in (True, False):
        (configuration,) = bind_launch(launch, load_table("core_v0.19.0"), assumed=assumed)
        assert derive_facts(configuration, NOTHING_SAID)["fork"].value is assumed


def test_what_was_asked_for_stays_known() -> None:
    facts = facts_of("--sequence-parallel --num-experts 0")
    assert (facts["requested_sequence_parallel"].value, facts["given_sequence_parallel"].value) == (
        True,
        True,
    )
    assert (facts["requested_num_experts"].value, facts["given_num_layers"].value) == (0, False)


@pytest.mark.parametrize(
    ("arguments", "release", "layers"),
    [
        pytest.param("--num-layers 7 --pipeline-model-parallel-size 2", "core_v0.9.0", (3, 3), id="dropped"),
        pytest.param("--num-layers 7 --pipeline-model-parallel-size 2", "core_v0.19.0", None, id="refused"),
        pytest.param(
            "--num-layers 18 --pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 3 "
            "--decoder-last-pipeline-num-layers 5",
            "core_v0.19.0",
            (3, 5, 5, 5),
            id="uneven ends",
        ),
        pytest.param(
            "--num-layers 14 --pipeline-model-parallel-size 4 --account-for-embedding-in-pipeline-split "
            "--account-for-loss-in-pipeline-split",
            "core_v0.19.0",
            (3, 4, 4, 3),
            id="embedding and loss take a slot",
        ),
    ],
)
def test_layers_of_the_stages(arguments: str, release: str, layers: tuple[int, ...] | None) -> None:
    assert facts_of(arguments, release)["layers_per_stage"].value == layers


def test_every_fact_that_is_written_has_an_entry_or_a_flag() -> None:
    types = fact_types()
    assert [step.writes for step in ADJUSTMENTS + DERIVATIONS if step.writes not in types] == []


def test_every_entry_is_explained() -> None:
    assert [entry.name for entry in ENTRIES.values() if len(entry.doc) < 10 or entry.doc.endswith(".")] == []
