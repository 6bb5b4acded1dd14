"""The command line's front door.

In: the arguments of the process.  Out: its exit status.  Only `sys` is imported until the command is known, so that
`--version` and a hook pay for nothing else.  No stack trace reaches a user: what goes wrong inside is one
sentence and status 3.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

COMMANDS = {
    "check": "lint launch scripts: files, folders, or - for standard input",
    "trace": "show the resolved launches, every value with its origin",
    "node": "probe this machine; with a script, also hold it against the script",
    "exec": "check this very command line on this very node, then run it",
    "fleet": "one answer from many nodes' probes",
    "verify": "check a plan of parallel sizes given as numbers",
    "explain": "one rule: what, why, examples",
    "rules": "list the rules, begin a new one, test a folder of them",
    "files": "which files count as launch scripts, and why",
    "targets": "list the known Megatron releases, or add one from a checkout",
    "completions": "print completions for bash, zsh or fish",
}


def run(arguments: list[str] | None = None) -> int:
    """Run one command; the entry point of the console script."""
    if arguments is None:
        import gc

        _open_closed_streams()
        gc.set_threshold(100_000, 20, 20)  # a short run makes much and drops little
        return _leave(run(sys.argv[1:]))
    try:
        return _dispatch(arguments)
    except SystemExit as exit_:
        code = exit_.code
        return code if isinstance(code, int) else (0 if code is None else 2)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _silence_output()
        return 141
    except Exception as error:
        from preflight.cli.failure import report_failure

        return report_failure(error)


def _leave(status: int) -> int:
    """End the process without taking it apart, which would cost as much as reading a script."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        _silence_output()
        return status or 141
    if "os" in sys.modules and "coverage" not in sys.modules:
        sys.modules["os"]._exit(status)
    return status


def _dispatch(words: list[str]) -> int:
    first = words[0] if words else "--help"
    if first in ("--version", "-V"):
        from preflight import __version__

        print(f"preflight {__version__}")
        return 0
    if first in ("--help", "-h", "help"):
        print(usage())
        return 0 if words else 2
    if first in COMMANDS:
        return _load(first)(words[1:])
    if first.startswith("-") or "/" in first or "." in first or _exists(first):
        return _load("check")(words)
    print(f"preflight: no command or file {first!r}{_nearest(first)}", file=sys.stderr)
    print("try: preflight --help", file=sys.stderr)
    return 2


def _load(command: str) -> Callable[[list[str]], int]:
    name = f"preflight.cli.{command}"
    __import__(name)
    found: Callable[[list[str]], int] = sys.modules[name].run
    return found


def _exists(path: str) -> bool:
    import os

    return os.path.exists(path)


def _nearest(word: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, COMMANDS, 1)
    return f"; did you mean {near[0]}?" if near else ""


def _open_closed_streams() -> None:
    """Where the caller closed a stream, what is written to it goes nowhere, and not into the other one."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open("/dev/null", "w", encoding="utf-8"))  # noqa: SIM115


def _silence_output() -> None:
    """Keep the interpreter from complaining once more about the closed pipe when it ends."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def usage() -> str:
    """The overview that `preflight --help` prints."""
    rows = "\n".join(f"  {name:<12} {what}" for name, what in COMMANDS.items())
    return f"""usage: preflight COMMAND [OPTIONS] ...

Checks Megatron launch scripts without running them.

{rows}

`preflight FILE` is `preflight check FILE`; `preflight COMMAND --help` says more.

examples:
  preflight check train.sh
  preflight trace train.sh --env NNODES=16

exit status: 0 clean, 1 findings, 2 bad invocation or config, 3 could not read or check, 4 only the node is bad"""
