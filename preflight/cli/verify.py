"""`preflight verify`: check a plan of parallel sizes given as numbers.

In: sizes as options; settings without an option of their own as `--set NAME=VALUE`, by Megatron's names.  Out: the
number of GPUs and the plan, or all violations.
"""

from __future__ import annotations

import sys

from preflight.cli import options as shared
from preflight.cli.options import MisuseError
from preflight.cli.session import Session
from preflight.cli.sheet import Sheet
from preflight.plan import Plan, Setting, TopologyError, verify_plan

SIZES = (
    ("--tp", "tp", "tensor-parallel size"),
    ("--pp", "pp", "pipeline-parallel size"),
    ("--dp", "dp", "data-parallel size"),
    ("--world-size", "world_size", "GPUs in total"),
    ("--layers", "layers", "transformer layers"),
    ("--hidden-size", "hidden_size", "hidden size"),
    ("--heads", "num_heads", "attention heads"),
)
EXTRAS = (
    ("--cp", "cp", "context-parallel size"),
    ("--ep", "ep", "expert-parallel size"),
    ("--etp", "etp", "expert tensor-parallel size"),
    ("--experts", "num_experts", "experts"),
    ("--kv-heads", "num_query_groups", "query groups"),
    ("--ffn-hidden-size", "ffn_hidden_size", "feed-forward size"),
    ("--seq-length", "seq_length", "sequence length"),
    ("--micro-batch-size", "micro_batch_size", "micro-batch size"),
    ("--global-batch-size", "global_batch_size", "global batch size"),
    ("--layers-per-virtual-stage", "num_layers_per_virtual_pipeline_stage", "for the interleaved schedule"),
)


def make_sheet() -> Sheet:
    """The options of `verify`."""
    sheet = shared.new_sheet(
        "verify",
        "Check a plan of parallel sizes, and say how it divides.",
        ["preflight verify --tp 8 --pp 4 --dp 4 --world-size 128 --layers 80 --hidden-size 8192 --heads 64"],
        usage="preflight verify --tp N --pp N --dp N --world-size N --layers N --hidden-size N --heads N [OPTIONS]",
    )
    for flag, name, meaning in SIZES:
        sheet.add_argument(flag, dest=name, type=int, required=True, metavar="N", help=meaning)
    for flag, name, meaning in EXTRAS:
        sheet.add_argument(flag, dest=name, type=int, metavar="N", help=meaning)
    sheet.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="any other setting by Megatron's name",
    )
    sheet.add_argument("--gpus-per-node", type=int, metavar="N", help="GPUs of a node (default: 8)")
    sheet.add_argument("--gpu", metavar="NAME", help="a GPU profile")
    sheet.add_argument("--target", metavar="RELEASE", help="Megatron release (default: the newest)")
    sheet.add_argument("--te", metavar="VERSION", help="TransformerEngine's version")
    sheet.add_argument("--output", choices=("text", "json"), default="text", help="text or json")
    shared.add_config_options(sheet)
    return sheet


def run(words: list[str]) -> int:
    """The command."""
    options = make_sheet().parse_args(words)
    try:
        session = Session(options)
        settings = {name: getattr(options, name) for _, name, _ in (*SIZES, *EXTRAS)}
        for text in options.set:
            name, equals, value = text.partition("=")
            settings[name.lstrip("-").replace("-", "_")] = read_value(value) if equals else True
        for name in ("gpus_per_node", "gpu", "target", "te"):
            settings[name] = getattr(options, name)
        plan = verify_plan(session.rules_of(session.here), **settings)
    except TopologyError as error:
        return refuse(error, options.output)
    except (MisuseError, TypeError, ValueError) as error:
        print(f"preflight verify: {error}", file=sys.stderr)
        return 2
    if options.output == "json":
        import json

        print(json.dumps({"schema": 1, "valid": True, "violations": [], **plan._asdict()}, indent=2))
    else:
        print(write_plan(plan))
    return 0


def refuse(error: TopologyError, output: str) -> int:
    """All violations; exit status 1."""
    if output == "json":
        import json

        print(json.dumps({"schema": 1, "valid": False, "violations": list(error.violations)}, indent=2))
        return 1
    for words in error.violations:
        print(f"error: {words}")
    count = len(error.violations)
    print(f"not valid: {count} violation{'' if count == 1 else 's'}")
    return 1


def write_plan(plan: Plan) -> str:
    """The plan for people."""
    terms = [f"TP {plan.tensor_parallel}", f"PP {plan.pipeline_parallel}"]
    terms += [f"CP {plan.context_parallel}"] if plan.context_parallel > 1 else []
    terms.append(f"DP {plan.data_parallel}")
    layers = "laid out unevenly" if plan.layers_per_stage is None else str(plan.layers_per_stage)
    lines = [f"warning: {words}" for words in plan.warnings]
    lines += [
        f"total GPUs        {plan.world_size} = {' x '.join(terms)}",
        f"layers per stage  {layers}",
        f"heads per rank    {plan.heads_per_rank}",
        f"release           {plan.release}",
        "the configuration is valid",
    ]
    return "\n".join(lines)


def read_value(text: str) -> Setting:
    """A value as Megatron's flag would read it: a number where it is one."""
    try:
        return int(text)
    except ValueError:
        return text
