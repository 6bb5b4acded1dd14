"""A real Slurm on this host: one controller, several slurmd with fake GPUs, all on the loopback address.

In: a folder, the number of nodes, GPUs of each.  Out: a running `Cluster`, and its end: every process that was started
is ended by its id, and so is every slurmstepd whose environment names this cluster's slurm.conf.  Needs root.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "srun", "sbatch", "salloc", "scancel", "scontrol", "sinfo", "munged")
SEARCH = "/usr/sbin:/usr/bin:/sbin:/bin"


def why_not() -> str | None:
    """Why no cluster can be started here, or None."""
    if os.geteuid() != 0:
        return "a Slurm of one's own needs root"
    missing = [name for name in PROGRAMS if shutil.which(name, path=SEARCH) is None]
    return (
        f"{', '.join(missing)} not found: apt-get install slurmctld slurmd slurm-client munge"
        if missing
        else None
    )


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now, below those that outgoing connections are given."""
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(15000, 32000)
        with socket.socket() as each, contextlib.suppress(OSError):
            each.bind(("127.0.0.1", port))
            if port not in found:
                found.append(port)
    return found


class Cluster:
    """Slurm with `nodes` nodes n1, n2, ... of `gpus` fake GPUs each."""

    def __init__(self, folder: Path, nodes: int, gpus: int, extra: str = "") -> None:
        self.folder, self.nodes, self.gpus = folder, nodes, gpus
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        for name in ("state", "spool", "log", "run", "dev"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        controller, *ports = free_ports(nodes + 1)
        (folder / "slurm.conf").write_text(self.configuration(controller, ports, extra))
        (folder / "gres.conf").write_text(
            f"AutoDetect=off\nName=gpu Type=h100 File={folder}/dev/nvidia[0-{gpus - 1}]\n"
        )
        for number in range(gpus):
            os.mknod(folder / "dev" / f"nvidia{number}", 0o20666, os.makedev(1, 3))
        self.environment = {"PATH": SEARCH, "SLURM_CONF": str(folder / "slurm.conf"), "LANG": "C.UTF-8"}

    def configuration(self, controller: int, ports: list[int], extra: str) -> str:
        here = self.folder
        lines = "\n".join(
            f"NodeName=n{number} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port}"
            for number, port in enumerate(ports, 1)
        )
        return f"""ClusterName=probe
SlurmctldHost={os.uname().nodename}(127.0.0.1)
SlurmctldPort={controller}
AuthType=auth/munge
AuthInfo=socket={here}/run/munge.sock
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={here}/state
SlurmdSpoolDir={here}/spool/%n
SlurmctldPidFile={here}/run/slurmctld.pid
SlurmdPidFile={here}/run/slurmd-%n.pid
SlurmctldLogFile={here}/log/slurmctld.log
SlurmdLogFile={here}/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
ReturnToService=2
InactiveLimit=0
KillWait=2
UnkillableStepTimeout=300
SlurmdTimeout=300
MessageTimeout=5
SlurmdParameters=config_overrides
PrologFlags=Alloc
MailProg=/bin/true
{extra}
NodeName=DEFAULT CPUs=8 RealMemory=1000 Gres=gpu:h100:{self.gpus}
{lines}
PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

    def start(self) -> None:
        """Everything up, every node idle."""
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        run = self.folder / "run"
        self.spawn(
            "munged", "/usr/sbin/munged", "-F", f"--key-file={key}", f"--socket={run}/munge.sock",
            f"--pid-file={run}/munged.pid", f"--log-file={self.folder}/log/munged.log",
            f"--seed-file={run}/munged.seed", "--num-threads=4",
        )  # fmt: skip
        self.wait(lambda: (run / "munge.sock").exists(), 10, "munged does not start")
        self.spawn("slurmctld", "/usr/sbin/slurmctld", "-D", "-c", "-f", str(self.folder / "slurm.conf"))
        for number in range(1, self.nodes + 1):
            self.start_node(f"n{number}")
        self.wait(lambda: self.count("idle") == self.nodes, 30, "not all nodes become idle")

    def start_node(self, name: str) -> None:
        (self.folder / "spool" / name).mkdir(exist_ok=True)
        self.spawn(name, "/usr/sbin/slurmd", "-D", "-c", "-N", name, "-f", str(self.folder / "slurm.conf"))

    def spawn(self, name: str, *command: str) -> None:
        with open(self.folder / "log" / f"{name}.out", "wb") as out:
            self.processes[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self.environment,
                start_new_session=True,
            )

    def wait(self, test: object, seconds: float, text: str) -> None:
        assert callable(test)
        until = time.monotonic() + seconds
        while not test():
            if time.monotonic() > until:
                raise AssertionError(f"{text} in {seconds:g} s; see {self.folder}/log")
            time.sleep(0.1)

    def count(self, state: str) -> int:
        text = self.run("sinfo", "-h", "-t", state, "-o", "%D").stdout.strip()
        return sum(int(word) for word in text.split())

    def run(
        self, *command: str, timeout: float = 60, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """A command with the cluster's environment."""
        return subprocess.run(
            command, env={**self.environment, **(env or {})}, text=True, capture_output=True, timeout=timeout,
            check=False, cwd=self.folder, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def drained(self) -> str:
        """The nodes that are out, and why."""
        return self.run("sinfo", "-h", "-R", "-o", "%N %E").stdout

    def reason(self, node: str) -> str:
        """Why a node is drained, as Slurm says it."""
        text = self.run("scontrol", "show", "node", node).stdout
        return next(
            (line.split("=", 1)[1] for line in text.splitlines() if line.strip().startswith("Reason=")), ""
        )

    def resume(self, node: str) -> None:
        """Put a node back to work, once no script that may drain it again is still running."""
        self.wait(
            lambda: not self.running("health.sh") and not self.running("prolog.sh"), 30, "scripts do not end"
        )
        self.run("scontrol", "update", f"nodename={node}", "state=resume")
        self.wait(lambda: self.count("idle") == self.nodes, 20, f"{node} does not come back")

    def kill(self, name: str) -> None:
        """End one daemon at once."""
        process = self.processes.pop(name)
        process.kill()
        process.wait(10)

    def stop(self) -> None:
        """End what was started, by id; then the step daemons that were left behind."""
        order = sorted(self.processes, key=lambda name: name in ("munged", "slurmctld"))
        for name in order:
            self.processes[name].terminate()
        until = time.monotonic() + 2
        for name in order:
            try:
                self.processes[name].wait(max(0.05, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.processes[name].kill()
                self.processes[name].wait(10)
        self.processes.clear()
        for pid in self.leftovers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.wait(lambda: not self.leftovers(), 10, "processes of the cluster do not end")

    def running(self, script: str) -> bool:
        """Whether one of the cluster's scripts is running."""
        wanted = f"{self.folder}/{script}".encode()
        for entry in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if wanted in Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0"):
                    return True
        return False

    def leftovers(self) -> list[int]:
        """Processes that live in this cluster: their environment names its slurm.conf."""
        mark = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                environment = Path(f"/proc/{entry}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if mark in environment:
                found.append(int(entry))
        return found
