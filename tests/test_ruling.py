"""Which rules speak of a configuration that code builds, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight

IMPORT = "from {place} import TransformerConfig\n\n"
BODY = "config = TransformerConfig(num_layers=8, hidden_size=64, num_attention_heads=4, {more})\n"


def errors(folder: Path, name: str, place: str, more: str) -> list[str]:
    path = folder / name
    path.write_text(IMPORT.format(place=place) + BODY.format(more=more))
    document = preflight.check(
        str(path), target="core_v0.19.0", options=["--isolated", "--root", str(folder)]
    )
    assert document["files"][0]["launches"] == 1
    return [finding["rule"] for finding in document["findings"] if finding["severity"] == "error"]


TOO_MANY = "num_moe_experts=1, moe_router_topk=2, add_bias_linear=False"
ALONE = "tensor_model_parallel_size=1, sequence_parallel=True"


@pytest.mark.parametrize(
    ("name", "place", "more", "expected"),
    [
        ("recipe.py", "megatron.core.transformer", TOO_MANY, ["router-topk-above-experts"]),
        ("test_layer.py", "megatron.core.transformer", TOO_MANY, []),
        ("layer_test.py", "megatron.core.transformer", TOO_MANY, []),
        ("test_layer.py", "megatron.core.transformer", ALONE, ["sequence-parallel-in-code"]),
        ("recipe.py", "megatron.core.transformer", ALONE, ["sequence-parallel-in-code"]),
        ("recipe.py", "other.models", ALONE, []),
    ],
    ids=[
        "what is made to be trained",
        "what a test only makes",
        "another name of a test",
        "what cannot even be made",
        "Megatron's own class",
        "a class derived from it, which may adjust its fields first",
    ],
)
def test_what_counts_for_settings_in_code(
    tmp_path: Path, name: str, place: str, more: str, expected: list[str]
) -> None:
    assert errors(tmp_path, name, place, more) == expected


def test_what_is_set_after_the_class_has_checked_is_not_refused(tmp_path: Path) -> None:
    kept = errors(tmp_path, "kept.py", "megatron.core.transformer", "tensor_model_parallel_size=3")
    later = "sequence_parallel=False)\nconfig.tensor_model_parallel_size = 3\nprint(config"
    assert "heads-not-divisible-by-tp" in kept
    assert "heads-not-divisible-by-tp" not in errors(tmp_path, "set.py", "megatron.core.transformer", later)


BRANCHES = """
if [ -n "$NAMED" ]; then MORE="--seed 1"; fi
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --num-layers 9 $MORE
"""


def test_what_holds_on_every_branch_names_none(tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_text(BRANCHES)
    document = preflight.check(str(path), target="core_v0.19.0", options=["--isolated"])
    (finding,) = [f for f in document["findings"] if f["rule"] == "repeated-flag"]
    assert finding["when"] == []
