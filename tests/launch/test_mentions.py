"""What a script speaks of without saying it to the launch."""

from __future__ import annotations

import pytest

from preflight.launch.mentions import _BLACKWELL, _ELSEWHERE, _GENERATION, _STARTER_SIGNS, _STARTERS, mentions


@pytest.mark.parametrize(
    "text", ["GB200", "b300 nodes", "# Blackwell", "nvl72", "sm_100", "SM100", "DGX B200", "dgx_b", "dgx-B"]
)
def test_the_first_look_lets_every_name_of_blackwell_pass(text: str) -> None:
    assert mentions(_BLACKWELL, text.encode())
    assert mentions(_BLACKWELL, text.encode(), _GENERATION)


@pytest.mark.parametrize("text", ["H200", "mysm_100", "dgx a100"])
def test_other_names_are_no_blackwell(text: str) -> None:
    assert not mentions(_BLACKWELL, text.encode())


@pytest.mark.parametrize(
    "name", ["srun", "ssh", "pdsh", "clush", "pssh", "parallel-ssh", "mpirun", "mpiexec"]
)
def test_the_first_look_lets_every_starter_pass(name: str) -> None:
    text = f"exec {name} -n 2 true".encode()
    assert mentions(_STARTERS, text, _STARTER_SIGNS)
    assert not mentions(_STARTERS, f"my{name}s".encode(), _STARTER_SIGNS)


@pytest.mark.parametrize(
    "text",
    [
        "source env.sh", ". env.sh", "if x; then . ./env.sh; fi", "a\n.\tenv.sh", "x&&source env.sh", "(. e)",
        "module load cuda", "conda  activate base", "spack\tload hdf5", "docker run --env-file e image",
    ],
)  # fmt: skip
def test_what_variables_may_come_from(text: str) -> None:
    assert mentions(_ELSEWHERE, text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "source venv/bin/activate", ". /opt/venv/bin/activate", "resource env.sh", "The end. Of it", "./env.sh",
        "a.sh b", "module loading", "source", "x=source", "opensource code",
    ],
)  # fmt: skip
def test_what_no_variables_come_from(text: str) -> None:
    assert not mentions(_ELSEWHERE, text.encode())
