"""Megatron's own word: a checkout's parser and validators run over a resolved command line, in a child process.

In: a launch with its configuration, the checkout that the user named, and a Python that has torch.  Out: an `Answer`:
accepted, refused (a remark at the flags that the failing check speaks of), or why it could not be run.  Only Megatron's
code runs, never the launch script or the program; the child gets a time limit, and is asked on request only.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from preflight.configuration.model import Bound, Configuration, Value
from preflight.execution import Related, Remark
from preflight.launch.model import Launch
from preflight.record import NamedTuple
from preflight.source import Span
from preflight.targets.origin import find_origin
from preflight.targets.table import Program, Table, load_table

CHILD = os.path.join(os.path.dirname(__file__), "validator_child.py")
SECONDS = 120

ALIASES: dict[str, tuple[str, ...]] = {
    "num_microbatches": ("global_batch_size", "micro_batch_size"),
    "pipeline_parallel_size": ("pipeline_model_parallel_size",),
    "tensor_parallel_size": ("tensor_model_parallel_size",),
    "num_moe_experts": ("num_experts",),
    "num_layers_in_first_pipeline_stage": ("decoder_first_pipeline_num_layers",),
    "num_layers_in_last_pipeline_stage": ("decoder_last_pipeline_num_layers",),
    "fp8_param": ("fp8_param_gather",),
    "data_parallel_size": (
        "tensor_model_parallel_size",
        "pipeline_model_parallel_size",
        "context_parallel_size",
    ),
}
"""What Megatron's code calls settings that have another name on the command line, or follow from others."""


class Answer(NamedTuple):
    """What Megatron says. `message` is its own, or the reason why it was not asked."""

    verdict: Literal["accepted", "refused", "unable"]
    message: str = ""
    remark: Remark | None = None
    python: str = ""


class Machine(NamedTuple):
    """What the checks see of the machines: ranks, compute capability, TransformerEngine; None is not said."""

    world_size: int | None = None
    capability: tuple[int, int] | None = None
    te_version: str | None = None
    te_given: bool = False


UNSAID = Machine()

_answers: dict[tuple[str, str, str], dict[str, Any]] = {}
"""What was asked already: paths through a script often lead to the same command line."""


def describe_machine(known: Mapping[str, Value], *, given: bool = False) -> Machine:
    """The machines by the facts about them; `given` says that the user named TransformerEngine's version."""
    world, te = known.get("world_size"), known.get("te_version")
    capability = (known.get("gpu_capability_major"), known.get("gpu_capability_minor"))
    major, minor = capability
    return Machine(
        world if isinstance(world, int) else None,
        (major, minor) if isinstance(major, int) and isinstance(minor, int) else None,
        ".".join(str(part) for part in te) if isinstance(te, tuple) else None,
        given,
    )


def ask_megatron(
    configuration: Configuration,
    checkout: str,
    machine: Machine = UNSAID,
    *,
    python: str | None = None,
    seconds: float = SECONDS,
) -> Answer:
    """Ask a checkout about a configuration's command line."""
    launch = configuration.launch
    folder = os.path.realpath(checkout)
    if not os.path.isdir(os.path.join(folder, "megatron")):
        return Answer("unable", f"{checkout} is no Megatron checkout: it has no folder megatron")
    unknown = find_unknown(launch)
    if unknown:
        return Answer("unable", f"the command line is not fully known: {unknown}")
    if machine.world_size is None:
        return Answer("unable", "the number of ranks is not known; give --env, --nodes or --gpus-per-node")
    request = make_request(configuration, machine)
    reasons: list[str] = []
    for command in [python] if python else list_pythons(folder):
        key = (command, folder, json.dumps(request, sort_keys=True))
        if key not in _answers:
            _answers[key] = run_child(command, folder, request, seconds)
        result = _answers[key]
        if result["verdict"] == "accepted":
            return Answer("accepted", python=command)
        if result["verdict"] == "refused":
            return Answer(
                "refused", str(result["message"]), make_remark(configuration, result, checkout), command
            )
        reasons.append(f"{command}: {result['message']}")
    return Answer("unable", "; ".join(reasons) or "no Python was found")


def find_unknown(launch: Launch) -> str:
    """The first word whose text is not known."""
    return next((word.text.display() for word in launch.argv if word.text.value is None), "")


def list_pythons(folder: str) -> Iterable[str]:
    """Interpreters that may have torch: the checkout's, the shell's, then the one that runs this."""
    found: dict[str, str] = {}
    active = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    own = [os.path.join(folder, name, "bin", "python") for name in (".venv", "venv")]
    listed = [*own, os.path.join(active, "bin", "python")] if active else own
    for path in (*listed, shutil.which("python3"), shutil.which("python"), sys.executable):
        if path and os.path.exists(path):
            found.setdefault(path, path)
    return found.values()


def make_request(configuration: Configuration, machine: Machine) -> dict[str, Any]:
    """What the child is told."""
    launch = configuration.launch
    table = load_table(configuration.release)
    program = find_program(launch, table)
    environment = {
        name: text.value for name, text in launch.environment.items() if text and text.value is not None
    }
    ranks = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": str(machine.world_size)}
    return {
        "argv": drop_program_flags(launch, program, configuration.values),
        "program": launch.program.text.display() if launch.program is not None else "",
        "environment": {**environment, **ranks},
        "defaults": dict(program.defaults) if program is not None else {},
        "capability": machine.capability,
        "te_version": machine.te_version or table.te_version,
        "te_given": machine.te_given,
    }


def find_program(launch: Launch, table: Table) -> Program | None:
    paths = find_origin(launch).paths
    return next((program for path in paths if (program := table.program(path)) is not None), None)


def drop_program_flags(launch: Launch, program: Program | None, values: Mapping[str, Bound]) -> list[str]:
    """The argv without the flags that the program itself adds: the checkout's parser does not know them."""
    own = {option.destination for option in program.options} if program is not None else set()
    dropped = {id(word) for name in own if (bound := values.get(name)) for word in bound.words}
    return [word.text.value or "" for word in launch.argv if id(word) not in dropped]


def run_child(python: str, folder: str, request: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Start the child and read its answer."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "PYTHONHOME", "CUDA_DEVICE_MAX_CONNECTIONS")
    }
    try:
        done = subprocess.run(
            [python, "-B", CHILD, folder],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            timeout=seconds,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"verdict": "unable", "message": f"no answer within {seconds:g} s"}
    except OSError as error:
        return {"verdict": "unable", "message": error.strerror or "cannot be started"}
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            return dict(json.loads(line))
    last = done.stderr.strip().splitlines()
    return {"verdict": "unable", "message": last[-1] if last else f"ended with status {done.returncode}"}


def make_remark(configuration: Configuration, result: Mapping[str, Any], checkout: str) -> Remark:
    """The refusal as a remark at the flags that it speaks of."""
    launch = configuration.launch
    given = {
        name: bound for name, bound in configuration.values.items() if bound.given and bound.span is not None
    }
    message = str(result["message"])
    named = [
        word.lstrip("-").replace("-", "_")
        for word in re.findall(r"--[\w-]+|\b[a-z]+(?:[_-][a-z0-9]+)+\b", message)
    ]
    spoken = [name for each in (*named, *result.get("names", ())) for name in ALIASES.get(each, (each,))]
    mentioned = [name for name in dict.fromkeys(spoken) if name in given]
    spans: list[Span] = [span for name in mentioned if (span := given[name].span) is not None]
    place = spans[0] if spans else (launch.program.span if launch.program is not None else launch.span)
    related = tuple(Related(span, "") for span in spans[1:4])
    first = message.strip().splitlines()[0] if message.strip() else str(result["type"])
    values = {
        "message": first,
        "type": result["type"],
        "stage": result["stage"],
        "site": result["site"],
        "names": mentioned,
        "checkout": checkout,
    }
    return Remark("megatron-refuses", place, values, related)
