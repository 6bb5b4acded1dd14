"""The chain: which front-end reads a file."""

from __future__ import annotations

import pytest

from preflight.chain import language_of
from preflight.source import Source


@pytest.mark.parametrize(
    ("path", "first", "language"),
    [
        ("run.sh", "set -e", "shell"),
        ("run", "#!/bin/bash -l", "shell"),
        ("run", "#!/usr/bin/env -S python3 -u", "python"),
        ("run.sh", "#!/usr/bin/python", "python"),
        ("run.py", "import os", "python"),
        ("run.py", "#!/usr/bin/env", "python"),
        ("run.py", "#!/opt/conda/bin/pypy", "python"),
        ("run.py", "#!/usr/bin/env bash", "shell"),
        ("run", "#!/usr/bin/env", "shell"),
        ("run.yaml", "run: torchrun", None),
    ],
)
def test_the_first_line_and_the_ending_tell_the_language(path: str, first: str, language: str | None) -> None:
    assert language_of(Source(path, f"{first}\n".encode())) == language
