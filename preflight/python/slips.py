"""Slips in what Python hands to a program that it starts.

In: the arguments of a call of `subprocess`, and what is put into `os.environ`.  Out: remarks, noted on the path: a
command line in one string without a shell, and numbers where only text may stand.  It refuses to guess: a value whose
type is not known is no slip.
"""

from __future__ import annotations

import re

from preflight.execution import Remark
from preflight.python.objects import Arguments, Mapping, Scalar, Sequence, String, Value
from preflight.python.scope import Frame
from preflight.source import Span

_COMMAND_LINE = re.compile(
    r"\s*(?:[^\s/]*/)*(?:torchrun|python3?|deepspeed|accelerate|srun|sbatch|mpirun|mpiexec|msrun|ray|megatron|swift"
    r"|bash|sh|docker|ssh)\s+\S"
)


def notice_string(command: Value, given: Arguments, frame: Frame) -> bool:
    """Whether a command line is taken for the name of a program, since no shell reads it."""
    if not isinstance(command, String) or command.path or frame.path.expecting_failure:
        return False
    if given.keyword_rest is not None or "executable" in given.keywords:
        return False
    head = next(iter(command.text.pieces), None)
    if head is None or head.unknown is not None or _COMMAND_LINE.match(head.text) is None:
        return False
    frame.path.remarks.append(Remark("string-without-shell", given.span, {"program": head.text.split()[0]}))
    return True


def notice_words(command: Value, frame: Frame) -> None:
    """The first number among the words of a command."""
    if not isinstance(command, Sequence) or frame.path.expecting_failure:
        return
    for element in command.elements:
        kind = None if element.rest else number_kind(element.value)
        if kind is not None:
            values = {"value": str(getattr(element.value, "value", "")), "kind": kind}
            frame.path.remarks.append(Remark("number-in-command", element.span, values))
            return


def notice_variables(environment: Value | None, span: Span, frame: Frame) -> None:
    """The first number in the environment of a command."""
    if not isinstance(environment, Mapping):
        return
    for name, (_, item) in environment.entries.items():
        if isinstance(name, str) and notice_variable(name, item, span, frame):
            return


def notice_variable(name: str, value: Value, span: Span, frame: Frame) -> bool:
    """Whether a variable of the environment is given a number."""
    kind = number_kind(value)
    if kind is None or not isinstance(value, Scalar) or frame.path.expecting_failure:
        return False
    values = {"name": name, "value": str(value.value), "kind": kind}
    place = value.origin.span if value.origin.span.text.strip() else span
    frame.path.remarks.append(Remark("number-in-environment", place, values))
    return True


def number_kind(value: Value) -> str | None:
    """The type of a number; a truth value is one too."""
    if isinstance(value, Scalar) and isinstance(value.value, (bool, int, float)):
        return type(value.value).__name__
    return None
