"""Settings that Python code builds, by Megatron's own names: `TransformerConfig(num_layers=4)`.

In: a `CodeConfiguration`.  Out: a `Configuration`.  Fields that are none of Megatron's make it unrecognised.  What the
code leaves out is unknown, apart from the sizes that lay the model out over ranks: those are 1 as in the parser.
"""

from __future__ import annotations

from preflight.configuration.layout import KEPT
from preflight.configuration.model import Bound, Configuration, Value
from preflight.execution import CodeConfiguration, Word
from preflight.launch.model import Launch
from preflight.targets.table import Table
from preflight.values import Unknown

FIELDS: dict[str, str] = {
    "num_moe_experts": "num_experts",
    "num_layers_in_first_pipeline_stage": "decoder_first_pipeline_num_layers",
    "num_layers_in_last_pipeline_stage": "decoder_last_pipeline_num_layers",
    "fp8_param": "fp8_param_gather",
    "tensor_parallel_size": "tensor_model_parallel_size",
    "pipeline_parallel_size": "pipeline_model_parallel_size",
}
"""Fields of Megatron's configuration classes whose destination has another name."""

FEWEST = 2
"""So many fields must be Megatron's."""


def bind_code(
    launch: Launch, code: CodeConfiguration, table: Table, *, assumed: bool = False
) -> Configuration:
    """The configuration that code builds; False in place of a text or number (`fp8=False`) is none."""
    destinations = {option.destination: option for option in table.options if option.action != "help"}
    values: dict[str, Bound] = {}
    for field, word in code.settings.items():
        name = FIELDS.get(field, field)
        if name in destinations and name not in values:
            bound = bind_setting(name, word)
            off = bound.value is False and bound.unknown is None and destinations[name].action == "store"
            values[name] = bound._replace(value=None) if off else bound
    recognised = len(values) >= min(FEWEST, max(1, len(code.settings)))
    reason = code.open[0] if code.open else None
    for name, option in destinations.items():
        if name not in values:
            known = reason is None and option.default is not None and KEPT.search(name)
            unknown = None if known else reason or Unknown("code", f"{code.name} does not set {name}")
            values[name] = Bound(name, option.default, "default", unknown)
    return Configuration(launch, code.name, table.release, values, (), recognised, assumed)


def bind_setting(name: str, word: Word) -> Bound:
    """A field that the code sets; its text is a Python literal."""
    text = word.text.value
    if text is None:
        return Bound(name, None, "code", word.text.unknowns[0], (word,), word.text.assumptions)
    value, known = read_literal(text)
    unknown = None if known else Unknown("code", text)
    return Bound(name, value, "code", unknown, (word,), word.text.assumptions)


def read_literal(text: str) -> tuple[Value, bool]:
    """A Python literal as a value; plain words are text."""
    from ast import literal_eval

    try:
        value = literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return (text, True) if text.replace("_", "").replace("-", "").isalnum() else (None, False)
    if isinstance(value, (list, tuple)):
        items = tuple(item for item in value if isinstance(item, (bool, int, float, str)))
        return items, len(items) == len(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value, True
    return None, False
