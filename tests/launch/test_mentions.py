"""What a script speaks of without saying it to the launch."""

from __future__ import annotations

import pytest

from preflight.launch.mentions import _BLACKWELL, _SIGNS


@pytest.mark.parametrize(
    "text", ["GB200", "b300 nodes", "# Blackwell", "nvl72", "sm_100", "SM100", "DGX B200", "dgx_b", "dgx-B"]
)
def test_the_first_look_lets_every_name_of_blackwell_pass(text: str) -> None:
    data = text.encode()
    assert _BLACKWELL.search(data)
    assert any(sign in data.lower() for sign in _SIGNS)


@pytest.mark.parametrize("text", ["H200", "mysm_100", "dgx a100"])
def test_other_names_are_no_blackwell(text: str) -> None:
    assert _BLACKWELL.search(text.encode()) is None
