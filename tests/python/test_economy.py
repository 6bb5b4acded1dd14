"""What is not read and not walked: imports that cannot matter, unused definitions, decisions without effect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import libcst as cst
import pytest

from preflight.execution import Script
from preflight.python import effects, modules, reading, syntax
from preflight.python.outline import outline
from preflight.python.plan import MAXIMUM_DECISIONS, SETTLING, Plan
from preflight.python.texts import cut, cuts
from preflight.source import Source, Span
from preflight.values import Piece, Text, Unknown
from tests.python.reading import lines, read_text

LIBRARY = (
    '"""A part of the project."""\nclass Model:\n    def __init__(self, size):\n        self.size = size\n'
)
STARTER = (
    "import subprocess\n"
    "class Starter:\n"
    "    def run(self):\n"
    "        subprocess.run(['torchrun', 'pretrain_gpt.py', *self.flags()])\n"
)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the modules that are parsed on the way."""
    names: list[str] = []

    def parse(source: Source) -> syntax.Tree | Unknown:
        names.append(Path(source.path).name)
        return syntax.parse(source)

    monkeypatch.setattr(modules, "parse", parse)
    modules._recent.clear()
    yield names
    modules._recent.clear()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "import subprocess\nfrom library import Model\nmodel = Model(4)\n"
            "subprocess.run(['git', 'status', model.size])\nNOTE = 'as torchrun does'\n",
            id="the program runs something else",
        ),
        pytest.param(
            "from library import Model\ndef build(config):\n    config.tensor_model_parallel_size = 2\n"
            "    return Model(config)\nglobal_batch_size = 8\n",
            id="a field of a parameter is set",
        ),
        pytest.param(
            "from library import Model\nfrom megatron.core import TransformerConfig\n"
            "def test(config: TransformerConfig):\n    Model(size=4).shape = 2\n"
            "    config.tensor_model_parallel_size = 2\nglobal_batch_size = 8\n",
            id="what is made of it is no configuration",
        ),
        pytest.param(
            "from library import parse_args\nargs = parse_args()\nargs.pipeline_model_parallel_size = 2\n"
            "args.tensor_model_parallel_size = 2\nglobal_batch_size = 8\nargs.model.num_layers = 4\n",
            id="it gives the arguments of a command line",
        ),
        pytest.param(
            "import subprocess\nimport library\nif library.Model(4).size:\n    raise SystemExit\n"
            "print('torchrun', subprocess)\n",
            id="nothing is run at all",
        ),
    ],
)
def test_an_import_that_cannot_matter_is_not_read(tmp_path: Path, parsed: list[str], text: str) -> None:
    (tmp_path / "library.py").write_text(LIBRARY)
    read_text(text, folder=tmp_path)
    assert parsed == []


def test_a_program_that_is_no_training_is_no_reason_to_read_imports(
    tmp_path: Path, parsed: list[str]
) -> None:
    (tmp_path / "library.py").write_text(LIBRARY)
    text = (
        "import subprocess\nimport library\nsize = library.Model(4).size\n"
        "subprocess.run(['python', 'convert.py', '--size', str(size)])\nNOTE = 'torchrun'\n"
    )
    asked: list[str] = []

    def launches(found: Script) -> bool:
        asked.extend(lines(found))
        return False

    (found,) = lines(read_text(text, folder=tmp_path, launches=launches))
    assert found.startswith("python convert.py --size")
    assert len(asked) == 1
    assert parsed == []


def test_an_import_that_a_launch_uses_is_read(tmp_path: Path, parsed: list[str]) -> None:
    (tmp_path / "library.py").write_text(LIBRARY)
    (tmp_path / "sizes.py").write_text("TP = 4\n")
    text = (
        "import subprocess\nimport library\nfrom sizes import TP\n"
        "subprocess.run(['torchrun', 'pretrain_gpt.py', '--tensor-model-parallel-size', str(TP)])\n"
    )
    assert lines(read_text(text, folder=tmp_path)) == [
        "torchrun pretrain_gpt.py --tensor-model-parallel-size 4"
    ]
    assert set(parsed) == {"sizes.py"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "from starter import Starter\nclass Mine(Starter):\n    def flags(self):\n"
            "        return ['--tensor-model-parallel-size', '2', '--num-layers', '4', '--hidden-size', '8']\n"
            "Mine().run()\n",
            id="a base class starts it",
        ),
        pytest.param(
            "import subprocess\nfrom words import make\nsubprocess.run(make('--num-layers', '4'))\n",
            id="the whole command is imported",
        ),
        pytest.param(
            "from words import execute\nexecute('torchrun pretrain_gpt.py --num-layers 4')\n",
            id="an imported function runs it",
        ),
    ],
)
def test_a_launch_that_an_import_makes_is_found(tmp_path: Path, text: str) -> None:
    (tmp_path / "starter.py").write_text(STARTER)
    (tmp_path / "words.py").write_text(
        "import os\n"
        "def make(*flags):\n    return ['torchrun', 'pretrain_gpt.py', *flags]\n"
        "def execute(command):\n    os.system(command)\n"
    )
    assert any("pretrain_gpt.py" in line for line in lines(read_text(text, folder=tmp_path)))


def test_a_weak_sign_reads_no_more_than_the_file_is_long(tmp_path: Path, parsed: list[str]) -> None:
    (tmp_path / "words.py").write_text("def make():\n    return None\n" + "# filler\n" * 4000)
    text = "import subprocess\nfrom words import make\nsubprocess.run(make())\nNOTE = 'torchrun'\n"
    script_ = read_text(text, folder=tmp_path)
    assert parsed == []
    assert script_.executions == ()


def test_a_name_is_worked_out_when_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sizes.py").write_text(
        "from other import nothing\nclass Unused:\n    pass\ndef unused(a=1):\n    pass\ndef layers():\n    return 4\n"
    )
    defined: list[str] = []
    from preflight.python import definitions

    define = definitions.define_function

    def note(node: cst.FunctionDef, frame: object) -> object:
        defined.append(node.name.value)
        return define(node, frame)  # type: ignore[arg-type]

    monkeypatch.setattr(definitions, "define_function", note)
    text = (
        "import subprocess, sizes\n"
        "subprocess.run(['torchrun', 'pretrain_gpt.py', '--num-layers', str(sizes.layers())])\n"
    )
    assert lines(read_text(text, folder=tmp_path)) == ["torchrun pretrain_gpt.py --num-layers 4"]
    assert set(defined) == {"layers"}


def test_a_function_of_a_module_is_parsed_when_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "amounts.py").write_text(
        "def unused():\n    return 2\nclass Unused:\n    pass\ndef layers():\n    return 4\n"
    )
    read: list[str] = []
    understand = syntax._parse

    def note(text: str) -> cst.Module | None:
        read.append(text)
        return understand(text)

    monkeypatch.setattr(syntax, "_parse", note)
    text = (
        "import subprocess, amounts\ndef idle():\n    return 1\n"
        "subprocess.run(['torchrun', 'pretrain_gpt.py', '--num-layers', str(amounts.layers())])\n"
    )
    assert lines(read_text(text, folder=tmp_path)) == ["torchrun pretrain_gpt.py --num-layers 4"]
    assert "def layers():\n    return 4\n" in read
    assert not any("nused" in each or "idle" in each for each in read)


def test_a_file_without_anything_relevant_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syntax, "_parse", lambda text: pytest.fail("LibCST was asked"))
    text = '"""As torchrun does it, with --num-layers."""\nimport subprocess\ndef idle():\n    return print\n'
    assert lines(read_text(text)) == []


def test_a_name_keeps_what_was_assigned_later(tmp_path: Path) -> None:
    (tmp_path / "sizes.py").write_text(
        "def layers():\n    return 4\nfirst = layers\ndef layers():\n    return 8\n"
        "class Sizes:\n    heads = 2\nSizes = Sizes\n"
    )
    text = (
        "import subprocess\nfrom sizes import *\n"
        "subprocess.run(['torchrun', 'pretrain_gpt.py', str(first()), str(layers()), str(Sizes.heads)])\n"
    )
    assert lines(read_text(text, folder=tmp_path)) == ["torchrun pretrain_gpt.py 4 8 2"]


def test_decisions_without_effect_use_no_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six tests that change nothing stand before one that does: both ways of that one are found."""
    idle = "".join(f"if os.environ.get('IDLE{n}'):\n    note = {n}\n" for n in range(6))
    text = (
        f"import os, subprocess\nflags = '4'\n{idle}if os.environ.get('LARGE'):\n    flags = '8'\n"
        "subprocess.run(['torchrun', 'pretrain_gpt.py', '--num-layers', flags])\n"
    )
    walked: list[int] = []
    walk = reading.Reading._walk

    def count(self: reading.Reading, path: object, entry: object) -> None:
        walked.append(1)
        walk(self, path, entry)  # type: ignore[arg-type]

    monkeypatch.setattr(reading.Reading, "_walk", count)
    found = read_text(text, closed=False)
    assert sorted(lines(found)) == [
        "torchrun pretrain_gpt.py --num-layers 4",
        "torchrun pretrain_gpt.py --num-layers 8",
    ]
    assert {c.text for e in found.executions for c in e.conditions} == {"os.environ.get('LARGE')"}
    assert len(walked) < 2**6


def walk_plan(sites: list[str], outcome: object) -> list[tuple[int, ...]]:
    """The ways that a plan takes through decisions at these sites."""
    plan, walked = Plan(), []
    while True:
        cursor, ways = 0, []
        for site in sites:
            if plan.is_settled(site, cursor):
                ways.append(0)
                continue
            chosen = plan.choose(2, site, cursor)
            cursor += chosen is not None
            ways.append(chosen or 0)
        walked.append(tuple(ways))
        if not plan.advance({outcome(tuple(ways))}):  # type: ignore[operator]
            return walked


def test_every_way_of_decisions_that_matter_is_walked() -> None:
    assert len(set(walk_plan(["a", "b", "c"], lambda ways: ways))) == 8


def test_a_decision_is_left_out_after_it_made_no_difference_twice() -> None:
    walked = walk_plan(["a", "b", "idle"], lambda ways: ways[:2])
    assert {ways[:2] for ways in walked} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert len(walked) == 4 + SETTLING


def test_a_decision_that_mattered_once_is_never_left_out() -> None:
    walked = walk_plan(["a", "b"], lambda ways: ways if ways[0] == 0 else ways[0])
    assert len(walked) == 4


def test_a_path_takes_no_more_decisions_than_its_share() -> None:
    plan = Plan()
    chosen = [plan.choose(2, number, number) for number in range(MAXIMUM_DECISIONS + 1)]
    assert chosen == [0] * MAXIMUM_DECISIONS + [None]


def test_what_code_changes_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "import os, subprocess\nwords = ['torchrun', 'pretrain_gpt.py']\nfor each in os.listdir('.'):\n"
        "    words.append(each)\nif os.environ.get('A'):\n    words.append('--a')\nsubprocess.run(words)\n"
    )
    walked: list[int] = []
    walk = effects._walk

    def count(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        walked.append(id(node))
        return walk(node)

    monkeypatch.setattr(effects, "_walk", count)
    assert len(read_text(text, closed=False).executions) == 2
    assert len(walked) == len(set(walked)) > 0


def test_an_outline_knows_functions_with_what_they_call_in_order() -> None:
    tree = syntax.parse(
        Source(
            "launch.py",
            b"from subprocess import run as start\n"
            b"def first():\n    def inner():\n        start(['x'])\n    return inner\n"
            b"class Holder:\n    def second(self):\n        helper()\n",
        )
    )
    assert isinstance(tree, syntax.Tree)
    shown = [(d.name, d.owner, d.relevant, d.calls) for d in outline(tree).definitions]
    assert shown == [("first", None, True, {"start"}), ("second", "Holder", False, {"helper"})]


def test_stretches_of_a_text_come_in_one_pass_as_one_by_one() -> None:
    source = Source("launch.py", b"ab cd ef")
    text = Text(
        [
            Piece("ab ", Span(source, 0, 3)),
            Piece("$X", Span(source, 3, 5), Unknown("environment", "$X")),
            Piece(" ef", Span(source, 5, 8)),
        ]
    )
    ranges = [(0, 2), (2, 2), (3, 4), (3, 6), (6, 7), (9, 9)]
    assert cuts(text, ranges) == [cut(text, start, stop) for start, stop in ranges]
    assert [part.display() for part in cuts(text, ranges)] == ["ab", "", "$X", "$X e", "f", ""]


def test_a_long_recipe_that_is_completed_is_read(tmp_path: Path) -> None:
    (tmp_path / "recipes.py").write_text(
        "from base import Container\ndef recipe():\n    config = Container()\n"
        "    config.model.pipeline_model_parallel_size = 2\n    config.model.num_layers = 4\n    return config\n"
    )
    (tmp_path / "recipe.py").write_text("from recipes import recipe\n" + "# filler\n" * 400)
    text = (
        "from recipe import recipe\nconfig = recipe()\nconfig.train.global_batch_size = 8\n"
        "config.train.micro_batch_size = 1\nconfig.train.train_iters = 5\n"
    )
    (found,) = read_text(text, folder=tmp_path).configurations
    assert found.settings["pipeline_model_parallel_size"].text.value == "2"


def test_what_a_first_look_found_is_kept_where_imports_take_all_the_steps(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "def wait():\n    total = 0\n    for a in range(1000):\n        for b in range(1000):\n            total += b\n"
    )
    text = (
        "from megatron.core import TransformerConfig\nfrom slow import wait\n"
        "def test():\n    wait()\n    TransformerConfig(num_layers=2, tensor_model_parallel_size=2)\n"
    )
    (found,) = read_text(text, folder=tmp_path).configurations
    assert found.settings["tensor_model_parallel_size"].text.value == "2"


def test_a_program_that_has_a_launch_written_out_is_followed_to_its_end() -> None:
    """It has started something, and all its steps went before the launch itself."""
    lead = "".join(f"size{n} = {n} * 2 + {n} - 1\n" for n in range(2000))
    text = (
        f"import subprocess\nsubprocess.run(['python', 'prepare.py'])\n{lead}"
        "subprocess.run(['torchrun', 'pretrain_gpt.py', '--num-layers', '4',"
        " '--hidden-size', '8', '--num-attention-heads', '2'])\n"
    )
    found = lines(read_text(text, launches=lambda script: any("torchrun" in line for line in lines(script))))
    assert found[-1].startswith("torchrun pretrain_gpt.py --num-layers 4")


def test_a_launch_that_is_lost_behind_what_an_import_does_is_kept(tmp_path: Path) -> None:
    guards = "".join(f"    if host.fault({n}):\n        stop({n})\n" for n in range(8))
    stop = "def stop(n):\n    sys.exit(n)\n"
    (tmp_path / "guards.py").write_text(f"import sys\nimport host\n{stop}def guard():\n{guards}")
    text = "import subprocess\nfrom guards import guard\nguard()\nsubprocess.run(['torchrun', 'pretrain_gpt.py'])\n"
    assert lines(read_text(text, folder=tmp_path)) == ["torchrun pretrain_gpt.py"]
