"""How fast preflight is, as ratios that hold on any machine.

usage: python benchmarks/measure.py [--rounds N] [FOLDER]

Prints the time of one checked script over that of a bare interpreter start, and, given a folder of scripts, the
time of preflight over that of shellcheck and of `bash -n` on the same files, on one core.  The commands are those of
the environment that runs this file; install the built wheel to measure what users get.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

SAMPLE = Path(__file__).resolve().parent.parent / "fixtures" / "sample" / "train.sh"


def measure_once(command: Sequence[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def measure(commands: dict[str, Sequence[str]], rounds: int) -> dict[str, float]:
    """The median time of each command in seconds; rounds are interleaved, so that drift meets all alike."""
    for command in commands.values():
        measure_once(command)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(measure_once(command))
    return {name: statistics.median(values) for name, values in times.items()}


def find_command(name: str) -> str:
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise SystemExit(f"{name} is not installed in this environment")
    return found


def describe_machine() -> str:
    model = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def measure_script(rounds: int) -> None:
    preflight = find_command("preflight")
    times = measure(
        {
            "bare interpreter": [sys.executable, "-c", "pass"],
            "preflight --version": [preflight, "--version"],
            "preflight check": [preflight, "check", "--isolated", str(SAMPLE)],
        },
        rounds,
    )
    bare = times["bare interpreter"]
    for name, seconds in times.items():
        print(f"{name:24s} {1000 * seconds:8.1f} ms   {seconds / bare:5.2f} x a bare interpreter")


def measure_folder(folder: Path, rounds: int) -> None:
    scripts = sorted(str(path) for path in folder.rglob("*.sh") if path.is_file())
    if not scripts:
        raise SystemExit(f"no *.sh below {folder}")
    commands: dict[str, Sequence[str]] = {
        "shellcheck": [find_command("shellcheck"), *scripts],
        "bash -n": ["bash", "-c", 'for script; do bash -n "$script"; done', "bash", *scripts],
        "preflight check": [
            find_command("preflight"),
            "check",
            "--isolated",
            "--output",
            "concise",
            *scripts,
        ],
    }
    one_core = ["taskset", "-c", "0"] if shutil.which("taskset") else []
    times = measure({name: [*one_core, *command] for name, command in commands.items()}, rounds)
    print(f"\n{len(scripts)} scripts, one core")
    for name, seconds in times.items():
        print(f"{name:24s} {seconds:8.2f} s    {seconds / times['shellcheck']:5.2f} x shellcheck")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    print(describe_machine())
    measure_script(options.rounds)
    if options.folder:
        measure_folder(options.folder, max(1, options.rounds // 4))


if __name__ == "__main__":
    main()
