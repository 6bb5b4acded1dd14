"""Signs of a launch in a text: what is one, and what only looks like one."""

from __future__ import annotations

import re

import pytest

from preflight.python import signs


@pytest.mark.parametrize(
    "name", [name for name, value in vars(signs).items() if isinstance(value, signs.Signs)]
)
def test_every_sign_begins_with_letters_that_it_cannot_do_without(name: str) -> None:
    for pattern in getattr(signs, name).patterns:
        assert re.match(rb"[A-Za-z_'\"-]|\\[.\[]", pattern.pattern), pattern.pattern
        assert b"|" not in re.sub(rb"\((?:[^()]|\([^()]*\))*\)", b"", pattern.pattern), pattern.pattern


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run('torchrun --nproc 8 a.py --num-layers 2 --hidden-size 4 --micro-batch-size 1')", True),
        ("['torchrun', '--num-layers', n, '--hidden-size', h, '--micro-batch-size', m]", True),
        ('["ray job submit -- python train.py --num-layers 2 --hidden-size 4 --global-batch-size 8"]', True),
        ("# torchrun's environment\n'--num-layers', '--hidden-size', '--micro-batch-size'", False),
        ("# see train.py\n'--num-layers', '--hidden-size', '--micro-batch-size'", False),
        ("['torchrun', 'a.py', '--num-layers', '2']", False),
    ],
)
def test_whether_a_command_line_is_written_out(text: str, expected: bool) -> None:
    assert signs.writes_launch(text.encode()) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("subprocess.run(cmd)", True),
        ("os . system(command)", True),
        ("from  os import execvp\nexecvp(argv[0], argv)", True),
        ("run_cmd('make')", True),
        ("self.execute_train(flags)", True),
        ("torchrun_cmd(words)", False),
        ("cmd = f'python -m torch.distributed.run {script}'", False),
        ("torch.distributed.run.main(args)", True),
        ("crypt.pty_name(script)", False),
        ("subprocess.run(['git', 'status'])", False),
    ],
)
def test_whether_code_starts_a_program(text: str, expected: bool) -> None:
    assert signs.starts_program(text.encode()) is expected
