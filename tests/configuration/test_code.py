"""Configurations that code builds, bound to Megatron's names."""

from __future__ import annotations

import pytest

from preflight.configuration.code import bind_code
from preflight.execution import CodeConfiguration, Word
from preflight.launch.build import build_code_launch
from preflight.source import Source
from preflight.targets.table import load_table
from preflight.values import Text

SOURCE = Source("build.py", b"TransformerConfig()")


def bind(**settings: str) -> dict[str, object]:
    """What is known of the two switches of precision."""
    span = SOURCE.span(0, 10)
    words = {name: Word(Text.literal(text, span), span) for name, text in settings.items()}
    code = CodeConfiguration("TransformerConfig", span, words, (), (), {}, True)
    configuration = bind_code(build_code_launch(SOURCE, code, None), code, load_table("core_v0.19.0"))
    return {
        name: bound.value if bound.unknown is None else "unknown"
        for name in ("bf16", "fp16")
        for bound in (configuration.values[name],)
    }


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {"bf16": False, "fp16": False}),
        ({"bf16": "True"}, {"bf16": True, "fp16": False}),
        ({"params_dtype": "torch.float32"}, {"bf16": False, "fp16": False}),
        ({"params_dtype": "torch.bfloat16"}, {"bf16": "unknown", "fp16": "unknown"}),
        ({"params_dtype": "torch.bfloat16", "bf16": "True"}, {"bf16": True, "fp16": "unknown"}),
    ],
    ids=["left out", "switched on", "parameters of fp32", "parameters of bf16", "both"],
)
def test_parameters_with_a_type_of_their_own_leave_the_switches_open(
    settings: dict[str, str], expected: dict[str, object]
) -> None:
    assert bind(num_layers="2", hidden_size="8", **settings) == expected
