"""The Python front-end: what a launch file written in Python would run, without running it.

In: a `Source` holding Python, and what the caller says about the surroundings.  Out: a `Script`: the commands
that reach `subprocess`, `os.system` and their like on each path, and the configurations that code builds.
Nothing is imported and nothing is executed; a value that cannot be worked out stays unknown with its reason.

A string of Megatron flags that is handed to a function which cannot be followed (`execute_train(train_args=...)`
of a package outside the project) is a launch all the same.  It comes as an `Execution` whose `handed_to` names
that function; its words are `python`, one unknown word for the program, then the flags.  How many processes
that starts is not known, and the environment of the ranks is open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from preflight.execution import Context, Script
from preflight.python.signs import may_hold_launch
from preflight.source import Source
from preflight.values import Piece, Text

__all__ = ["may_hold_launch", "read_script"]


def read_script(
    source: Source,
    context: Context,
    *,
    read_shell: Callable[..., Script],
    unknowns: Mapping[int, Piece] = {},
    exported: Mapping[str, Text | None] = {},
    launches: Callable[[Script], bool] | None = None,
) -> Script:
    """Work out the commands and configurations of a Python file.

    `unknowns` are the placeholders of derived text, by byte offset; `exported` is the environment that the
    file starts with (None: known to be unset).  `read_shell` reads the strings that go to a shell; `launches`
    says whether what was found so far launches anything, which is reason enough to look closer.
    """
    if not may_hold_launch(source.data):
        return Script(source, ())
    from preflight.python.script import read

    return read(
        source, context, read_shell=read_shell, unknowns=unknowns, exported=exported, launches=launches
    )
