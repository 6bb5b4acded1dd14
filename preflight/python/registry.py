"""The table of library functions that are modelled.

In: handlers with the dotted names they stand for.  Out: the table.  A handler gets the name that was called, the
arguments, the node and the frame; None means that the outcome is not known.
"""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from preflight.python.objects import (
    Arguments,
    Origin,
    Scalar,
    Value,
    assumptions_of,
)
from preflight.python.scope import Frame

Handler = Callable[[str, Arguments, cst.CSTNode, Frame], Value | None]


FUNCTIONS: dict[str, Handler] = {}


def models(*names: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for name in names:
            FUNCTIONS[name] = handler
        return handler

    return register


def first(given: Arguments) -> Value | None:
    return given.positional[0].value if given.positional else None


def scalar(value: object, given: Arguments, *causes: Value) -> Value:
    return Scalar(value, Origin(given.span, (), assumptions_of(*causes)))
