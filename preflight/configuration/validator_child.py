"""Runs a Megatron checkout's own parser and validators over one command line; started by `validator`, never imported.

In: the checkout's folder as argument and a JSON request on standard input.  Out: one JSON answer on standard output.
It needs torch, and no GPU: what a CPU machine lacks (CUDA's device properties, process groups, GPU packages) is
stood in for.  It trains nothing, reads no data and writes no file.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import io
import json
import os
import re
import sys
import traceback
import types
from typing import Any

OPTIONAL = {"triton", "nvidia_resiliency_ext"}
"""Packages that validators look for and a CPU machine has not; others are added as imports ask for them."""

KERNELS = {
    "megatron.core.models.common.embeddings.rope_utils": (
        "fused_apply_rotary_pos_emb",
        "fused_apply_rotary_pos_emb_thd",
    ),
    "megatron.core.transformer.moe.moe_utils": (
        "fused_permute",
        "fused_permute_with_probs",
        "fused_sort_chunks_by_index",
        "fused_sort_chunks_by_index_with_probs",
        "fused_unpermute",
        "fused_compute_score_for_moe_aux_loss",
        "fused_moe_aux_loss",
        "fused_topk_with_score_function",
    ),
}
"""GPU kernels whose presence the configuration checks."""


class Anything(type):
    """A class that has every attribute and can be called, for names of absent packages."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return make_anything(name)

    def __getitem__(cls, key: object) -> Any:
        return cls


def make_anything(name: str) -> Any:
    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return arguments[0] if len(arguments) == 1 and callable(arguments[0]) else self

    body = {"__init__": lambda self, *a, **k: None, "__call__": call}
    return Anything(name, (), body)


class AbsentModule(types.ModuleType):
    """Stands in for a package that is not installed."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name: str) -> Any:
        if name == "__version__":
            return "99.0.0"
        if name.startswith("__"):
            raise AttributeError(name)
        return make_anything(name)


class AbsentPackages(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds stand-ins, after all real finders."""

    def __init__(self, roots: set[str]) -> None:
        self.roots = roots

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname.split(".")[0] not in self.roots:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        return AbsentModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


class Group:
    """A process group that only knows its ranks."""

    group_name = "none"

    def __init__(self, ranks: Any, world: int) -> None:
        self.ranks = list(range(world)) if ranks is None else list(ranks)

    def size(self) -> int:
        return len(self.ranks)

    def rank(self) -> int:
        return self.ranks.index(0) if 0 in self.ranks else -1


def stand_in_for_devices(torch: Any, capability: tuple[int, int] | None) -> None:
    """CUDA's properties: the real ones where there is a GPU and none were asked for."""
    if capability is None and torch.cuda.is_available():
        return
    major, minor = capability or (9, 0)
    properties = types.SimpleNamespace(
        name="GPU", major=major, minor=minor, total_memory=80 * 2**30, multi_processor_count=132
    )
    torch.cuda.get_device_capability = lambda *a, **k: (major, minor)
    torch.cuda.get_device_properties = lambda *a, **k: properties
    torch.cuda.device_count = lambda: 8
    torch.cuda.current_device = lambda: 0
    for name in ("set_device", "synchronize"):
        setattr(torch.cuda, name, lambda *a, **k: None)


def stand_in_for_processes(torch: Any, world: int) -> None:
    """Process groups of `world` ranks, seen from rank 0, without any communication."""
    distributed = torch.distributed
    if not hasattr(distributed, "ProcessGroupNCCL"):
        options = type(
            "Options", (), {"__init__": lambda self, **k: setattr(self, "config", types.SimpleNamespace())}
        )
        distributed.ProcessGroupNCCL = types.SimpleNamespace(Options=options)
    distributed.new_group = lambda ranks=None, *a, **k: Group(ranks, world)
    distributed.get_world_size = lambda group=None: group.size() if isinstance(group, Group) else world
    distributed.get_rank = lambda group=None: group.rank() if isinstance(group, Group) else 0
    distributed.get_process_group_ranks = lambda group: group.ranks if group else list(range(world))
    distributed.get_global_rank = lambda group, rank: group.ranks[rank]
    distributed.get_group_rank = lambda group, rank: group.ranks.index(rank)
    distributed.get_backend = lambda *a, **k: "nccl"
    distributed.barrier = lambda *a, **k: None


def import_megatron(absent: AbsentPackages) -> tuple[Any, str]:
    """Megatron's argument module and the package it is in; each missing package gets a stand-in."""
    for _ in range(40):
        try:
            try:
                return importlib.import_module("megatron.training.arguments"), "megatron.training."
            except ModuleNotFoundError as error:
                if error.name not in ("megatron.training", "megatron.training.arguments"):
                    raise
                return importlib.import_module("megatron.arguments"), "megatron."
        except ModuleNotFoundError as error:
            root = (error.name or "").split(".")[0]
            if root in ("", "megatron", "torch") or root in absent.roots:
                raise
            absent.roots.add(root)
            for name in [name for name in sys.modules if name.split(".")[0] == "megatron"]:
                del sys.modules[name]
    raise ImportError("too many packages are missing")


def find_module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except Exception:
        return None


def set_te_version(version: str | None) -> None:
    """TransformerEngine's version, where it is not installed or another was asked for."""
    utilities = find_module("megatron.core.utils")
    if version is None or utilities is None:
        return
    packaging = find_module("packaging.version")
    if packaging is not None and hasattr(utilities, "get_te_version"):
        utilities._te_version = packaging.Version(version)
    for name, kernels in KERNELS.items():
        module = find_module(name)
        for kernel in kernels if module is not None else ():
            if getattr(module, kernel, None) is None:
                setattr(module, kernel, make_anything(kernel))
        for flag in ("HAVE_TE", "HAVE_APPLY_ROPE_FUSION"):
            if module is not None and hasattr(module, flag):
                setattr(module, flag, True)


def prepare(request: dict[str, Any]) -> tuple[Any, str]:
    """Make the checkout importable and import it."""
    absent = AbsentPackages({name for name in OPTIONAL if importlib.util.find_spec(name) is None})
    sys.meta_path.append(absent)
    typing = importlib.import_module("typing")
    if not hasattr(typing, "override"):
        typing.override = lambda function: function  # type: ignore[attr-defined]
    torch = importlib.import_module("torch")
    capability = request.get("capability")
    stand_in_for_devices(torch, tuple(capability) if capability else None)
    arguments, package = import_megatron(absent)
    te_is_here = (
        importlib.util.find_spec("transformer_engine") is not None
        and "transformer_engine" not in absent.roots
    )
    set_te_version(request.get("te_version") if request.get("te_given") or not te_is_here else None)
    stand_in_for_processes(torch, int(request["environment"].get("WORLD_SIZE", "1")))
    return arguments, package


def validate(arguments: Any, package: str, request: dict[str, Any]) -> None:
    """Every check from the parser to the first step, in Megatron's order; the first that fails raises."""
    stage = Stage()
    try:
        stage.name = "parser"
        args = arguments.parse_args()
        stage.name = "arguments"
        silent = lambda *a, **k: None  # noqa: E731
        if hasattr(arguments, "_print_args"):
            arguments._print_args = silent
        args = arguments.validate_args(args, dict(request.get("defaults") or {})) or args
        stage.name = "configuration"
        config = arguments.core_transformer_config_from_args(args)
        stage.name = "micro-batches"
        microbatches = build_microbatches(package, args)
        stage.name = "process groups"
        build_groups(package, args)
        stage.name = "layers"
        count_layers(args, config)
        stage.name = "schedule"
        check_schedule(args, config, microbatches)
        stage.name = "optimizer"
        build_optimizer(package, args)
    except BaseException as error:
        error.preflight_stage = stage.name  # type: ignore[attr-defined]
        raise


class Stage:
    name = ""


def extract(module: Any, function: str, wanted: Any) -> list[ast.stmt]:
    """The statements of a function of the checkout for which `wanted` holds."""
    with open(module.__file__, encoding="utf-8") as stream:
        tree = ast.parse(stream.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return [
                statement
                for statement in ast.walk(node)
                if isinstance(statement, ast.stmt) and wanted(statement)
            ]
    return []


def run_statements(statements: list[ast.stmt], path: str, names: dict[str, Any]) -> None:
    if statements:
        statements = sorted(statements, key=lambda statement: statement.lineno)
        exec(compile(ast.Module(statements, []), path, "exec"), names)


def build_microbatches(package: str, args: Any) -> int | None:
    """The calculator, by the call that the checkout's own start-up makes."""
    module: Any = importlib.import_module(package + "global_vars")

    def calls(statement: ast.stmt) -> bool:
        call = statement.value if isinstance(statement, ast.Expr) else None
        return (
            isinstance(call, ast.Call)
            and re.search(r"(init|build)_num_microbatches_calculator$", ast.unparse(call.func)) is not None
        )

    module._GLOBAL_ARGS = args
    run_statements(
        extract(module, "set_global_variables", calls), module.__file__, {**vars(module), "args": args}
    )
    for owner in (find_module("megatron.core.num_microbatches_calculator"), module):
        if owner is not None and hasattr(owner, "get_num_microbatches"):
            return int(owner.get_num_microbatches())
    return None


def build_groups(package: str, args: Any) -> None:
    torch = sys.modules["torch"]
    initialize: Any = importlib.import_module(package + "initialize")
    torch.distributed.is_initialized = lambda: True
    initialize.get_args = lambda: args
    wanted = inspect.signature(initialize._initialize_distributed).parameters
    keywords = {
        name: None
        for name in wanted
        if name in ("get_embedding_ranks", "get_position_embedding_ranks", "store")
    }
    initialize._initialize_distributed(**keywords)


def count_layers(args: Any, config: Any) -> None:
    """What each pipeline stage builds, by the checkout's own function."""
    state = importlib.import_module("megatron.core.parallel_state")
    block = find_module("megatron.core.transformer.transformer_block")
    count = getattr(block, "get_num_layers_to_build", None)
    if count is None:
        return
    chunks = args.virtual_pipeline_model_parallel_size
    wanted = inspect.signature(count).parameters
    for rank in range(args.pipeline_model_parallel_size):
        state.set_pipeline_model_parallel_rank(rank)
        state.set_pipeline_model_parallel_world_size(args.pipeline_model_parallel_size)
        for chunk in range(chunks or 1):
            if chunks and hasattr(state, "set_virtual_pipeline_model_parallel_rank"):
                state.set_virtual_pipeline_model_parallel_rank(chunk)
            given = {"vp_stage": chunk if chunks else None, "pp_rank": rank}
            count(config, **{name: value for name, value in given.items() if name in wanted})


def check_schedule(args: Any, config: Any, microbatches: int | None) -> None:
    """The conditions that the interleaved schedule puts on the number of micro-batches."""
    if not args.virtual_pipeline_model_parallel_size or microbatches is None:
        return
    schedules: Any = importlib.import_module("megatron.core.pipeline_parallel.schedules")

    def wanted(statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Assign):
            return "final_microbatch_group_size" in ast.unparse(statement.targets[0])
        return (
            isinstance(statement, ast.If)
            and any(isinstance(inner, ast.Raise) for inner in statement.body)
            and re.search(r"microbatch_group_size|num_microbatches % ", ast.unparse(statement.test))
            is not None
        )

    names = {
        **vars(schedules),
        "config": config,
        "num_microbatches": microbatches,
        "pipeline_parallel_size": args.pipeline_model_parallel_size,
    }
    statements = extract(schedules, "forward_backward_pipelining_with_interleaving", wanted)
    run_statements(statements, schedules.__file__, names)


def build_optimizer(package: str, args: Any) -> None:
    training = find_module(package + "training")
    for name in ("get_megatron_optimizer_config", "get_megatron_ddp_config"):
        function = getattr(training, name, None)
        if function is None:
            continue
        try:
            function(args)
        except Exception as error:
            if "FusedAdam" not in str(error):
                raise


def describe(error: BaseException, folder: str, printed: str) -> dict[str, Any]:
    """What failed, in which stage and line, and which settings the failing statement speaks of."""
    message = str(error)
    if isinstance(error, SystemExit) and printed.strip():
        message = printed.strip().splitlines()[-1].partition("error: ")[2] or printed.strip().splitlines()[-1]
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(folder + os.sep)
    ]
    answer: dict[str, Any] = {
        "verdict": "refused",
        "stage": getattr(error, "preflight_stage", ""),
        "type": type(error).__name__,
        "message": message[:2000],
        "site": "",
        "names": [],
    }
    if frames:
        frame = frames[-1]
        answer["site"] = f"{os.path.relpath(frame.filename, folder)}:{frame.lineno}"
        answer["message"] = answer["message"] or (frame.line or "").strip()
        answer["names"] = [
            name for each in reversed(frames) for name in list_names(each.filename, each.lineno or 0)
        ]
    return answer


def list_names(path: str, line: int) -> list[str]:
    """The settings that the statement at a line, and the conditions around it, speak of."""
    try:
        with open(path, encoding="utf-8") as stream:
            tree = ast.parse(stream.read())
    except (OSError, SyntaxError):
        return []
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    found: dict[str, None] = {}
    inner = [node for node in around[-1:] if not isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    tests = [node.test for node in around if isinstance(node, (ast.If, ast.Assert))][-2:]
    local: dict[str, ast.AST] = {}
    for function in [node for node in around if isinstance(node, ast.FunctionDef)][-1:]:
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and node.lineno < line and isinstance(node.targets[0], ast.Name):
                local[node.targets[0].id] = node.value
    for part in [*reversed(tests), *inner]:
        collect_names(part, local, found)
    return list(found)


def collect_names(part: ast.AST, local: dict[str, ast.AST], found: dict[str, None]) -> None:
    """Settings in an expression; a local variable stands for those that it was made of."""
    for node in ast.walk(part):
        if isinstance(node, ast.Attribute):
            found[node.attr] = None
        elif isinstance(node, ast.Name) and node.id not in found:
            found[node.id] = None
            if node.id in local:
                collect_names(local[node.id], local, found)


def answer_request(folder: str, request: dict[str, Any]) -> dict[str, Any]:
    """Run the checks with everything that they print caught."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(printed):
        try:
            arguments, package = prepare(request)
        except BaseException as error:
            return {"verdict": "unable", "message": f"{type(error).__name__}: {error}"[:500]}
        try:
            validate(arguments, package, request)
        except BaseException as error:
            return describe(error, folder, printed.getvalue())
    return {"verdict": "accepted"}


def main() -> None:
    folder = os.path.realpath(sys.argv[1])
    request = json.load(sys.stdin)
    output = os.fdopen(os.dup(1), "w")
    sys.path.insert(0, folder)
    os.chdir(folder)
    os.environ.update(request["environment"])
    sys.argv = [request.get("program") or "pretrain_gpt.py", *request["argv"]]
    output.write(json.dumps(answer_request(folder, request)) + "\n")
    output.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
