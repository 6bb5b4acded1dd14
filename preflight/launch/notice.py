"""What a launch shows that no number says: remarks for rules."""

from __future__ import annotations

from preflight.launch.model import Launch


def notice(launch: Launch) -> Launch:
    return launch
