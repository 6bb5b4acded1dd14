"""preflight: a static linter and pre-flight checker for Megatron launch scripts.

What comes in: launch files as people write them. What goes out: findings at the line.
The public API is `check`, `trace` and `verify_megatron_topology`; everything else may change.
"""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["__version__", "check", "trace", "verify_megatron_topology"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from preflight.plan import Plan


def check(
    paths: str | Iterable[str],
    *,
    target: str | None = None,
    env: Mapping[str, str] | None = None,
    arguments: Sequence[str] | None = None,
    options: Sequence[str] = (),
) -> dict[str, Any]:
    """Check launch scripts and folders; returns the document of `preflight check --output json`.

    `arguments` are the scripts' positional arguments, `options` any further words of the command line.
    """
    from preflight.cli.programmatic import check_paths

    return check_paths(paths, target, env, arguments, options)


def trace(
    paths: str | Iterable[str],
    *,
    target: str | None = None,
    env: Mapping[str, str] | None = None,
    arguments: Sequence[str] | None = None,
    options: Sequence[str] = (),
) -> dict[str, Any]:
    """Resolve launch scripts; returns the document of `preflight trace --output json`."""
    from preflight.cli.programmatic import trace_paths

    return trace_paths(paths, target, env, arguments, options)


def verify_megatron_topology(
    tp: int,
    pp: int,
    dp: int,
    world_size: int,
    layers: int,
    hidden_size: int,
    num_heads: int,
    **optional: int | float | bool | str | None,
) -> Plan:
    """Check a plan of parallel sizes by the same rules as a script.

    `tp`, `pp` and `dp` count ranks, `world_size` GPUs: TP x PP x CP x DP must be the world size, as in
    `megatron/core/parallel_state.py`.  `layers` and `num_heads` count those of the whole model; `hidden_size` is its
    number of features.  `optional` takes cp, ep, etp, target, te, gpu, gpus_per_node, nodes, and every setting by
    Megatron's own name, such as num_query_groups; None stands for not given.

    Returns the plan, or raises `preflight.plan.TopologyError` (a ValueError) that lists all violations; TypeError for
    a setting that no release has, or that is given twice.
    """
    from preflight.cli.session import shipped_rules
    from preflight.plan import verify_plan

    return verify_plan(
        shipped_rules(),
        tp=tp,
        pp=pp,
        dp=dp,
        world_size=world_size,
        layers=layers,
        hidden_size=hidden_size,
        num_heads=num_heads,
        **optional,
    )
