"""When the shell gives up on a command or on the whole script."""

from __future__ import annotations


class StopError(Exception):
    """The shell gives up: a required parameter is missing (`exit`), or an expression is wrong."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind
