"""Probe this machine: NVML in a child process under a deadline, the rest beside it.

In: the environment and a deadline.  Out: a `Node`, always: a driver that hangs, a library that crashes and a
machine without GPUs are answers too (`silence`).  The child is forked rather than started anew, which saves the
start of a second interpreter; it is killed at the deadline, and never waited for beyond a moment, since a
process stuck in the kernel cannot be ended by anyone.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import select
import signal
import sys
import time
from collections.abc import Mapping
from typing import Any

from preflight.node.machine import process_name, read_machine
from preflight.node.model import Node, Process, Silence
from preflight.node.record import flatten, restore
from preflight.record import NamedTuple

DEADLINE = 20.0
"""Seconds that NVML is given by default."""
SETTLING = 5.0
"""Seconds that a fabric which says "in progress" is given to finish, within the deadline."""
GRACE = 0.5
PR_SET_PDEATHSIG = 1


class Probe(NamedTuple):
    """A probe under way."""

    pid: int
    pipe: int
    started: float
    deadline: float
    environment: Mapping[str, str]


def start_probe(environment: Mapping[str, str], deadline: float = DEADLINE, calls: bool = False) -> Probe:
    """Fork the child that asks NVML; the parent goes on at once."""
    receiver, sender = os.pipe()
    started = time.monotonic()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            _answer(sender, deadline, calls)
            status = 0
        finally:
            os._exit(status)
    os.close(sender)
    return Probe(pid, receiver, started, deadline, environment)


def finish_probe(probe: Probe) -> Node:
    """Wait for the child's answer until the deadline, and read the rest of the machine meanwhile."""
    machine = read_machine(probe.environment)
    data, complete = _receive(probe)
    ended = _end(probe, killed=not complete)
    seconds = time.monotonic() - probe.started
    answer = _decode(data) if complete else None
    if answer is not None:
        node = restore({**flatten_machine(machine), **answer, "seconds": round(seconds, 3)})
        return _name_processes(node)
    return Node(**machine, seconds=round(seconds, 3), silence=_explain(probe, complete, ended))


def probe_node(environment: Mapping[str, str], deadline: float = DEADLINE, calls: bool = False) -> Node:
    """Start and finish."""
    return finish_probe(start_probe(environment, deadline, calls))


def _answer(sender: int, deadline: float, calls: bool) -> None:
    """The child: nothing of the parent's files but the pipe, then NVML, then the answer."""
    with contextlib.suppress(ValueError):  # in a thread of somebody's program
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _die_with_parent()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.environ.pop("NVML_MPS_DEVICE_ENUMERATION", None)
    log: list[Any] | None = [] if calls else None
    answer = _read(log, time.monotonic() + min(SETTLING, deadline / 2))
    if log is not None:
        answer["calls"] = tuple(tuple(call) for call in log)
    payload = marshal.dumps(_plain(answer))
    os.write(sender, b"%12d" % len(payload))
    sent = 0
    while sent < len(payload):
        sent += os.write(sender, payload[sent : sent + 65536])


def _die_with_parent() -> None:
    """Where the parent is killed, a child that hangs in the driver must not stay behind."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))


def _read(log: list[Any] | None, settled: float) -> dict[str, Any]:
    try:
        import pynvml  # type: ignore[import-untyped]
    except ImportError:
        return {
            "silence": Silence(
                "library",
                None,
                "the Python package nvidia-ml-py is not installed",
                "pip install nvidia-ml-py",
            )
        }
    from preflight.node.nvml import read_driver

    while True:
        answer = read_driver(pynvml, log)
        busy = any(gpu.fabric is not None and gpu.fabric.state == 2 for gpu in answer.get("gpus", ()))
        if not busy or time.monotonic() > settled:
            return answer
        time.sleep(0.5)


def _plain(value: Any) -> Any:
    plain = flatten(value)
    assert isinstance(plain, dict)
    return plain


def flatten_machine(machine: Mapping[str, Any]) -> dict[str, Any]:
    plain = flatten(machine)
    assert isinstance(plain, dict)
    return plain


def _receive(probe: Probe) -> tuple[bytes, bool]:
    """The child's answer, and whether all of it came in time."""
    data = bytearray()
    try:
        while True:
            left = probe.started + probe.deadline - time.monotonic()
            if left <= 0 or not select.select([probe.pipe], [], [], left)[0]:
                return bytes(data), False
            chunk = os.read(probe.pipe, 1 << 20)
            if not chunk:
                return bytes(data), True
            data += chunk
            if len(data) >= 12 and len(data) >= 12 + int(data[:12]):
                return bytes(data), True
    finally:
        os.close(probe.pipe)


def _decode(data: bytes) -> dict[str, Any] | None:
    if len(data) < 12 or len(data) != 12 + int(data[:12]):
        return None
    answer = marshal.loads(data[12:])
    return answer if isinstance(answer, dict) else None


def _end(probe: Probe, killed: bool) -> int | None:
    """Collect the child; its wait status, or None where it cannot be ended."""
    if killed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(probe.pid, signal.SIGKILL)
    until = time.monotonic() + GRACE
    pause = 0.001
    while True:
        try:
            pid, status = os.waitpid(probe.pid, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid:
            return status
        if time.monotonic() > until:
            if killed:
                return None
            os.kill(probe.pid, signal.SIGKILL)
            killed, until = True, time.monotonic() + GRACE
        time.sleep(pause)
        pause = min(pause * 2, 0.05)


def _explain(probe: Probe, complete: bool, status: int | None) -> Silence:
    if not complete:
        stuck = "" if status is not None else "; its process is stuck in the kernel and cannot be ended"
        return Silence(
            "deadline",
            None,
            f"no answer from NVML in {probe.deadline:g} s{stuck}",
            "the driver hangs: drain the node and reboot it; look for Xid messages in the kernel log",
        )
    how = "ended without an answer"
    if status is not None and os.WIFSIGNALED(status):
        how = f"was ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return Silence(
        "child", None, f"the process that asks NVML {how}", "run nvidia-smi on the node and look at dmesg"
    )


def _name_processes(node: Node) -> Node:
    """Add what /proc tells of the processes on the GPUs."""
    own = _ancestors()
    gpus = tuple(
        gpu
        if not gpu.processes
        else gpu._replace(
            processes=tuple(
                Process(p.pid, p.memory, process_name(p.pid), p.pid in own) for p in gpu.processes
            )
        )
        for gpu in node.gpus
    )
    return node._replace(gpus=gpus)


def _ancestors() -> frozenset[int]:
    """This process and those that started it: theirs is no foreign use of a GPU."""
    found, pid = set(), os.getpid()
    while pid > 1 and pid not in found:
        found.add(pid)
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
                pid = int(stream.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
    return frozenset(found)
