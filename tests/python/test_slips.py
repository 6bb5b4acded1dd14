"""Command lines that no shell reads, and numbers where only text may stand; real Python refuses each of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.python.reading import read_text

HEAD = "import os, shlex, subprocess\n"
TAIL = "'pretrain_gpt.py', '--num-layers', '2'"


@pytest.mark.parametrize(
    ("code", "kinds"),
    [
        pytest.param("subprocess.run('torchrun a.py')", ["string-without-shell"], id="a command line"),
        pytest.param("subprocess.run('torchrun a.py', shell=False)", ["string-without-shell"], id="no shell"),
        pytest.param("subprocess.run('torchrun a.py'.split())", [], id="split"),
        pytest.param("subprocess.run(shlex.split('torchrun a.py'))", [], id="split as a shell does"),
        pytest.param("subprocess.run('torchrun a.py', shell=True)", [], id="a shell"),
        pytest.param("subprocess.run('./start.sh')", [], id="a program alone"),
        pytest.param(f"subprocess.run(['torchrun', 8, {TAIL}])", ["number-in-command"], id="a number"),
        pytest.param(f"subprocess.run(['torchrun', 1e-4, {TAIL}])", ["number-in-command"], id="a fraction"),
        pytest.param(f"subprocess.run(['torchrun', str(8), {TAIL}])", [], id="text"),
        pytest.param(f"subprocess.run([str(w) for w in ('torchrun', 8, {TAIL})])", [], id="all made text"),
        pytest.param(f"subprocess.run(list(map(str, ['torchrun', 8, {TAIL}])))", [], id="mapped"),
        pytest.param(f"subprocess.run(['torchrun', f'{{8}}', {TAIL}])", [], id="formatted"),
        pytest.param("os.environ['A'] = 1", ["number-in-environment"], id="a variable"),
        pytest.param("os.environ.update(A=True)", ["number-in-environment"], id="a truth value"),
        pytest.param("os.environ['A'] = str(1)", [], id="a variable as text"),
        pytest.param(
            f"subprocess.run(['torchrun', {TAIL}], env={{**os.environ, 'A': 1}})",
            ["number-in-environment"],
            id="the environment of a command",
        ),
        pytest.param(
            f"subprocess.run(['torchrun', {TAIL}], env={{'A': '1'}})", [], id="an environment of text"
        ),
    ],
)
def test_remarks(code: str, kinds: list[str]) -> None:
    script = read_text(f"{HEAD}{code}\nsubprocess.run(['torchrun', {TAIL}])\n")
    assert [remark.kind for remark in script.remarks] == kinds
    ran = subprocess.run(
        [sys.executable, "-c", f"{HEAD}{code}"], capture_output=True, text=True, env={"PATH": "/nowhere"}
    )
    wrong = "TypeError" in ran.stderr or (
        "FileNotFoundError" in ran.stderr and "torchrun a.py'" in ran.stderr
    )
    assert wrong == bool(kinds), ran.stderr


def test_a_command_line_without_a_shell_is_read_all_the_same() -> None:
    script = read_text(f"{HEAD}subprocess.run('torchrun a.py --num-layers 2')\n")
    assert "torchrun a.py --num-layers 2" in [word.text.value for word in script.executions[0].words]


@pytest.mark.parametrize(
    "code", ["subprocess.run('torchrun a.py', **options())", "os.environ.setdefault('A', 1)"]
)
def test_what_may_be_right_is_no_slip(code: str) -> None:
    assert not read_text(f"{HEAD}{code}\nsubprocess.run(['torchrun', {TAIL}])\n").remarks
