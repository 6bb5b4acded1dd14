"""Release ranges."""

from __future__ import annotations

import pytest

from preflight.engine.releases import holds, parse_range
from preflight.targets.releases import parse_release


@pytest.mark.parametrize(
    ("text", "release", "expected"),
    [
        ("", "core_v0.5.0", True),
        (">=0.8", "core_r0.8.0", True),
        (">=0.8", "core_v0.7.0", False),
        ("<0.16", "core_v0.15.3", True),
        ("<=0.15", "core_v0.15.3", False),
        ("==0.15", "core_v0.15.3", True),
        ("!=0.15", "core_v0.15.3", False),
        (">=0.10,<0.12", "core_v0.11.0", True),
        (">=0.10,<0.12", "core_v0.9.0", False),
        (">=0.18.2", "core_v0.18.2", True),
        (">0.19", "main", True),
        ("<0.20", "main", False),
    ],
)
def test_a_range_holds_for_its_releases(text: str, release: str, expected: bool) -> None:
    assert holds(parse_range(text), parse_release(release)) is expected


@pytest.mark.parametrize("text", ["0.8", ">=x", "~=0.8", ">= 0.8 <0.9"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="range term"):
        parse_range(text)
