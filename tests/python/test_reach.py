"""What is told of imports by their text alone: which may start training, and which may be configurations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from preflight.execution import Context
from preflight.python.ancestry import may_configure
from preflight.python.reach import reaches_settings, reaches_training
from preflight.source import Files, Source
from tests.python.reading import read_text


def context_of(folder: Path, files: Mapping[str, str]) -> Context:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return Context(Files(str(folder), (str(folder),)))


STARTERS = {
    "it runs it itself": ({"m.py": "def go():\n    os.system('torchrun train.py')\n"}, True),
    "by what it calls": (
        {"m.py": "def go():\n    return _run()\n\ndef _run():\n    subprocess.run(['srun', 'x'])\n"},
        True,
    ),
    "through an import": (
        {
            "m.py": "from n import _run\ndef go():\n    _run('srun bash train.sh')\n",
            "n.py": "def _run(c):\n    os.system(c, shell=True)\n",
        },
        True,
    ),
    "taken from elsewhere": (
        {"m.py": "from n import go\n", "n.py": "def go():\n    os.system('torchrun train.py')\n"},
        True,
    ),
    "a method of a class": ({"m.py": "class go:\n    def run(self):\n        execute_train(a=1)\n"}, True),
    "another function does": (
        {"m.py": "def go():\n    return 1\n\ndef other():\n    os.system('torchrun train.py')\n"},
        False,
    ),
    "the module itself does": (
        {"m.py": "def go():\n    return 1\n\nif __name__ == '__main__':\n    os.system('torchrun a.py')\n"},
        False,
    ),
    "it starts something certain": (
        {"m.py": "def go():\n    subprocess.run(['make', '-C', 'x'])\n    return 1\n"},
        False,
    ),
    "a class that starts something, beside one with words of a launch": (
        {
            "m.py": "class go(Base):\n    def run(self, path):\n        subprocess.run(['git', path], shell=True)\n\n"
            "class Base:\n    launcher = 'torchrun'\n"
        },
        False,
    ),
    "a function that makes the command": (
        {"m.py": "def go(cmd):\n    return build_torchrun_cmd(cmd, 'torch.distributed.run')\n"},
        False,
    ),
    "a remark says so": (
        {
            "m.py": "def go(command):\n    # as torch.distributed.launch starts it\n    return subprocess_of(command)\n"
        },
        False,
    ),
    "its text says so": (
        {"m.py": 'def go(path):\n    """What torchrun runs."""\n    os.system(f"bash {path}/fetch.sh")\n'},
        False,
    ),
    "it starts what it is given": ({"m.py": "def go(c):\n    subprocess.run(['bash', '-c', c])\n"}, True),
    "it starts its own with what it is given": (
        {"m.py": "def go(path):\n    os.system(f'bash {path}/fetch.sh')\n"},
        False,
    ),
    "it names training only": ({"m.py": "def go():\n    return 'torchrun train.py'\n"}, False),
    "it is not there": ({"m.py": "x = 1\n"}, False),
}


@pytest.mark.parametrize(("files", "expected"), STARTERS.values(), ids=STARTERS)
def test_whether_an_import_may_start_training(
    tmp_path: Path, files: Mapping[str, str], expected: bool
) -> None:
    context = context_of(tmp_path, files)
    script = Source("launch.py", b"from m import go\ngo()  # as torchrun does\n")
    assert reaches_training([("go", str(tmp_path / "m.py"))], script, context) is expected


@pytest.mark.parametrize(
    ("before", "inside", "length"),
    [("# nothing\n" * 10_000, "", 40_000), ("", "    nothing = 1\n" * 1_000, 10_000)],
    ids=["a long module", "a long definition"],
)
def test_no_more_is_searched_than_a_few_times_the_file(
    tmp_path: Path, before: str, inside: str, length: int
) -> None:
    text = f"{before}def go():\n{inside}    os.system('torchrun train.py')\n"
    context = context_of(tmp_path, {"m.py": text})
    used = [("go", str(tmp_path / "m.py"))]
    assert not reaches_training(used, Source("launch.py", b"go()"), context)
    assert reaches_training(used, Source("launch.py", b"go()" + b" " * length), context)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def go():\n    c = Base()\n    c.model.tensor_model_parallel_size = 2\n    return c\n", True),
        ("def go():\n    return _make()\n\ndef _make():\n    return TransformerConfig(num_layers=2)\n", True),
        ("class go:\n    def f(self):\n        return TransformerConfig(num_layers=2)\n", False),
        ("def go():\n    return tokenizer\n", False),
    ],
    ids=["it sets a size", "by what it calls", "a class", "something else"],
)
def test_whether_a_function_is_a_recipe(tmp_path: Path, text: str, expected: bool) -> None:
    context = context_of(tmp_path, {"m.py": text})
    script = Source("launch.py", b"")
    assert reaches_settings(("go", str(tmp_path / "m.py")), script, context) is expected


CLASSES = {
    "no base": ({"m.py": "class Sizes:\n    pass\n"}, False),
    "a base of the same module": (
        {"m.py": "class Base(ABC):\n    pass\n\nclass Sizes(Base):\n    pass\n"},
        False,
    ),
    "a configuration of Megatron's": (
        {
            "m.py": "from megatron.core.transformer import TransformerConfig\n"
            "@dataclass\nclass Sizes(TransformerConfig):\n    pass\n"
        },
        True,
    ),
    "through an import": (
        {
            "m.py": "from n import Base\nclass Sizes(Base):\n    pass\n",
            "n.py": "class Base(megatron.GPTModelProvider):\n    pass\n",
        },
        True,
    ),
    "an import that is none": (
        {
            "m.py": "from n import BaseConfig\nclass Sizes(BaseConfig):\n    pass\n",
            "n.py": "class BaseConfig:\n    pass\n",
        },
        False,
    ),
    "a package that is not read": (
        {"m.py": "from pydantic import BaseModel\nclass Sizes(BaseModel): pass\n"},
        False,
    ),
    "a base by its name": ({"m.py": "from other import BaseConfig\nclass Sizes(BaseConfig): pass\n"}, True),
    "a circle": ({"m.py": "from m import Sizes\n"}, True),
}


@pytest.mark.parametrize(("files", "expected"), CLASSES.values(), ids=CLASSES)
def test_whether_an_imported_class_may_be_a_configuration(
    tmp_path: Path, files: Mapping[str, str], expected: bool
) -> None:
    context = context_of(tmp_path, files)
    assert may_configure("Sizes", str(tmp_path / "m.py"), "launch.py", context) is expected


def test_an_object_of_a_class_that_is_no_configuration_is_none(tmp_path: Path) -> None:
    context_of(tmp_path, {"sizes.py": "class RunConfig:\n    pass\n"})
    text = "from sizes import RunConfig\nRunConfig(tensor_model_parallel_size=2, global_batch_size=8)\n"
    assert read_text(text + "# ModelProvider(\nx.train_iters = 1\n", folder=tmp_path).configurations == ()
