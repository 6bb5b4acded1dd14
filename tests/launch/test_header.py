from __future__ import annotations

import pytest

from preflight.launch.header import read_header
from preflight.launch.scheduler import complete_request, read_request, scheduler_variables
from preflight.source import Source


def header_of(text: str):  # type: ignore[no-untyped-def]
    return read_header(Source("job.sh", text.encode()))


def values(text: str) -> dict[str, str | None]:
    header = header_of(text)
    assert header is not None
    return {name: s.text.value if s.text is not None else None for name, s in header.options.items()}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param("#SBATCH --nodes=2", {"nodes": "2"}, id="long with equals sign"),
        pytest.param("#SBATCH --nodes 2", {"nodes": "2"}, id="long with blank"),
        pytest.param("#SBATCH -N 2", {"nodes": "2"}, id="short"),
        pytest.param("#SBATCH -N2", {"nodes": "2"}, id="short glued"),
        pytest.param("#SBATCH -N 2 -n 16", {"nodes": "2", "ntasks": "16"}, id="two on a line"),
        pytest.param("#SBATCH --nodes=2 # two", {"nodes": "2"}, id="comment behind"),
        pytest.param('#SBATCH --job-name="a b"', {"job_name": "a b"}, id="quoted"),
        pytest.param("#SBATCH --tasks-per-node=4", {"ntasks_per_node": "4"}, id="other spelling"),
        pytest.param("##SBATCH --nodes=2\n#SBATCH -n 1", {"ntasks": "1"}, id="disabled line"),
        pytest.param("\n# words\n\n#SBATCH -n 1", {"ntasks": "1"}, id="blank lines and comments in between"),
        pytest.param("#SBATCH --exclusive", {"exclusive": None}, id="no value"),
    ],
)
def test_directives_of_slurm(lines: str, expected: dict[str, str | None]) -> None:
    assert values("#!/bin/bash\n" + lines + "\necho\n") == expected


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        pytest.param(
            "#!/bin/bash\n#SBATCH -N 1\nset -e\n#SBATCH -n 2\n", ["header-late"], id="behind a command"
        ),
        pytest.param("#!/bin/bash\n#SBATCH -N 1\nset -e\n#SBATCH -N 1\n", [], id="late, but said before"),
        pytest.param("#!/bin/bash\nset -e\n#SBATCH -N 1\n", ["header-late"], id="all of them late"),
        pytest.param("#!/bin/bash\ncat > x <<EOF\n#SBATCH -N 1\nEOF\n", [], id="inside a here-document"),
        pytest.param("#!/bin/bash\necho '\n#SBATCH -N 1\n'\n", [], id="inside quotes"),
        pytest.param("#!/bin/bash\n#SBATCH --ntasks-per-no=1\n", [], id="a beginning that sbatch completes"),
        pytest.param(
            "#!/bin/bash\n#SBATCH --ntask=1\n", ["header-misspelt"], id="a beginning of several options"
        ),
        pytest.param("#!/bin/bash\n#SBATCH --ntasks-per-nodes=1\n", ["header-misspelt"], id="misspelt"),
        pytest.param("#!/bin/bash\n#SBATCH --gpus_per_node=1\n", ["header-misspelt"], id="underscores"),
        pytest.param("#!/bin/bash\n#SBATCH --our-plugin=1\n", [], id="an option of a plugin"),
        pytest.param("#!/bin/bash\n#SBATCH -N 1\n#SBATCH -N 2\n", ["header-repeated"], id="twice"),
        pytest.param(
            "#!/bin/bash\n#SBATCH -gres=gpu:8\n", ["header-misspelt"], id="one dash, an unknown letter"
        ),
        pytest.param("#!/bin/bash\n#SBATCH -nodes=2\n", ["header-misspelt"], id="one dash, a checked value"),
        pytest.param("#!/bin/bash\n#SBATCH -output=a.log\n", [], id="one dash, a file of a strange name"),
        pytest.param("#!/bin/bash\n#SBATCH -n4\n#SBATCH -pgpu\n", [], id="short options joined to values"),
        pytest.param("#!/bin/bash\n#SBATCH -N=2 -p=gpu\n", ["header-equals"] * 2, id="equals signs"),
        pytest.param("#!/bin/bash\n#SBATCH -J=name\n", [], id="an equals sign that does no harm"),
        pytest.param("#!/bin/bash\n# SBATCH -N 4\n#SBATCH -n 1\n", ["header-commented"], id="comment first"),
        pytest.param("#!/bin/bash\n#SBATCH -n 1\n# SBATCH --nodes=4\n", ["header-commented"], id="comment"),
        pytest.param("#!/bin/bash\n#sbatch -N 4\n#SBATCH -n 1\n", ["header-commented"], id="small letters"),
        pytest.param("#!/bin/bash\n#SBATCH -n 1\nls\n# SBATCH --nodes=4\n", [], id="comment too late"),
        pytest.param("#!/bin/bash\n#SBATCH -n 1\n## SBATCH -N 4\n#SBATCH -N 2\n", [], id="left out"),
        pytest.param("#!/bin/bash\n#SBATCH -N 1\n#SBATCH hetjob\n#SBATCH -N 2\n", [], id="two components"),
        pytest.param("#!/bin/bash\n#SBATCH -o $HOME/x\n", ["header-variable"], id="variable"),
        pytest.param("#!/bin/bash\n#SBATCH -o %x-%j\n", [], id="patterns of the scheduler"),
        pytest.param("# words\n#SBATCH -N 1\n", ["header-without-shebang"], id="no interpreter"),
    ],
)
def test_remarks(text: str, kinds: list[str]) -> None:
    header = header_of(text)
    assert [remark.kind for remark in header.remarks] == kinds if header is not None else kinds == []


def test_misspelt_option_is_mended_in_place() -> None:
    header = header_of("#!/bin/bash\n#SBATCH --gpus_per_node=1\n")
    ((span, text),) = header.remarks[0].edits
    assert (span.text, text) == ("--gpus_per_node", "--gpus-per-node")


@pytest.mark.parametrize(
    ("lines", "numbers"),
    [
        pytest.param("-N 2 --ntasks-per-node=8", (2, 16, 8, None), id="tasks from nodes"),
        pytest.param("-N 2 -n 16", (2, 16, 8, None), id="tasks per node"),
        pytest.param("-n 16 --ntasks-per-node=8", (2, 16, 8, None), id="nodes from tasks"),
        pytest.param("-N 2 -n 15", (2, 15, None, None), id="uneven"),
        pytest.param("-N 2-4", (None, None, None, None), id="a range of nodes"),
        pytest.param("-N 2-2 --gres=gpu:8", (2, None, None, 8), id="a range of one"),
        pytest.param("-N 1 --gres=gpu:a100:4", (1, None, None, 4), id="typed GPUs"),
        pytest.param("-N 1 --gres=gpu", (1, None, None, 1), id="one GPU"),
        pytest.param("-N 1 --gres=nvme:1,gpu:h100:8(S:0-1)", (1, None, None, 8), id="among other resources"),
        pytest.param("-N 1 --gpus-per-node=h100:8", (1, None, None, 8), id="GPUs per node"),
        pytest.param("-N 1 --gpus=8", (1, None, None, 8), id="all on one node"),
        pytest.param("-N 2 --gpus=8", (2, None, None, None), id="the scheduler spreads them"),
        pytest.param("-N 2 --ntasks-per-node=8 --gpus-per-task=1", (2, 16, 8, 8), id="GPUs per task"),
        pytest.param("-N 1k", (1024, None, None, None), id="a thousand nodes"),
        pytest.param("-N 1 --gres=license:3", (1, None, None, None), id="no GPU"),
    ],
)
def test_numbers_of_slurm(lines: str, numbers: tuple[int | None, ...]) -> None:
    header = header_of(f"#!/bin/bash\n#SBATCH {lines}\n")
    request = complete_request(read_request(header.options))
    found = (request.nodes, request.tasks, request.tasks_per_node, request.gpus_per_node)
    assert tuple(number.value for number in found) == numbers


@pytest.mark.parametrize(
    ("lines", "kind", "numbers"),
    [
        pytest.param("#PBS -l select=2:ncpus=64:ngpus=8:mpiprocs=8", "pbs", (2, 8, 8), id="select"),
        pytest.param("#PBS -l nodes=2:ppn=8:gpus=4", "pbs", (2, 8, 4), id="nodes"),
        pytest.param("#PBS -l nodes=2:ppn=8:gpus=4\n#PBS -l walltime=1:00", "pbs", (2, 8, 4), id="and time"),
        pytest.param(
            "#PBS -l select=1:ngpus=8+2:ngpus=4", "pbs", (None, None, None), id="two kinds of chunk"
        ),
        pytest.param('#BSUB -n 16 -R "span[ptile=8]"\n#BSUB -gpu "num=8"', "lsf", (2, 8, 8), id="lsf"),
    ],
)
def test_numbers_of_other_schedulers(lines: str, kind: str, numbers: tuple[int | None, ...]) -> None:
    header = header_of(f"#!/bin/bash\n{lines}\n")
    assert header.kind == kind
    request = complete_request(read_request(header.options, kind))
    found = (request.nodes, request.tasks_per_node, request.gpus_per_node)
    assert tuple(number.value for number in found) == numbers


def test_variables_that_follow_from_the_header() -> None:
    header = header_of("#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=h100:8\n")
    given = {
        k: t.value if t is not None and t.known else None for k, t in scheduler_variables(header).items()
    }
    assert given["SLURM_NNODES"] == given["SLURM_JOB_NUM_NODES"] == "2"
    assert given["SLURM_NTASKS"] == "16"
    assert given["SLURM_NTASKS_PER_NODE"] == given["SLURM_GPUS_ON_NODE"] == "8"
    assert given["SLURM_GPUS_PER_NODE"] == "h100:8"
    assert given["SLURM_TASKS_PER_NODE"] == "8(x2)"
    assert given["SLURM_PROCID"] == "0"
    assert given["SLURM_JOB_ID"] is None


def test_what_the_caller_says_is_left_to_it() -> None:
    header = header_of("#!/bin/bash\n#SBATCH -N 2\n")
    assert "SLURM_NNODES" not in scheduler_variables(header, {"SLURM_NNODES": "4"})


def test_nodes_that_no_line_names_stay_unknown() -> None:
    header = header_of("#!/bin/bash\n#SBATCH --gpus-per-node=8\n")
    assert "SLURM_NNODES" not in scheduler_variables(header)


def test_no_directive_no_header() -> None:
    assert header_of("#!/bin/bash\necho '#SBATCH -N 1'\n") is None
