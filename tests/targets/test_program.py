"""What entry points add, and code that is out to trap the reader."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from preflight.source import Files
from preflight.targets.modules import Modules
from preflight.targets.program import read_program
from preflight.targets.table import Option, Program

START = "from megatron.training import pretrain\n"
END = "pretrain(None, None, None, None, extra_args_provider=add)\n"


def read(folder: Path, text: str, **others: str) -> Program | None:
    for name, other in others.items():
        (folder / f"{name}.py").write_text(other)
    path = folder / "train.py"
    path.write_text(text)
    return read_program(str(path), Modules(Files(str(folder), (str(folder),)), (str(folder),)))


def test_the_named_provider_is_followed_into_a_sibling(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        START + "from sibling import add\n" + END,
        sibling="def add(parser):\n    parser.add_argument('--ours', type=int)\n    return parser\n",
    )
    assert program is not None
    assert program.options == (Option(("--ours",), "ours", type="int"),)
    assert (program.complete, program.trains) == (True, True)


def test_a_provider_can_stand_in_its_place_without_a_name(tmp_path: Path) -> None:
    text = (
        "from megatron.training.initialize import initialize_megatron\n"
        "def add(parser):\n    parser.add_argument('--ours')\n    return parser\n"
        "initialize_megatron(add, {'seq_length': 5})\n"
    )
    program = read(tmp_path, text)
    assert program is not None
    assert [option.strings for option in program.options] == [("--ours",)]
    assert program.trains is False


def test_a_parser_that_leaves_the_code_at_hand_is_not_complete(tmp_path: Path) -> None:
    text = (
        START
        + "import deepspeed\ndef add(parser):\n    return deepspeed.add_config_arguments(parser)\n"
        + END
    )
    program = read(tmp_path, text)
    assert program is not None
    assert not program.complete


def test_without_a_start_every_option_counts(tmp_path: Path) -> None:
    program = read(
        tmp_path,
        "from sibling import parse\nparse()\n",
        sibling="import argparse\ndef parse():\n    p = argparse.ArgumentParser()\n    p.add_argument('--ours')\n",
    )
    assert program is not None
    assert [option.strings for option in program.options] == [("--ours",)]
    assert (program.complete, program.trains) == (False, None)


TRAPS = {
    "calls without end": "def add(parser):\n    other(parser)\n    other(parser)\ndef other(parser):\n"
    "    add(parser)\n    add(parser)\n",
    "loops in loops": "def add(parser):\n"
    + "".join("    " * n + f"for i{n} in range(1000):\n" for n in range(1, 6))
    + "    " * 6
    + "parser.add_argument(f'--x{i1}{i2}')\n",
    "a list that doubles": "def add(parser):\n    x = [1]\n    for i in range(60):\n        x = x + x\n",
    "a text that doubles": "def add(parser):\n    x = 'a'\n    for i in range(60):\n        x = x + x\n",
    "a number that squares": "def add(parser):\n    x = 10\n    for i in range(60):\n        x = x * x\n",
    "a power of powers": "def add(parser):\n    parser.add_argument('--x', default=9**9**9**9)\n",
    "a deep expression": "def add(parser):\n    parser.add_argument('--x', default="
    + "+".join(["1"] * 900)
    + ")\n",
    "names in a circle": "A = B\nB = A\ndef add(parser):\n    parser.add_argument('--x', default=A)\n",
    "comprehensions in comprehensions": "def add(parser):\n    x = [[[1 for a in range(1000)] for b in range(1000)] "
    "for c in range(1000)]\n",
    "a module that imports itself": "from train import add as again\ndef add(parser):\n    again(parser)\n",
}


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_ends_soon(tmp_path: Path, name: str) -> None:
    start = time.process_time()
    program = read(tmp_path, START + TRAPS[name] + END)
    assert time.process_time() - start < 5
    assert program is None or len(program.options) <= 20_000
