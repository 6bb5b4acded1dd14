"""The bash front-end: works out, without running anything, which commands a script would run."""

from __future__ import annotations

from preflight.shell.script import read_script

__all__ = ["read_script"]
