"""Whatever a file holds, a check ends with findings or a sentence; never with an internal error."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from preflight.cli.check import make_sheet
from preflight.cli.discover import Found
from preflight.cli.options import FORMATS
from preflight.cli.output import render, with_secrets
from preflight.cli.session import Session

SHELL = [
    "torchrun",
    " --nproc-per-node 8",
    " pretrain_gpt.py",
    " --num-layers",
    " $L",
    " ${TP:-8}",
    "\n",
    "\n",
    ";",
    " && ",
    " | tee x",
    " \\\n",
    " \\ \n",
    '"',
    "'",
    "`",
    "$(",
    ")",
    "((",
    "))",
    "[[",
    "]]",
    "if [ $X = 1 ]; then\n",
    "else\n",
    "fi\n",
    "for i in 1 2; do\n",
    "done\n",
    "case $1 in\n",
    "a) ",
    ";;\n",
    "esac\n",
    "A=(",
    "A+=(--bf16)\n",
    '"${A[@]}"',
    "export X=1\n",
    "f() {\n",
    "}\n",
    "f\n",
    "<<EOF\n",
    "EOF\n",
    "eval ",
    "$@",
    "${A[",
    "]}",
    "{1..3}",
    "${X##*/}",
    "# preflight: ignore[all] x\n",
    "#SBATCH --nodes=2\n",
    "srun ",
    "bash -c '",
    "\x00",
    "\u00e9",
    "\r\n",
    "\t",
    "set -- ",
    "shift\n",
    "local x=1\n",
    "--tensor-model-parallel-size 8",
    "while read l; do ",
    "source x.sh\n",
    "python -m torch.distributed.launch ",
    "ray job submit -- ",
    "@BASE",
    "sbatch <<X\n",
    "X\n",
    "~",
    "*",
    "?",
    "!",
    "${!X}",
]
PYTHON = [
    "import subprocess\n",
    "import os\n",
    "subprocess.run(",
    "[",
    "]",
    ")",
    "'torchrun'",
    ", ",
    "'pretrain_gpt.py'",
    "'--num-layers'",
    "x",
    " = ",
    "\n",
    "    ",
    "if x:\n",
    "for i in range(3):\n",
    "def f(a, *b, **c):\n",
    "return x\n",
    "f()",
    "f'{x}'",
    '"--bf16 " + ',
    "*x",
    ".split()",
    ".join(",
    "os.environ['A']",
    "{",
    "}",
    "'a': ",
    "shell=True",
    "lambda: ",
    "class A:\n",
    "self.x",
    "# preflight: ignore[all]\n",
    "with open('x') as g:\n",
    "try:\n",
    "except E:\n",
    "yield x\n",
    "x += ['a']\n",
    "\x00",
    "\u00e9",
    "'''",
    "%s' % x",
]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return Session(make_sheet().parse_args(["--isolated", "--root", str(tmp_path_factory.mktemp("root"))]))


def check(session: Session, path: Path, data: bytes) -> None:
    path.write_bytes(data)
    file = session.check_file(Found(str(path), "named", True))
    assert file.error is None or "internal error" not in file.error, (data, file.error)
    outcome = with_secrets(session.conclude([file]))
    for form in FORMATS:
        assert isinstance(render(outcome, form, "note", session.options, None), str)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(parts=st.lists(st.sampled_from(SHELL), max_size=40))
def test_any_shell_text(session: Session, tmp_path: Path, parts: list[str]) -> None:
    check(session, tmp_path / "x.sh", "".join(parts).encode())


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(parts=st.lists(st.sampled_from(PYTHON), max_size=40))
def test_any_python_text(session: Session, tmp_path: Path, parts: list[str]) -> None:
    check(session, tmp_path / "x.py", ("import subprocess\n" + "".join(parts)).encode())


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.binary(max_size=300))
def test_any_bytes(session: Session, tmp_path: Path, data: bytes) -> None:
    check(session, tmp_path / "x.sh", data)
    check(session, tmp_path / "x.py", data)
