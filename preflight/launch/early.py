"""Variables that are expanded before there is anything that sets them.

In: a launch.  Out: remarks about a variable of the job that the shell expands which writes or submits the job, and
about the rank of a process that the shell expands which starts mpirun.  It refuses to guess: a variable that the script
or its caller sets is no remark.
"""

from __future__ import annotations

from collections.abc import Iterable

from preflight.execution import Remark
from preflight.launch.model import Launch
from preflight.launch.scheduler import SLURM_VARIABLES
from preflight.source import Source

PROCESS_VARIABLES = frozenset(
    {
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_NODE_RANK",
        "PMI_RANK",
        "PMIX_RANK",
        "PMI_LOCAL_RANK",
        "PALS_RANKID",
        "PALS_NODEID",
        "PALS_LOCAL_RANKID",
        "MPI_LOCALRANKID",
        "MV2_COMM_WORLD_RANK",
        "MV2_COMM_WORLD_LOCAL_RANK",
    }
)
"""Variables that only mpirun sets, in each process that it starts."""


def notice_early(launch: Launch) -> Iterable[Remark]:
    """The first variable of the job, and the first of a process, that is expanded too early."""
    header = launch.header
    submitted = header is not None and header.kind == "slurm"
    submitted = (
        submitted and header is not None and ("wrap" in header.options or bool(header.span.source.origins))
    )
    starters = [layer.span.source for layer in launch.wrappers if layer.kind == "mpirun"]
    if not submitted and not starters:
        return
    for word in launch.command:
        for piece in word.text.pieces:
            unknown = piece.unknown
            if unknown is None or unknown.reason != "environment" or unknown.name is None:
                continue
            if submitted and unknown.name in SLURM_VARIABLES and not piece.span.source.origins:
                yield Remark("scheduler-variable-early", piece.span, {"name": unknown.name})
                return
            if unknown.name in PROCESS_VARIABLES and _is_one(piece.span.source, starters):
                yield Remark("process-variable-early", piece.span, {"name": unknown.name})
                return


def _is_one(source: Source, others: list[Source]) -> bool:
    return any(source is other for other in others)
