"""The version that a Megatron checkout or package says it is, read as text.

In: a folder and what may be read.  Out: `0.15.3`, `0.20.0rc1`, or None.  Nothing is imported.
"""

from __future__ import annotations

import os
import re

from preflight.source import Files, Refusal


class TargetError(ValueError):
    """A name that stands for no target, or for none that can be used."""


class UnreadableError(Exception):
    """A folder or file holds no command line that can be read; the message says what was looked for."""


def is_early(version: str) -> bool:
    """Whether a version is on the way to a minor release: `0.7.0rc0`, not `0.7.1rc0`."""
    return re.fullmatch(r"\d+\.\d+(?:\.0)?\.?(?:rc|a|b|dev)\d*", version) is not None


def read_version(folder: str, files: Files) -> str | None:
    """The version in `megatron/core/package_info.py` (or `core/__init__.py` of old releases)."""
    for relative in ("megatron/core/package_info.py", "megatron/core/__init__.py"):
        source = files.read(os.path.join(folder, relative))
        if isinstance(source, Refusal):
            continue
        numbers = dict(re.findall(r"^(MAJOR|MINOR|PATCH) *= *(\d+) *$", source.text, re.MULTILINE))
        if "MAJOR" in numbers and "MINOR" in numbers:
            text = ".".join(numbers.get(part, "0") for part in ("MAJOR", "MINOR", "PATCH"))
            suffix = re.search(r"^PRE_RELEASE *= *['\"]([\w.]*)['\"]", source.text, re.MULTILINE)
            return text + (suffix.group(1) if suffix else "")
    return None
