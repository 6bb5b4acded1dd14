"""Input made to hurt: each ends soon, in little memory, with a clear unknown, and nothing outside is read."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from preflight.execution import Script
from tests.shell.evaluation import evaluate, launches, shown

SECONDS = 5.0
MEGABYTES = 500

_ENDLESS = "a loop that does not end"
CASES: dict[str, tuple[str | bytes, str]] = {
    "a loop that never ends": ("while true; do :; done\ntorchrun x", ""),
    "a loop that counts without end": ("i=0\nwhile true; do i=$((i+1)); done\ntorchrun $i", _ENDLESS),
    "a loop that grows a string": ("x=a\nwhile :; do x=$x$x; done\ntorchrun $x", ""),
    "a counting loop without a condition": ("for ((;;)); do :; done\ntorchrun x", _ENDLESS),
    "loops in loops": (
        "".join(f"for a{i} in {{1..500}}; do " for i in range(6)) + "torchrun $a5; " + "done; " * 6,
        "",
    ),
    "a number printed a billion wide": ("x=$(awk 'BEGIN{printf \"%999999999d\", 1}')\ntorchrun $x", ""),
    "a function that calls itself": ("f() { f; }; f; torchrun x", "calls itself without end"),
    "two functions that call each other": ("f() { g; }; g() { f; }; f", "calls itself without end"),
    "a long chain of functions": (
        "".join(f"f{i}() {{ f{i + 1}; }}\n" for i in range(60)) + "f60() { torchrun x; }\nf0",
        "is called from too many others",
    ),
    "a bomb of functions": ("f() { f | f & }; f", ""),
    "an eval that evals itself": ('x=\'eval "$x"\'; eval "$x"', ""),
    "an eval that doubles its text": ('x=\'eval "$x$x"\'; eval "$x"; torchrun x', ""),
    "a case with thousands of arms": (
        "case $X in\n" + "".join(f"a{i}) Y={i};;\n" for i in range(3000)) + "esac\ntorchrun $Y",
        "",
    ),
    "substitutions in substitutions": ("torchrun " + "$(echo " * 2000 + "x" + ")" * 2000, ""),
    "deep braces": ("torchrun " + "${a:-" * 5000 + "x" + "}" * 5000, ""),
    "deep parentheses": ("(" * 100_000 + "torchrun x" + ")" * 100_000, ""),
    "deep blocks": ("if true; then " * 100_000 + "torchrun x; " + "fi; " * 100_000, ""),
    "deep arithmetic": ("torchrun $((" + "(" * 100_000 + "1" + ")" * 100_000 + "))", ""),
    "deep unary operators": ("torchrun $((" + "-" * 100_000 + "1))", ""),
    "deep tests": ("[[ " + "( " * 10_000 + "a == a" + " )" * 10_000 + " ]] && torchrun x", ""),
    "many brackets": ("torchrun ${a" + "[" * 50_000, ""),
    "a brace bomb": ("torchrun {1..999999999}", ""),
    "multiplied braces": ("torchrun " + "{a,b}" * 40, ""),
    "a brace bomb in a loop": ("for i in {1..999999999}; do torchrun $i; done", ""),
    "a large power": ("torchrun $((2**63)) $((9**9**9)) $((1<<999999))", ""),
    "long numbers": ("torchrun $((" + "9" * 100_000 + "))", ""),
    "a huge sequence": ("torchrun $(seq 999999999)", ""),
    "a wide format": ("printf -v x '%999999999d' 1; torchrun $x", ""),
    "an expression that explodes": ("[[ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa =~ ^(a+)+$b ]]; torchrun x", ""),
    "a pattern that explodes": (f"x={'a' * 3000}; torchrun ${{x##{'*a' * 200}b}}", ""),
    "an extended pattern that explodes": (
        f"shopt -s extglob; [[ {'a' * 40} == +(a|aa|+(a))b ]]; torchrun x",
        "",
    ),
    "a script that is too large and assigns much": (
        "".join(f"export A{i}={'x' * 20}\n" for i in range(100_000)) + "torchrun x",
        "larger than 2 MiB",
    ),
    "many branches": ("".join(f'[ "$A{i}" = x ] && B{i}=1\n' for i in range(3000)) + "torchrun $B7", ""),
    "branches in a loop": (
        "for i in {1..400}; do if grep x; then A=$A$i; fi; done; torchrun $A",
        "",
    ),
    "a retry loop in a function": (
        "f() { while true; do r=$(curl x); if [[ $r == ok ]]; then break; fi\n"
        "if [[ $r == bad ]]; then return 1; fi; n=$((n + 1)); sleep 1; done; }\n"
        "A=$(f); B=$(f); torchrun $A $B",
        "",
    ),
    "many commands": ("torchrun x\n" * 200_000, ""),
    "ten megabytes": ("echo some text that is long enough\n" * 300_000, "larger than"),
    "ten megabytes in one word": ("torchrun " + "x" * 10_000_000, "larger than"),
    "a binary file": (os.urandom(200_000) + b"\0", "not text"),
    "random bytes without zeros": (bytes(range(1, 256)) * 2000, ""),
    "quotes that stay open": ('torchrun "' + "a\n" * 100_000, ""),
    "many open quotes": ("torchrun " + "\"'`" * 50_000, ""),
    "many here-documents": ("cat <<A <<B\n" * 20_000, ""),
    "only backslashes": ("\\" * 200_000, ""),
    "only dollars": ("$" * 200_000, ""),
    "a value doubled in arithmetic": ("x=x+x; torchrun $((x))", ""),
    "a tower of references": (
        "a0=1\n" + "".join(f"a{i}='a{i - 1}+a{i - 1}'\n" for i in range(1, 39)) + "torchrun $((a38))",
        "",
    ),
    "arrays with large subscripts": ("a[9223372036854775807]=1; a+=(x); torchrun ${#a[@]}", ""),
    "many states of options": (
        'while getopts "abcdefgh" o; do case $o in a) A=1;; b) B=1;; c) C=1;; esac; done; torchrun $A $B',
        "",
    ),
}


@pytest.fixture(params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> tuple[str | bytes, str]:
    return CASES[request.param]


def test_it_ends_soon_and_says_so(case: tuple[str | bytes, str]) -> None:
    text, message = case
    began = time.process_time()
    script = evaluate(text)
    assert time.process_time() - began < SECONDS
    if message:
        assert any(message in unknown.text for unknown in script.truncated)


def test_memory_stays_small(tmp_path: Path) -> None:
    """All of them, one after another, in a process of their own, whose peak is not that of the one that starts it."""
    program = (
        "from tests.shell.test_hostile import CASES\n"
        "from tests.shell.evaluation import evaluate\n"
        "for text, _ in CASES.values():\n"
        "    evaluate(text)\n"
        "print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert int(done.stdout) / 1024 < MEGABYTES


def is_read(script: Script, secret: str) -> bool:
    return any(secret in word for execution in launches(script) for word in shown(execution))


@pytest.mark.parametrize(
    "line",
    [
        "source ../secret.sh",
        "source {outside}/secret.sh",
        "source link.sh",
        "X=$(cat ../secret.sh)",
        "X=$(<../secret.sh)",
        "X=$(head -n 1 {outside}/secret.sh)",
        "read X < ../secret.sh",
        "mapfile -t X < ../secret.sh",
        "source linked/secret.sh",
        "cd ..; source secret.sh",
        "cd linked; X=$(cat secret.sh)",
    ],
)
def test_nothing_outside_is_read(tmp_path: Path, line: str) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "outside" / "inside"
    inside.mkdir(parents=True)
    (outside / "secret.sh").write_text("X=hidden\n")
    (inside / "link.sh").symlink_to(outside / "secret.sh")
    (inside / "linked").symlink_to(outside)
    script = evaluate(f"{line.format(outside=outside)}\ntorchrun $X end", inside)
    assert not is_read(script, "hidden")
    assert len(launches(script)) >= 1


def test_file_names_outside_are_not_listed(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "hidden.json").write_text("")
    script = evaluate("torchrun ../*.json /etc/pass* x", inside)
    assert [shown(e) for e in launches(script)] == [["torchrun", "?*../*.json", "?*/etc/pass*", "x"]]


def test_the_password_file_stays_closed() -> None:
    script = evaluate("source /etc/passwd\nX=$(cat /etc/passwd)\ntorchrun $X $root")
    assert not is_read(script, "/bin/")


def test_nothing_is_executed(tmp_path: Path) -> None:
    """Not even where a command, a substitution or a redirection would leave a trace."""
    folder = tmp_path / "case"
    folder.mkdir()
    evaluate(
        "touch a; echo b > b; X=$(touch c); : > d; eval 'touch e'; cat <<E > f\nE\nmkdir g; exec > h",
        folder,
        closed=True,
    )
    assert not list(folder.iterdir())


def test_a_device_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    script = evaluate("source pipe\nX=$(cat pipe)\ntorchrun $X", tmp_path)
    assert len(launches(script)) == 1


def test_sources_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("source b.sh\n")
    (tmp_path / "b.sh").write_text("source a.sh\n")
    script = evaluate("source a.sh\ntorchrun x", tmp_path)
    assert any("sources itself without end" in unknown.text for unknown in script.truncated)


def test_the_same_script_gives_the_same_twice() -> None:
    text = "".join(f'[ "$A{i}" = x ] && B{i}=1\n' for i in range(200)) + "torchrun $B7 $B9"
    first, second = evaluate(text), evaluate(text)
    assert [shown(e) for e in first.executions] == [shown(e) for e in second.executions]
    assert [e.conditions for e in launches(first)] != []


assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0
