"""Laziness, unknowns and where facts come from."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.configuration.bind import bind_launch
from preflight.configuration.model import Bound, Configuration
from preflight.facts.derive import derive_facts
from preflight.facts.surroundings import PROFILES, ProfileError, Surroundings, find_profile
from preflight.launch.model import Launch, Number
from preflight.source import Source, Span
from preflight.targets.table import load_table
from preflight.values import Unknown
from tests.agreement.rows import build_launch
from tests.facts.settings import NEWEST, facts_of

ARGUMENTS = (
    "--num-layers 16 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --micro-batch-size 2 "
    "--global-batch-size 64 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --sequence-parallel "
    "--num-layers-per-virtual-pipeline-stage 2 --bf16 --num-experts 8 --expert-model-parallel-size 2"
)
HIDDEN = (
    "num_layers", "tensor_model_parallel_size", "pipeline_model_parallel_size", "micro_batch_size", "sequence_parallel",
    "num_experts", "hidden_size", "num_layers_per_virtual_pipeline_stage", "bf16", "global_batch_size",
)  # fmt: skip
NAMES = (
    "data_parallel_size", "num_microbatches", "layers_per_stage", "sequence_parallel", "ffn_hidden_size",
    "virtual_pipeline_model_parallel_size", "params_dtype", "moe_ffn_hidden_size", "expert_data_parallel_size",
    "config_num_query_groups", "overlap_p2p_comm", "accumulate_allreduce_grads_in_fp32", "pipeline_slots",
)  # fmt: skip
VALUES: dict[str, st.SearchStrategy[int]] = {
    name: st.booleans() if name in ("sequence_parallel", "bf16") else st.integers(0, 16) for name in HIDDEN
}


def bind(arguments: str, release: str = NEWEST) -> Configuration:
    (configuration,) = bind_launch(build_launch(arguments.split(), {"WORLD_SIZE": "16"}), load_table(release))
    return configuration


def replace(
    configuration: Configuration, change: Callable[[Bound], Bound], names: tuple[str, ...]
) -> Configuration:
    values = {name: configuration.values[name] for name in configuration.values}
    for name in names:
        values[name] = change(values[name])
    return configuration._replace(values=values)


@given(st.data())
def test_deciding_an_unknown_never_changes_a_known_fact(data: st.DataObject) -> None:
    release = data.draw(st.sampled_from(["core_v0.5.0", "core_v0.10.0", "core_v0.13.1", NEWEST]))
    hidden = tuple(data.draw(st.lists(st.sampled_from(HIDDEN), min_size=1, max_size=3, unique=True)))
    configuration = bind(ARGUMENTS, release)
    unknown = Unknown("environment", "$X", "X")
    partial = derive_facts(replace(configuration, lambda bound: bound._replace(unknown=unknown), hidden))
    decided = {name: data.draw(VALUES[name]) for name in hidden}
    full = derive_facts(
        replace(configuration, lambda bound: bound._replace(value=decided[bound.destination]), hidden)
    )
    for name in NAMES:
        if partial[name].known:
            assert partial[name].value == full[name].value, name
        else:
            assert partial[name].blocked_by[0].unknown == unknown


def test_a_derived_fact_shows_where_its_inputs_stand() -> None:
    fact = facts_of(ARGUMENTS, world=16)["num_microbatches"]
    texts = [place.span.text.replace("\n", " ") for place in fact.evidence]
    assert "--global-batch-size 64" in texts
    assert "--micro-batch-size 2" in texts
    assert fact.value == 64 // (2 * 4)


def test_a_flag_shows_its_use_first() -> None:
    fact = facts_of("--num-layers 16")["num_layers"]
    assert fact.evidence[0].span.text.replace("\n", " ") == "--num-layers 16"
    assert (fact.origin, fact.evidence[0].text) == ("flag", "16")


def test_a_default_has_no_place() -> None:
    fact = facts_of("")["expert_model_parallel_size"]
    assert (fact.value, fact.origin, fact.evidence) == (1, "default", ())


def test_a_name_that_nothing_gives_is_absent() -> None:
    assert facts_of("")["no_such_setting"].value is None
    assert facts_of("")["no_such_setting"].known


def test_a_variable_of_a_closed_environment_is_unset() -> None:
    facts = facts_of("")
    assert (facts["env_nccl_algo"].known, facts["env_nccl_algo"].value) == (True, None)
    assert facts["env_world_size"].value == "8"


def test_a_variable_of_an_open_environment_is_unknown() -> None:
    launch = build_launch([], {})._replace(closed_environment=False)
    (configuration,) = bind_launch(launch, load_table(NEWEST))
    facts = derive_facts(configuration)
    assert facts["env_nccl_algo"].blocked_by[0].unknown.remedy == "--env NCCL_ALGO=..."
    assert not facts["world_size"].known


def with_topology(nodes: Number, processes: Number, world: Number) -> Launch:
    launch = build_launch([], {})
    return launch._replace(
        launcher=launch.launcher._replace(
            kind="torchrun", nodes=nodes, processes_per_node=processes, world_size=world
        )
    )


def number(value: int | None, text: str = "") -> Number:
    if not text:
        return Number(value, "launcher")
    return Number(None, "launcher", Span(Source("x", b"x"), 0, 1), Unknown("environment", text, text[1:]))


@pytest.mark.parametrize(
    ("nodes", "processes", "world", "surroundings", "expected"),
    [
        pytest.param(number(2), number(8), number(16), Surroundings(), 16, id="the launcher says it"),
        pytest.param(
            number(2), number(8), number(16), Surroundings(nodes=4), 16, id="and wins over an option"
        ),
        pytest.param(
            number(None, "$N"),
            number(8),
            number(None, "$N"),
            Surroundings(nodes=4),
            32,
            id="--nodes fills in",
        ),
        pytest.param(
            number(2),
            number(None),
            number(None),
            Surroundings(gpus_per_node=4),
            8,
            id="--gpus-per-node fills in",
        ),
        pytest.param(
            number(None, "$N"), number(8), number(None, "$N"), Surroundings(), None, id="else it is unknown"
        ),
    ],
)
def test_the_world_size(
    nodes: Number, processes: Number, world: Number, surroundings: Surroundings, expected: int | None
) -> None:
    (configuration,) = bind_launch(with_topology(nodes, processes, world), load_table(NEWEST))
    fact = derive_facts(configuration, surroundings)["world_size"]
    assert fact.value == expected
    assert fact.known == (expected is not None)


def test_one_process_without_a_word() -> None:
    assert facts_of("", world=None)["world_size"].value == 1


def test_a_profile_is_found_by_name_in_any_case() -> None:
    assert find_profile("GB200").nvlink_domain == 72
    assert {profile.name for profile in PROFILES.values()} == set(PROFILES)
    with pytest.raises(ProfileError, match="h100"):
        find_profile("h1000")


def test_transformer_engine_is_what_the_option_says_else_the_pin() -> None:
    assert facts_of("", "core_v0.15.3")["te_version"].value == (2, 9, 0)
    for text, numbers in (
        ("2.3.0.dev0", (2, 3, 0)),
        ("v2.3", (2, 3)),
        ("2.9rc1", (2, 9)),
        ("2.9.0+cu128", (2, 9, 0)),
    ):
        assert facts_of("", surroundings=Surroundings(te=text))["te_version"].value == numbers


def test_a_file_is_looked_for_only_on_the_machine_of_the_job() -> None:
    arguments = "--nccl-communicator-config-path nccl.yaml"
    assert not facts_of(arguments)["exists_nccl_communicator_config_path"].known
    here = Surroundings(exists=lambda path: path == "nccl.yaml")
    assert facts_of(arguments, surroundings=here)["exists_nccl_communicator_config_path"].value is True
    assert facts_of("", surroundings=here)["exists_nccl_communicator_config_path"].value is None


def test_numbers_that_would_work() -> None:
    facts = facts_of(
        "--num-layers 30 --hidden-size 1920 --num-attention-heads 30 --tensor-model-parallel-size 8 "
        "--pipeline-model-parallel-size 4 --seq-length 2048 --micro-batch-size 2 --global-batch-size 60",
        world=96,
    )
    assert facts["tensor_parallel_choices"].value == (1, 2, 3, 6)
    assert facts["layer_choices"].value == (28, 32)
    assert facts["global_batch_choices"].value == (60, 66)
    for choice in facts["parallel_choices"].value:  # type: ignore[union-attr]
        tp, pp, cp, dp = (int(size) for size in re.findall(r"\d+", str(choice)))
        assert tp * pp * cp * dp == 96
        assert 30 % tp == 0
        assert 30 % pp == 0


def test_a_fork_that_plays_a_world_does_not_have_the_launcher_s() -> None:
    plain = derive_facts(
        bind("--tensor-model-parallel-size 2 --log-world-size-to-tensorboard"), Surroundings()
    )
    played = derive_facts(bind("--tensor-model-parallel-size 2 --fake-world-size 64"), Surroundings())
    assert plain["world_size"].known
    assert not played["world_size"].known
