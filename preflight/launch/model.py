"""The waist of the chain: what is launched, whichever way the script says it.

In: nothing; these are the records.  To their left nothing knows of Megatron, to their right nothing knows
of bash or Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from preflight.execution import CodeConfiguration, Condition, Remark, Word
from preflight.record import NamedTuple
from preflight.source import Source, Span
from preflight.values import Assumption, Text, Unknown


class Number(NamedTuple):
    """A count with its origin: known, unknown with its reason, or absent (both None)."""

    value: int | None
    origin: str  # "launcher" | "scheduler" | "environment" | "default" | "option" | "derived"
    span: Span | None = None
    unknown: Unknown | None = None
    assumptions: tuple[Assumption, ...] = ()
    text: str = ""

    @property
    def known(self) -> bool:
        return self.unknown is None


class Setting(NamedTuple):
    """An option of a launcher or scheduler: its long name with underscores, its value, its place."""

    name: str
    text: Text | None
    span: Span


class Launcher(NamedTuple):
    """How processes are started.

    `kind`: torchrun, torch.distributed.launch, deepspeed, accelerate, msrun, srun, mpirun, ray, python,
    megatron, swift, code.  `world_size` is nodes x processes per node where both are known, or what the
    launcher itself is given (mpirun -np, srun --ntasks).
    """

    kind: str
    nodes: Number
    processes_per_node: Number
    world_size: Number
    options: Mapping[str, Setting]
    span: Span
    open: tuple[Unknown, ...] = ()  # words of unknown length among the launcher's own options


class Layer(NamedTuple):
    """A wrapper that was peeled off: its kind (srun, env, apptainer, ...), options, place, and all its words."""

    kind: str
    options: Mapping[str, Setting]
    span: Span
    words: tuple[Word, ...] = ()


class Header(NamedTuple):
    """The scheduler's side: `#SBATCH` and the like, with the options of an enclosing sbatch.

    `components` are the parts of a heterogeneous job; `options` is then the first.  `remarks` say what is odd about
    the lines themselves.  `lines` are the directives as they stand.
    """

    kind: str  # "slurm" | "pbs" | "lsf"
    options: Mapping[str, Setting]
    span: Span
    components: tuple[Mapping[str, Setting], ...] = ()
    remarks: tuple[Remark, ...] = ()
    lines: tuple[Span, ...] = ()

    @property
    def heterogeneous(self) -> bool:
        return len(self.components) > 1


class Launch(NamedTuple):
    """One command that starts a training program, on one path through the script.

    `command` begins at the launcher (torchrun, deepspeed, python, ...), never at an enclosing wrapper; `argv`
    is what the program gets.  `environment` is what the ranks see (None: known to be unset); a variable that is
    absent from it is unknown unless the context is closed.  `open` is not empty when `argv` has a part of
    unknown length.  `configuration` stands in for `argv` where code builds the settings.
    """

    source: Source
    span: Span
    launcher: Launcher
    command: tuple[Word, ...]
    program: Word | None
    argv: tuple[Word, ...]
    environment: Mapping[str, Text | None]
    conditions: tuple[Condition, ...]
    wrappers: tuple[Layer, ...] = ()
    header: Header | None = None
    open: tuple[Unknown, ...] = ()
    remarks: tuple[Remark, ...] = ()
    configuration: CodeConfiguration | None = None
    closed_environment: bool = False
    directory: Text | None = None
    module: bool = False  # the program is a module's name (`python -m`)
    written: Mapping[str, Text] = {}  # files that the script wrote and a word names
    lost: Mapping[str, tuple[Text, Layer]] = {}  # variables of the script that a wrapper does not hand over

    def list_variables(self) -> Iterator[tuple[str, Span]]:
        """The variables that the command asks the environment for, each where it does."""
        for word in self.command:
            for piece in word.text.pieces:
                unknown = piece.unknown
                if unknown is not None and unknown.reason == "environment" and unknown.name is not None:
                    yield unknown.name, piece.span
