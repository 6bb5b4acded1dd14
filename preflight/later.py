"""Functions whose module is imported when they are first called.

In: the names of a module and of a function in it.  Out: a function that does the same.  Tables name many functions of
which one script needs a few; the modules of the others would cost a check more than its script.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def later(module: str, name: str) -> Any:
    """A function of a module that nobody has imported yet."""
    found: Any = None

    def call(*given: Any, **named: Any) -> Any:
        nonlocal found
        if found is None:
            from importlib import import_module

            found = getattr(import_module(module), name)
        return found(*given, **named)

    return call
