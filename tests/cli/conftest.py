"""A folder with scripts to check, and the command in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from preflight.cli.main import run

BASE = (
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 "
    "--micro-batch-size 1 --global-batch-size 64 --bf16 --train-iters 100 --lr 1e-4 --tokenizer-type NullTokenizer "
    "--vocab-size 32000 --mock-data"
)
GOOD = f"""#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py {BASE}
"""
BAD = f"""#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py {BASE} \\
    --num-layers many
"""
WARNED = f"""#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
# preflight: ignore[wrong-type] no longer true
torchrun --nproc-per-node 8 pretrain_gpt.py {BASE}
"""
OPEN = f"""#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nnodes $NNODES --nproc-per-node 8 pretrain_gpt.py {BASE} --tensor-model-parallel-size $TP
"""
NOTHING = "#!/bin/bash\necho hello\n"


class Done(NamedTuple):
    status: int
    out: str
    err: str


Command = Callable[..., Done]


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with one script of each kind."""
    for name, text in {"good": GOOD, "bad": BAD, "warned": WARNED, "open": OPEN, "nothing": NOTHING}.items():
        (tmp_path / f"{name}.sh").write_text(text)
    (tmp_path / "binary.sh").write_bytes(b"\x7fELF\x00\x00")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def preflight(capsys: pytest.CaptureFixture[str]) -> Command:
    def call(*words: str) -> Done:
        capsys.readouterr()
        status = run(list(words))
        captured = capsys.readouterr()
        return Done(status, captured.out, captured.err)

    return call
