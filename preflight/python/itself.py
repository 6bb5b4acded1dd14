"""Programs that give themselves a command line: flags put into `sys.argv`, and then Megatron's own start.

In: calls that are not followed.  Out: `Execution`s, as of flags that are handed to that function.
"""

from __future__ import annotations

import re

from preflight.python import runs
from preflight.python.objects import Arguments, Sequence
from preflight.python.scope import Frame

_STARTS = re.compile(r"megatron\.(?:\w+\.)*(?:initialize_megatron|pretrain)$")


def start_itself(name: str, given: Arguments, frame: Frame) -> None:
    """`initialize_megatron()` or `pretrain(...)` after the program has set flags of its own; once on each path."""
    path = frame.path
    if _STARTS.match(name) is None or not isinstance(path.argv, Sequence) or path.started_itself:
        return
    words = runs.words_of(path.argv, given.span)[1:]
    users = set(path.context.arguments.values())
    own = [
        word for word in words if (word.text.value or "").startswith("--") and word.text.value not in users
    ]
    if own and not path.expecting_failure:
        path.started_itself = True
        runs.hand_flags(name, words, given, frame)
