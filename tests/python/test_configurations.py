"""Configurations built by code: constructors, attributes, recipes that chain helpers of sibling modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.execution import CodeConfiguration
from tests.python.reading import read_text


def settings(configuration: CodeConfiguration) -> dict[str, str | None]:
    return {name: word.text.value for name, word in configuration.settings.items()}


CONSTRUCTOR = """
from megatron.core.transformer import TransformerConfig
import torch

def make(tp: int = 1, **more):
    return TransformerConfig(
        num_layers=24, hidden_size=2048, tensor_model_parallel_size=tp,
        sequence_parallel=tp > 1, params_dtype=torch.bfloat16, **more,
    )

config = make(4, bf16=True)
config.num_layers = config.num_layers * 2
"""


def test_a_constructor_with_later_assignments() -> None:
    (found,) = read_text(CONSTRUCTOR).configurations
    assert found.name == "TransformerConfig"
    assert settings(found) == {
        "num_layers": "48",
        "hidden_size": "2048",
        "tensor_model_parallel_size": "4",
        "sequence_parallel": "True",
        "params_dtype": "torch.bfloat16",
        "bf16": "True",
    }
    assert found.open == ()
    assert found.span.text.startswith("TransformerConfig(")
    assert found.settings["hidden_size"].span.text == "hidden_size=2048"


def test_a_function_that_nothing_calls_gives_its_defaults_under_assumption() -> None:
    text = CONSTRUCTOR.partition("config = make")[0]
    (found,) = read_text(text, closed=False).configurations
    word = found.settings["tensor_model_parallel_size"]
    assert word.text.value == "1"
    assert [(a.name, a.value) for a in word.text.assumptions] == [("tp", "1")]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (
            "from recipes import llama\ncfg = llama()\n"
            "cfg.model.tensor_model_parallel_size = 4\ncfg.model.num_layers = 3\n",
            "model.tensor_model_parallel_size",
        ),
        (
            "import nemo\nrecipe = nemo.pretrain_recipe(nodes=2)\n"
            "recipe.trainer.strategy.tensor_model_parallel_size = 4\nrecipe.trainer.strategy.num_layers = 3\n",
            "trainer.strategy.tensor_model_parallel_size",
        ),
        (
            "from m import GPTModelProvider\nGPTModelProvider(num_layers=3, tensor_model_parallel_size=4)\n",
            "tensor_model_parallel_size",
        ),
    ],
    ids=["a recipe's model", "a strategy", "a provider"],
)
def test_what_is_not_followed_is_open(text: str, path: str) -> None:
    (found,) = read_text(text).configurations
    assert settings(found) == {"num_layers": "3", "tensor_model_parallel_size": "4"}
    assert found.open
    assert found.paths["tensor_model_parallel_size"] == path


RECIPE = """
from base import common, large
from megatron.bridge import AutoBridge

def small_config():
    cfg = common()
    cfg.model = AutoBridge.from_hf_pretrained("x").to_megatron_provider(load_weights=False)
    cfg.model.tensor_model_parallel_size = 2
    cfg.model.seq_length = 8192
    cfg.dataset.seq_length = 4096
    return cfg

def large_config():
    cfg = small_config()
    large(cfg, tp=8)
    return cfg
"""

BASE = """
from megatron.bridge.training.config import ConfigContainer, TrainingConfig, DatasetConfig

LAYERS = {"large": 80}

def common():
    return ConfigContainer(
        model=None, train=TrainingConfig(global_batch_size=512, micro_batch_size=1), dataset=DatasetConfig(split="9,1")
    )

def large(cfg, tp):
    cfg.model.tensor_model_parallel_size = tp
    cfg.model.pipeline_model_parallel_size = tp // 2
    cfg.model.num_layers = LAYERS["large"]
    for name in ("sequence_parallel", "bias"):
        setattr(cfg.model, name, name != "bias")
"""


def test_recipes_follow_helpers_of_sibling_modules(tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text(BASE)
    script = read_text(RECIPE, folder=tmp_path, name="recipes.py")
    (found,) = script.configurations
    known = settings(found)
    assert known["tensor_model_parallel_size"] == "8"
    assert known["pipeline_model_parallel_size"] == "4"
    assert known["num_layers"] == "80"
    assert known["sequence_parallel"] == "True"
    assert known["global_batch_size"] == "512"
    assert known["seq_length"] == "8192"
    assert found.paths["seq_length"] == "model.seq_length"
    assert found.span.path.endswith("recipes.py")
    assert found.open


@pytest.mark.parametrize(
    "text",
    [
        "import m\nargs = m.get_args()\nargs.tensor_model_parallel_size = 1\nargs.global_batch_size = 1\n",
        "import c\ncfg = c.load()\n"
        "cfg.actor_rollout_ref.rollout.tensor_model_parallel_size = 2\ncfg.x.num_layers = 1\n",
        "from torch import nn\nnn.LSTM(num_layers=2, hidden_size=4)\n"
        "# tensor_model_parallel_size=\nModelProvider(\n)\n",
        "import pytest\nfrom megatron.core import TransformerConfig\nwith pytest.raises(ValueError):\n"
        "    TransformerConfig(num_layers=1, tensor_model_parallel_size=0)\n",
        "import pytest\nfrom megatron.core import TransformerConfig\nbad = True\n"
        "context = pytest.raises(ValueError) if bad else None\n"
        "with context:\n    TransformerConfig(num_layers=1, tensor_model_parallel_size=0)\n",
        "import pytest, m\nfrom megatron.core import TransformerConfig\n"
        "config = TransformerConfig(num_layers=1, tensor_model_parallel_size=0)\n"
        "with pytest.raises(AssertionError):\n    m.validate(config)\n",
        "import m\nparts = m.sees()\nparts.pipeline_model_parallel_size = 1\nparts.sequence_parallel = False\n"
        "m.Model(vision_config=parts, layers=2)\n# ModelProvider(\n",
    ],
    ids=[
        "parsed arguments",
        "an inference engine",
        "another library",
        "a failure that is expected",
        "a failure by another name",
        "one that is built before it fails",
        "a part that sees",
    ],
)
def test_what_is_no_configuration_of_a_training(text: str) -> None:
    assert read_text(text).configurations == ()


def test_code_that_is_not_followed_may_change_what_was_set() -> None:
    text = "import m\ncfg = m.recipe()\ncfg.model.tensor_model_parallel_size = 4\n"
    text += "cfg.model.num_layers = 3\nm.override(cfg)\n"
    (found,) = read_text(text).configurations
    assert settings(found) == {"tensor_model_parallel_size": None, "num_layers": None}
    kept = read_text(text.replace("override", "pretrain")).configurations[0]
    assert settings(kept) == {"tensor_model_parallel_size": "4", "num_layers": "3"}


def test_a_case_that_a_test_skips_builds_nothing() -> None:
    text = (
        "import pytest\nfrom megatron.core import TransformerConfig\n"
        "@pytest.mark.parametrize('tp', [1, 2])\ndef test_it(tp):\n    if tp == 1:\n        pytest.skip('too few')\n"
        "    TransformerConfig(num_layers=2, tensor_model_parallel_size=tp)\n"
    )
    (found,) = read_text(text).configurations
    assert settings(found)["tensor_model_parallel_size"] == "2"


@pytest.mark.parametrize(
    ("marks", "count"),
    [
        ("", 1),
        ("@pytest.mark.skip(reason='not yet')\n", 0),
        ("@pytest.mark.xfail\n", 0),
        ("@pytest.mark.slow\n", 1),
    ],
    ids=["plain", "skipped", "known to fail", "another mark"],
)
@pytest.mark.parametrize("indented", [False, True], ids=["a function", "a class"])
def test_a_test_that_never_runs_builds_nothing(marks: str, count: int, indented: bool) -> None:
    body = "def test_it(self=None):\n    TransformerConfig(num_layers=2, tensor_model_parallel_size=1)\n"
    if indented:
        body = "class TestIt:\n    " + body.replace("\n    ", "\n        ")
    text = f"import pytest\nfrom megatron.core import TransformerConfig\n{marks}{body}"
    assert len(read_text(text).configurations) == count


def test_code_may_change_what_it_is_handed_whatever_its_module_is_called() -> None:
    text = "from a.training.b import override\ncfg = m.recipe()\ncfg.model.tensor_model_parallel_size = 4\n"
    text += "cfg.model.num_layers = 3\noverride(cfg)\n"
    (found,) = read_text(text).configurations
    assert settings(found) == {"tensor_model_parallel_size": None, "num_layers": None}


def test_a_method_of_a_configuration_knows_no_field_of_it() -> None:
    text = (
        "from dataclasses import dataclass\nfrom copy import deepcopy\nfrom m import TransformerConfig\n"
        "@dataclass\nclass Provider(TransformerConfig):\n    encoder_layers: int = 0\n"
        "    def provide(self):\n        other = deepcopy(self)\n        other.num_layers = self.encoder_layers\n"
        "        other.pipeline_model_parallel_size = 2\n        return other\n"
    )
    for found in read_text(text).configurations:
        assert settings(found).get("num_layers") is None


def test_a_configuration_that_a_model_is_built_with_is_found_by_itself() -> None:
    text = (
        "from megatron.core.models.gpt import GPTModel\nfrom megatron.core.transformer import TransformerConfig\n"
        "config = TransformerConfig(num_layers=2, hidden_size=64, tensor_model_parallel_size=2)\n"
        "model = GPTModel(config=config, vocab_size=100, max_sequence_length=8)\n"
    )
    (found,) = read_text(text).configurations
    assert found.name == "TransformerConfig"
    assert found.open == ()
    assert "vocab_size" not in found.settings
