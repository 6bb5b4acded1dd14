"""Runs a fixture with real Python in a process of its own, and records what it would start.

The entry points of `subprocess`, `os` and `asyncio` are replaced before the fixture runs, so that nothing is
started.  Each record is the kind (`words` or `shell`), what was given, and the environment as the program
would see it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

HARNESS = r"""
import asyncio, io, json, os, runpy, subprocess, sys

records = []
start = dict(os.environ)


class Started(BaseException):
    pass


def note(kind, given, env=None):
    seen = dict(os.environ if env is None else env)
    changes = {k: v for k, v in seen.items() if start.get(k) != v}
    changes.update({k: None for k in start if k not in seen})
    words = [os.fspath(w) if not isinstance(w, str) else w for w in given] if kind == "words" else given
    records.append([kind, words, changes])


def command(args, shell=False, env=None, **_):
    if shell:
        note("shell", args if isinstance(args, str) else args[0], env)
    else:
        note("words", [args] if isinstance(args, str) else list(args), env)


class Process:
    returncode = 0
    stdout = ""
    stderr = ""

    def __init__(self, *args, **kwargs):
        command(*args, **{k: v for k, v in kwargs.items()})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def wait(self, *_, **__):
        return 0

    poll = wait

    def communicate(self, *_, **__):
        return "", ""


def runner(result):
    def run(*args, **kwargs):
        process = Process(*args, **kwargs)
        return process if result is None else result

    return run


subprocess.run = runner(None)
subprocess.Popen = Process
subprocess.call = subprocess.check_call = runner(0)
subprocess.check_output = runner("")
subprocess.getoutput = lambda text: note("shell", text) or ""
os.system = lambda text: note("shell", text) or 0
os.popen = lambda text, *_: note("shell", text) or io.StringIO("")


def replace(words, env=None):
    note("words", list(words), env)
    raise Started


os.execv = os.execvp = lambda _, words: replace(words)
os.execve = os.execvpe = lambda _, words, env: replace(words, env)
os.execl = os.execlp = lambda _, *words: replace(words)
os.spawnv = os.spawnvp = lambda _, __, words: note("words", list(words)) or 0
os.spawnl = os.spawnlp = lambda _, __, *words: note("words", list(words)) or 0
os.posix_spawn = os.posix_spawnp = lambda _, words, env, **__: note("words", list(words), env) or 1


async def execute(*words, **_):
    note("words", list(words))


async def execute_shell(text, **_):
    note("shell", text)


asyncio.create_subprocess_exec = execute
asyncio.create_subprocess_shell = execute_shell
path = sys.argv[1]
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(path))
output, sys.stdout = sys.stdout, io.StringIO()
try:
    runpy.run_path(path, run_name="__main__")
except (Started, SystemExit):
    pass
output.write(json.dumps(records))
"""


class Record(NamedTuple):
    """What a program started: words, or a text for the shell, and the variables that it changed."""

    kind: str
    given: Any
    environment: dict[str, str | None]


def record(path: Path, *arguments: str, environment: dict[str, str] | None = None) -> list[Record]:
    """Run a file of the project's own fixtures and give back what it would have started."""
    done = subprocess.run(
        [sys.executable, "-S", "-B", "-c", HARNESS, str(path), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": "/usr/bin:/bin", "HOME": "/root", **(environment or {})},
        cwd=path.parent,
    )
    assert done.returncode == 0, done.stderr
    return [Record(*item) for item in json.loads(done.stdout)]
