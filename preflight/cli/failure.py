"""What a user sees when something goes wrong that is not a finding.

In: an exception.  Out: one sentence on standard error and the exit status.
"""

from __future__ import annotations

import sys

from preflight.settings import SettingsError


def report_failure(error: Exception) -> int:
    """Say what went wrong: 2 for the user's config or rules, else 3."""
    if isinstance(error, SettingsError):
        print(error, file=sys.stderr)
        return 2
    print(f"preflight: {describe(error)}", file=sys.stderr)
    return 3


def describe(error: BaseException) -> str:
    """An exception as a sentence, with the place in preflight that a report of the fault should name."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'input or output'}: {error.strerror.lower()}"
    if isinstance(error, RecursionError):
        return "nested too deeply to be checked"
    if isinstance(error, MemoryError):
        return "too large to be checked in the memory at hand"
    trace, place = error.__traceback__, ""
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if "preflight" in path:
            place = f"{path.rpartition('preflight/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    words = " ".join(str(error).split())[:200]
    return f"internal error, please report it: {type(error).__name__}: {words} ({place})"
