"""Data as constants of Python: what a wheel carries, so that a start reads it as fast as its own code.

In: None, truth values, numbers, texts, and tuples, lists and dictionaries of these.  Out: a file that assigns the value
to one name, and the value again.  The interpreter keeps the file compiled beside it, as it does with every module; to
read that takes a fifth of the time that the same data takes as JSON.
"""

from __future__ import annotations

import os
from importlib.machinery import SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

COMPILED = os.path.join(os.path.dirname(os.path.realpath(__file__)), "compiled")
"""Where the build of a wheel puts such files; a checkout has none."""


def write_constant(path: Path, value: Any) -> None:
    """Write a value to a file, whose folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"VALUE = {value!r}\n", "utf-8")


def read_constant(path: str) -> Any:
    """The value that a file holds; FileNotFoundError where there is none."""
    space: dict[str, Any] = {}
    exec(SourceFileLoader(path, path).get_code(path) or "", space)
    return space["VALUE"]
