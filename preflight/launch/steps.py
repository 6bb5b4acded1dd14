"""What srun makes of its own options beside those of the job.

In: a launch.  Out: a remark about `--ntasks-per-node` of a step that the job's number of tasks outvotes: sbatch tells
srun of it by SLURM_NTASKS, which stands for `--ntasks`.  It refuses to guess: the step's own nodes or tasks settle it.
"""

from __future__ import annotations

from collections.abc import Iterable

from preflight.execution import Related, Remark
from preflight.launch.model import Launch
from preflight.launch.scheduler import complete_request, read_request

SETTLED = frozenset({"nodes", "ntasks", "jobid", "nodelist", "nodefile", "het_group", "overcommit"})


def notice_steps(launch: Launch) -> Iterable[Remark]:
    """Tasks of a node that srun is asked for in vain."""
    header = launch.header
    layer = next((layer for layer in reversed(launch.wrappers) if layer.kind == "srun"), None)
    if header is None or header.kind != "slurm" or header.heterogeneous or layer is None:
        return
    if "ntasks_per_node" not in layer.options or SETTLED & layer.options.keys():
        return
    job, each = complete_request(read_request(header.options)), read_request(layer.options).tasks_per_node
    nodes, tasks = job.nodes.value, job.tasks.value
    if (
        nodes is None
        or tasks is None
        or each.value is None
        or each.span is None
        or nodes * each.value == tasks
    ):
        return
    if launch.closed_environment or b"SLURM_NTASKS" in launch.source.data:
        # Who knows of the variable may have seen to it.
        return
    related = (Related(job.tasks.span, f"{tasks} tasks"),) if job.tasks.span is not None else ()
    yield Remark(
        "step-tasks-ignored", each.span, {"each": each.value, "tasks": tasks, "nodes": nodes}, related
    )
