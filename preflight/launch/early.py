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
    slurm = header is not None and header.kind == "slurm"
    submitted = slurm and header is not None and ("wrap" in header.options or header.span.source.origins)
    starters = [layer.span.source for layer in launch.wrappers if layer.kind == "mpirun"]
    if not submitted and not starters:
        return
    for name, span in launch.list_variables():
        if submitted and name in SLURM_VARIABLES and not span.source.origins:
            yield Remark("scheduler-variable-early", span, {"name": name})
            return
        if name in PROCESS_VARIABLES and any(span.source is source for source in starters):
            yield Remark("process-variable-early", span, {"name": name})
            return
