"""Reading a checkout's parser statically."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from preflight.source import Files
from preflight.targets.added import add_target, find_added, list_added
from preflight.targets.checkout import read_checkout
from preflight.targets.table import SUPPRESS, Option, Table
from preflight.targets.version import TargetError, UnreadableError, read_version

CHECKOUT = Path(__file__).parents[2] / "fixtures" / "flags" / "checkout"
HELP = Option(("-h", "--help"), "help", "help", default=SUPPRESS)
EXPECTED = {
    "a field of the base class comes first": Option(("--width",), "width", type="int", default=1),
    "names in the field's metadata": Option(("--no-start",), "initialise", "store_false", default=True),
    "a default in the field's metadata": Option(("--layers",), "layers", type="int"),
    "an enum": Option(("--backend",), "backend", type="enum", choices=("auto", "flash"), default="auto"),
    "a switch that is off": Option(("--share",), "share", "store_true", default=False),
    "a switch that is on": Option(("--no-fuse", "--disable-fuse"), "fuse", "store_false", default=True),
    "a literal type": Option(("--kind",), "kind", choices=("a", "b"), default="a"),
    "a list": Option(("--parts",), "parts", nargs="+"),
    "an annotation in quotes": Option(("--steps",), "steps", type="int", nargs=3),
    "a type that only the metadata gives": Option(("--either",), "either", default=1),
    "a range of choices": Option(("--level",), "level", type="int", choices=(0, 1, 2), default=0),
    "flags made in a loop": Option(("--second-size",), "second_size", type="int", default=16),
    "a flag made of an argument": Option(("--our-flag", "-o"), "ours", "store_const", const=5),
    "a default from the environment": Option(("--rank-of",), "rank_of", default=3),
    "a function that takes names": Option(
        ("--names",), "names", type="names", nargs="*", choices=("auto", "flash", "whole", "none")
    ),
    "a lambda over an enum": Option(
        ("--pick",), "pick", type="enum", choices=("auto", "flash"), default="flash"
    ),
    "a suppressed default": Option(("--pattern",), "pattern", type="pattern_type", default=SUPPRESS),
    "both spellings": Option(("--both", "--no-both"), "both", "boolean", default=False),
    "an exclusive group": Option(("--one",), "one", "store_true", default=False, group=1),
    "inside a try": Option(("--with-package",), "with_package"),
}


@pytest.fixture(scope="module")
def table() -> Table:
    return read_checkout(str(CHECKOUT), release="core_v0.15.3", name="ours")


@pytest.mark.parametrize("why", EXPECTED)
def test_options_are_read(table: Table, why: str) -> None:
    expected = EXPECTED[why]
    assert table.flags[expected.strings[0]] == expected


def test_what_is_no_option_is_left_out(table: Table) -> None:
    assert table.options[0] == HELP
    assert {"--hidden-callback", "--scale", "--computed", "--in-mode"}.isdisjoint(table.flags)


def test_programs_and_checkpoint_arguments_are_read(table: Table) -> None:
    assert list(table.programs) == ["pretrain_ours.py"]
    program = table.program("pretrain_ours.py")
    assert program is not None
    assert program.options == (Option(("--our-data",), "our_data", required=True),)
    assert program.defaults == {"kind": "b"}
    assert program.complete
    assert table.checkpoint == {"layers": False, "backend": True}


def test_the_version_is_read() -> None:
    assert read_version(str(CHECKOUT), Files(str(CHECKOUT), (str(CHECKOUT),))) == "0.15.2rc1"


def test_an_added_target_is_found_by_name_and_by_path(tmp_path: Path) -> None:
    path, table = add_target(str(CHECKOUT), str(tmp_path))
    assert (path, table.name, table.release) == (
        str(tmp_path / ".preflight" / "targets" / "checkout.json"),
        "checkout",
        "core_v0.15.3",
    )
    files = Files(str(tmp_path), (str(tmp_path),))
    assert list(list_added(str(tmp_path))) == ["checkout"]
    for text in ("checkout", ".preflight/targets/checkout.json"):
        found = find_added(text, files)
        assert found is not None
        assert found.options == table.options
    assert find_added("another", files) is None


def test_an_added_target_has_a_name_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="is the name of a release"):
        add_target(str(CHECKOUT), str(tmp_path), name="0.15.3")


def test_a_folder_without_megatron_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="does not say its version"):
        add_target(str(tmp_path), str(tmp_path / "root"))
    with pytest.raises(UnreadableError, match="no Megatron argument parser"):
        add_target(str(tmp_path), str(tmp_path / "root"), based_on="0.15")
    with pytest.raises(UnreadableError, match="is not a folder"):
        add_target(str(tmp_path / "absent"), str(tmp_path))


def test_nothing_of_a_checkout_runs(tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT, tmp_path / "trap")
    arguments = tmp_path / "trap" / "megatron" / "training" / "arguments.py"
    mark = tmp_path / "ran"
    arguments.write_text(f"open({str(mark)!r}, 'w')\n" + arguments.read_text())
    assert read_checkout(str(tmp_path / "trap"), release="main").options
    assert not mark.exists()


@pytest.mark.parametrize(
    "text",
    [
        "def add_megatron_arguments(parser):\n    return add_megatron_arguments(parser)\n",
        "import (\n",
        "\0",
        "",
    ],
    ids=["endless recursion", "a syntax error", "a null byte", "empty"],
)
def test_hostile_files_end_with_a_message(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "megatron" / "training"
    folder.mkdir(parents=True)
    (folder / "arguments.py").write_text(text)
    with pytest.raises(UnreadableError):
        read_checkout(str(tmp_path), release="main")
