"""Which file a path stands for, and whether it may be looked at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.source import Files, Refusal

NAMES = ("one", "two", "link", "up", "file", "gone", ".", "..", "")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree").resolve()
    (root / "one" / "two").mkdir(parents=True)
    (root / "one" / "file").write_text("x")
    (root / "link").symlink_to("one/two")
    (root / "one" / "two" / "up").symlink_to("../..")
    (root / "loop").symlink_to("loop")
    (root / "one" / "gone").symlink_to("nowhere/at/all")
    return root


@given(words=st.lists(st.sampled_from(NAMES), min_size=1, max_size=8))
def test_a_path_is_followed_as_the_system_follows_it(tree: Path, words: list[str]) -> None:
    files = Files(str(tree), ("/",))
    for count in range(1, len(words) + 1):
        path = "/".join(words[:count])
        assert files.locate(path) == os.path.realpath(os.path.join(tree, path))
        real = os.path.realpath(os.path.join(tree, path))
        kind = "folder" if os.path.isdir(real) else "file" if os.path.isfile(real) else "absent"
        assert files.kind(path) == kind


def test_a_link_that_leaves_the_folders_is_refused(tree: Path) -> None:
    files = Files(str(tree / "one"), (str(tree / "one"),))
    assert files.kind("two") == "folder" and files.kind("file") == "file"
    assert files.kind("two/up") is None and isinstance(files.read("two/up/loop"), Refusal)
    assert files.kind("a/" * 2000) == "absent"


def test_a_link_to_itself_ends(tree: Path) -> None:
    files = Files(str(tree), (str(tree),))
    assert files.locate("loop/one") == os.path.realpath(tree / "loop" / "one")
    assert files.kind("loop") == files.kind("loop/one") == "absent"
