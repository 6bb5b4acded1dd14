"""Which release a launch is held against, and whose program it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.source import Files
from preflight.targets.choose import TargetError, choose_tables
from preflight.targets.explain import explain_flags
from preflight.targets.origin import find_origin
from preflight.targets.releases import (
    NEWEST,
    RELEASES,
    describe_releases,
    find_release,
    nearest_release,
    parse_version,
)
from preflight.targets.table import load_table
from preflight.values import Text
from tests.configuration.launches import make_launch

FORK = Path(__file__).parents[2] / "fixtures" / "flags" / "fork"
CHECKOUT = FORK.parent / "checkout"
PLAIN = ["--num-layers", "8", "--hidden-size", "64"]


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("0.15.3", "core_v0.15.3"),
        ("core_v0.15.3", "core_v0.15.3"),
        ("v0.15.3", "core_v0.15.3"),
        ("0.15", "core_v0.15.3"),
        ("core_r0.8.0", "core_r0.8.0"),
        ("0.8", "core_r0.8.0"),
        ("main", "main"),
        ("0.15.0", "core_v0.15.3"),
        ("0.4", None),
        ("15", None),
        ("core", None),
        ("", None),
    ],
)
def test_names_of_releases(text: str, release: str | None) -> None:
    assert find_release(text) == release


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("0.12.2", ("core_v0.12.0", True)),
        ("0.19.0rc1", ("core_v0.19.0", True)),
        ("0.20.0", ("main", False)),
        ("1.0.0", ("main", False)),
        ("0.4.0", ("core_v0.5.0", False)),
    ],
)
def test_the_release_nearest_to_a_version(version: str, release: tuple[str, bool]) -> None:
    numbers = parse_version(version)
    assert numbers is not None
    assert nearest_release(numbers) == release


def test_all_means_every_release() -> None:
    choice = choose_tables("all", make_launch(PLAIN))
    assert [table.release for table in choice.tables] == list(RELEASES)


def test_a_name_that_fits_nothing_is_refused_with_the_known_ones() -> None:
    with pytest.raises(TargetError, match=r"no target named 'core_v0\.3'.*core_v0\.19\.0"):
        choose_tables("core_v0.3", make_launch(PLAIN))


def test_a_version_beyond_the_tables_is_main_and_says_so() -> None:
    choice = choose_tables("0.25.1", make_launch(PLAIN))
    assert choice.tables[0].release == "main"
    assert "newer than the flag tables" in choice.note


def test_a_patch_without_a_table_says_so() -> None:
    assert "taken as core_v0.15.3" in choose_tables("0.15.1", make_launch(PLAIN)).note


@pytest.mark.parametrize(
    ("flags", "release"),
    [
        ([], NEWEST),
        (["--use-custom-fsdp"], "core_v0.13.1"),
        (["--standalone-embedding-stage"], "core_v0.10.0"),
        (["--use-legacy-models", "--sft"], "core_v0.17.1"),
        (["--use-megatron-fsdp"], NEWEST),
        (["--our-own-flag"], NEWEST),
        (["--use-custom-fsdp", "--sft"], "core_v0.13.1"),
    ],
    ids=[
        "nothing special",
        "gone since",
        "gone long ago",
        "two bounds",
        "recent",
        "nobody's",
        "both at once",
    ],
)
def test_the_newest_release_that_knows_the_flags_is_assumed(flags: list[str], release: str) -> None:
    choice = choose_tables(None, make_launch([*PLAIN, *flags]))
    assert choice.tables[0].release == release
    assert choice.assumed
    assert release in choice.note


@pytest.mark.parametrize(
    ("line", "release"),
    [
        ("--tokenizer-type MistralTokenizer", "core_r0.8.0"),
        ("--tokenizer-type NullTokenizer", NEWEST),
        ("--tokenizer-type OurTokenizer", NEWEST),
        ("--tokenizer-type MistralTokenizer --sft", NEWEST),
    ],
    ids=["one release takes it", "all take it", "none takes it", "it lacks a flag"],
)
def test_of_releases_that_know_the_flags_one_that_takes_the_values_is_assumed(
    line: str, release: str
) -> None:
    assert choose_tables(None, make_launch([*PLAIN, *line.split()])).tables[0].release == release


def make_checkout(folder: Path, version: str, early: str = "rc0") -> Path:
    core = folder / "megatron" / "core"
    core.mkdir(parents=True)
    (core / "__init__.py").write_text("")
    major, minor, patch = version.split(".")
    (core / "package_info.py").write_text(
        f"MAJOR = {major}\nMINOR = {minor}\nPATCH = {patch}\nPRE_RELEASE = '{early}'\n"
    )
    return folder


@pytest.mark.parametrize(
    "place", [".", "Megatron-LM", "third_party/Megatron-LM", ".venv/lib/python3.12/site-packages"]
)
def test_a_checkout_beside_the_script_says_the_release(tmp_path: Path, place: str) -> None:
    make_checkout(tmp_path / place, "0.14.1")
    choice = choose_tables(None, make_launch(PLAIN), Files(str(tmp_path), (str(tmp_path),)))
    assert (choice.tables[0].release, choice.assumed, choice.note) == ("core_v0.14.0", False, "")


def test_a_checkout_newer_than_the_tables_is_main_and_says_so(tmp_path: Path) -> None:
    make_checkout(tmp_path, "0.31.0")
    choice = choose_tables(None, make_launch(PLAIN), Files(str(tmp_path), (str(tmp_path),)))
    assert choice.tables[0].release == "main"
    assert (
        choice.note == "this checkout is Megatron core 0.31.0rc0, newer than the flag tables; taken as main"
    )


@pytest.mark.parametrize(
    ("version", "early", "release", "elder"),
    [
        ("0.7.0", "rc0", "core_v0.7.0", "core_v0.6.0"),
        ("0.10.0", "b1", "core_v0.10.0", "core_v0.9.0"),
        ("0.7.0", "", "core_v0.7.0", ""),
        ("0.15.1", "rc0", "core_v0.15.3", ""),
        ("0.5.0", "rc0", "core_v0.5.0", ""),
        ("0.20.0", "rc0", "main", ""),
    ],
    ids=["on the way", "beta", "released", "a patch of it", "nothing before it", "newer than all"],
)
def test_a_checkout_on_the_way_to_a_release_lies_between_two(
    tmp_path: Path, version: str, early: str, release: str, elder: str
) -> None:
    make_checkout(tmp_path, version, early)
    choice = choose_tables(None, make_launch(PLAIN), Files(str(tmp_path), (str(tmp_path),)))
    assert (choice.tables[0].release, choice.elder) == (release, elder)
    assert (elder in choice.note and "between" in choice.note) if elder else ("between" not in choice.note)


def test_a_checkout_outside_the_allowed_folders_is_not_looked_at(tmp_path: Path) -> None:
    make_checkout(tmp_path, "0.14.1")
    inner = tmp_path / "inner"
    inner.mkdir()
    assert choose_tables(None, make_launch(PLAIN), Files(str(inner), (str(inner),))).assumed


@pytest.mark.parametrize(
    ("program", "argv", "own", "based", "fork"),
    [
        ("pretrain_gpt.py", [], True, True, False),
        ("/opt/megatron/pretrain_gpt.py", [], True, True, False),
        ("$ROOT/pretrain_gpt.py", [], True, True, False),
        ("examples/multimodal/train.py", [], True, True, False),
        ("train.py", [], False, False, False),
        ("train.py", ["--tensor-model-parallel-size", "2"], False, True, True),
        ("train.py", ["--lr", "1", "--seed", "2", "--bf16", "--save", "x"], False, False, False),
        ("pretrain_qwen.py", [*PLAIN, "--train-iters", "5", "--micro-batch-size", "1"], False, True, True),
    ],
)
def test_whose_program_it_is(program: str, argv: list[str], own: bool, based: bool, fork: bool) -> None:
    origin = find_origin(make_launch(argv, program))
    assert (origin.own, origin.based, bool(origin.fork)) == (own, based, fork)


@pytest.mark.parametrize("kind", ["msrun", "deepspeed"])
def test_a_launcher_of_a_fork_tells(kind: str) -> None:
    assert find_origin(make_launch(PLAIN, kind=kind)).fork == f"{kind} starts it"


def test_a_program_s_own_flags_are_found_through_its_imports() -> None:
    launch = make_launch(PLAIN, "train.py")
    explained = explain_flags(launch, load_table("main"), ("--our-mixer",), Files(str(FORK), (str(FORK),)))
    assert {text for option in explained.options for text in option.strings} == {
        "--rollout-engines",
        "--our-mixer",
    }


def test_a_checkout_s_own_flags_explain_what_no_release_has() -> None:
    launch = make_launch(PLAIN, "pretrain_ours.py")
    explained = explain_flags(
        launch, load_table("core_v0.15.3"), ("--second-size",), Files(str(CHECKOUT), (str(CHECKOUT),))
    )
    flags = {text for option in explained.options for text in option.strings}
    assert {"--our-data", "--second-size"} <= flags
    assert explained.fork


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["core_v0.5.0"], "core_v0.5.0"),
        (["core_v0.6.0", "core_v0.5.0", "core_v0.7.0", "main"], "core_v0.5.0 to core_v0.7.0, main"),
        (list(RELEASES), "core_v0.5.0 to main"),
        (["ours"], "ours"),
        ([], ""),
    ],
)
def test_releases_in_words(names: list[str], text: str) -> None:
    assert describe_releases(names) == text


@pytest.mark.parametrize(
    ("path", "release"),
    [
        ("/opt/Megatron-LM-core_v0.12.0", "core_v0.12.0"),
        ("/opt/megatron-core_r0.8.0/x:$PYTHONPATH", "core_r0.8.0"),
        ("$HOME/backends/megatron/Megatron-LM-250624", "core_v0.13.1"),
        ("Megatron-LM-240718", "core_r0.8.0"),
        ("Megatron-LM-250217", "core_v0.11.0"),
        ("Megatron-LM-231007", "core_v0.5.0"),
        ("/opt/Megatron-LM", NEWEST),
        ("/opt/megatron-123456", NEWEST),
    ],
)
def test_a_path_can_name_the_release(path: str, release: str) -> None:
    launch = make_launch(PLAIN)
    launch = launch._replace(environment={"PYTHONPATH": Text.literal(path, launch.span)})
    choice = choose_tables(None, launch)
    assert choice.tables[0].release == release
    assert choice.assumed


def test_a_path_does_not_name_a_release_that_lacks_a_flag() -> None:
    launch = make_launch([*PLAIN, "--sft"])
    launch = launch._replace(environment={"PYTHONPATH": Text.literal("core_v0.9.0", launch.span)})
    assert choose_tables(None, launch).tables[0].release == NEWEST
