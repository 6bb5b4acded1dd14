"""Nothing that a file holds makes the reader crash, hang, or start anything."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight.execution import Script
from preflight.python import may_hold_launch
from preflight.python.script import read
from tests.python.reading import keep_text, read_text

HEAD = "import subprocess\nsubprocess.run(['torchrun', 'train.py'])\n"

DEEP = {
    "brackets": "x = " + "(" * 3000 + ")" * 3000,
    "lists": "[" * 30000 + "]" * 30000,
    "sums": "x = " + "a + " * 5000 + "a",
    "negations": "not " * 30000 + "a",
    "attributes": "a" + ".b" * 5000,
    "conditions": "a if b else " * 5000 + "a",
    "lambdas": "lambda: " * 5000 + "a",
    "branches": "if a:\n  pass\n" + "elif b:\n  pass\n" * 5000,
    "calls": "a" + "()" * 5000,
    "literals": "x = (" + '"a"\n' * 5000 + ")",
    "powers": "x = " + "a ** " * 30000 + "a",
    "formats": "x = " + 'f"{' * 3000,
    "bindings": "(a := " * 3000 + "1" + ")" * 3000,
    "blocks": "".join(" " * n + "if a:\n" for n in range(150)) + " " * 150 + "pass\n",
}

ODD = {
    "nothing": b"",
    "zero bytes": b"\0\0\0 torchrun subprocess",
    "no utf-8": b"# -*- coding: latin-1 -*-\nx = '\xe9'\nimport subprocess # torchrun",
    "a byte order mark": b"\xef\xbb\xbfimport subprocess\nsubprocess.run(['torchrun', 'x'])",
    "line ends of another system": b"import subprocess\r\nsubprocess.run(['torchrun',\r\n 'x'])\r\n",
    "python 2": b"import subprocess\nprint 'torchrun'\n",
    "an open string": b"import subprocess\nx = '''torchrun",
    "bytes": bytes(range(256)) * 40 + b"subprocess torchrun",
    "a lone surrogate": b"import subprocess\nx = 'torchrun \\ud800'\nsubprocess.run([x, x])",
}

LOOPS = {
    "for ever": "while True:\n    x = 1",
    "a growing list": "a = [1]\nfor x in a:\n    a.append(x)",
    "recursion": "def f(x):\n    return f(x + 1) + f(x)\nf(1)",
    "a growing text": "a = 'x'\nwhile True:\n    a += a",
    "a growing number": "a = 10\nwhile True:\n    a = a ** a",
    "a huge range": "for x in range(10 ** 9):\n    y = [0] * (10 ** 9)",
    "a huge shift": "x = 1 << (10 ** 10)",
    "a wide format": "x = '%1000000000d' % 3 + f'{3:999999999}' + 'a'.rjust(10 ** 9)",
    "a class that is its own base": "class A: pass\nclass A(A): pass\nA().x",
    "many branches": "import c\n" + "".join(f"if c.a{n}:\n    x{n} = 1\n" for n in range(400)),
    "generators": "def f():\n    while True:\n        yield 1\nfor x in f():\n    pass",
    "properties": "class A:\n    @property\n    def x(self): return self.x\nA().x",
    "self-containing list": "a = []\na.append(a)\nstr(a)\na == a\nprint(a)",
    "a product": "from itertools import product\nproduct(range(10000), range(10000))",
}


def read_anyhow(data: bytes, folder: Path = Path("/nonexistent")) -> Script:
    """Read without the first look at the words."""
    from preflight.execution import Context
    from preflight.source import Files, Source

    context = Context(Files(str(folder), (str(folder),)), closed_environment=True, closed_arguments=True)
    return read(Source("launch.py", data), context, read_shell=keep_text)


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_deep_nesting_is_refused_or_read(text: str) -> None:
    """In a process of its own: native recursion would take the interpreter down."""
    code = "import sys\nfrom tests.python.test_robustness import *\nread_anyhow(sys.stdin.buffer.read())"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], input=(HEAD + text).encode(), capture_output=True, timeout=120, cwd=root
    )
    assert done.returncode == 0, done.stderr[-500:]


@pytest.mark.parametrize("data", ODD.values(), ids=ODD)
def test_odd_bytes(data: bytes) -> None:
    script = read_anyhow(data)
    assert script.executions or script.truncated or b"torchrun" not in data


@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS)
def test_what_does_not_end_is_given_up(text: str) -> None:
    began = time.process_time()
    script = read_anyhow((HEAD + text).encode())
    assert time.process_time() - began < 30
    assert script.executions[0].words[0].text.value == "torchrun"


def test_ten_megabytes() -> None:
    began = time.process_time()
    script = read_text(HEAD + "x = 1\n" * (10 * 2**20 // 6))
    assert time.process_time() - began < 5
    assert script.truncated
    assert not may_hold_launch(b"x = 1\n" * (10 * 2**20 // 6))


def test_no_launch_like_word_means_that_nothing_is_imported() -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom tests.python.reading import read_text\n"
        "read_text('import os\\nprint(1)\\n')\nassert 'libcst' not in sys.modules"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=root)
    assert done.returncode == 0, done.stderr


def test_nothing_is_started_or_imported(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "beside.py").write_text(f"open({str(mark)!r}, 'w').write('x')\nVALUE = 3\n")
    text = f"import os\nfrom beside import VALUE\nos.system('touch {mark}; torchrun x')\n"
    text += f"open({str(mark)!r}, 'w')\n"
    script = read_text(text, folder=tmp_path)
    assert script.executions
    assert not mark.exists()
    assert "beside" not in sys.modules


def test_files_outside_the_root_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "outer.py").write_text("VALUE = 'secret'\n")
    text = "import subprocess\nfrom ..outer import VALUE\nsubprocess.run(['torchrun', VALUE])\n"
    script = read_text(text, folder=tmp_path / "inner")
    assert script.executions[0].words[1].text.value is None


WORDS = st.sampled_from(
    [
        "import subprocess",
        "from x import *",
        "subprocess.run(",
        ")",
        "[",
        "]",
        "(",
        "{",
        "}",
        "'torchrun'",
        "f'{a!r:>{b}}'",
        "def f(a, *b, c=1, **d):",
        "class A(B, metaclass=C):",
        "for x in y:",
        "while a:",
        "if a == 'b':",
        "elif c:",
        "else:",
        "try:",
        "except (A, B) as e:",
        "finally:",
        "with a as b:",
        "match x:",
        "case [a, *b]:",
        "case {'a': 1}:",
        "return",
        "yield from a",
        "lambda *a: a",
        "a, *b = c",
        "a[1:2, ...] = 3",
        "del a[0], b",
        "global a",
        "nonlocal b",
        "\n",
        "\n    ",
        "\n        ",
        ":",
        ",",
        "=",
        "+=",
        ":=",
        "*",
        "**",
        "not",
        "await a",
        "async def g():",
        "@a.b(c)",
        "x: int = 3",
        "os.environ['A']",
        "a.b.c = 4",
        "cfg.model.tensor_model_parallel_size = 4",
        "super().__init__()",
        "%s' % (1,)",
        "1e400",
        "0x_f",
        "'\\N{BULLET}\\x41'",
        "rb'a'",
        "self.a",
        "print(*a, **b)",
        "a if b else c",
        "[x for x in y if z]",
        "type X = int",
    ]
)


@settings(max_examples=150)
@given(st.lists(WORDS, max_size=25), st.sampled_from(["", " ", "\n"]))
def test_soup_of_tokens(words: list[str], joint: str) -> None:
    read_anyhow(joint.join(words).encode("utf-8", "surrogatepass"))


STATEMENTS = st.sampled_from(
    [
        "a = [1, 'x', None]",
        "a += b",
        "b = {'k': a, **c}",
        "c = f(*a, **b)",
        "x = a[0]",
        "x = b['k']",
        "a.append(x)",
        "s = f'{a} {b!r:>5} {x}'",
        "s = '%s %d' % (a, x)",
        "s = s.split()",
        "s = ' '.join(s)",
        "x = x or a",
        "x, y = a",
        "for i in a:\n    b[i] = x",
        "for i in unknown():\n    a.append(i)",
        "while x:\n    x = g(x)",
        "if x == s:\n    a = b",
        "def f(p, *q, k=3, **r):\n    global a\n    a = p\n    return q + (k,)",
        "f = lambda z: z(z)",
        "x = f(f)",
        "class C(D):\n    k: int = 3\n    def m(self): return super().m()",
        "x = C(a).k",
        "C.k = x",
        "x.y.z = 3",
        "del a[0]",
        "try:\n    x = int(s)\nexcept ValueError:\n    x = 0",
        "x = [i for i in a if i for j in i]",
        "x = {i: j for i, j in b.items()}",
        "subprocess.run(a)",
        "subprocess.run(s, shell=True, env=b)",
        "os.environ[s] = x",
        "x = os.environ.get(s, x)",
        "x = sorted(a) + list(zip(a, b))",
        "x = -x ** 2 // 3",
        "x = min(a, default=x)",
        "x = json.dumps(b)",
        "x = a[::-1][:s]",
        "match x:\n    case [1, *y]: a = y\n    case {'k': v}: a = v\n"
        "    case C(k=v) | 3: a = 3\n    case _ if a: b = 1",
        "with open(s) as h:\n    x = h.read()",
        "x = Path(s) / 'a' / s",
        "a = a * x",
        "x = (y := a)",
        "assert x == 3, s",
    ]
)


@settings(max_examples=150)
@given(st.lists(STATEMENTS, max_size=14))
def test_programs_without_sense(statements: list[str]) -> None:
    text = "\n".join(["import os, json, subprocess", "from pathlib import Path", *statements])
    read_anyhow(text.encode())
