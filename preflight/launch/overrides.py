"""Hydra's overrides on a command line, and what verl's PPO trainer is told by them.

In: a launch.  Out: sizes of verl's actor and rollout, each a product of settings.  A setting that is not given has the
default of verl's own configurations; in another configuration, and on an open command line, it is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

from preflight.launch.arguments import read_values
from preflight.launch.model import Launch
from preflight.launch.options import known_prefix
from preflight.patterns import pattern
from preflight.record import NamedTuple
from preflight.source import Span
from preflight.values import Unknown

_OVERRIDE = pattern(r"\+{0,2}([A-Za-z_][\w.]*)=(.*)")
_OWN = frozenset({"ppo_trainer", "ppo_megatron_trainer"})
PARALLEL = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
ACTOR = "actor_rollout_ref.actor.megatron."
ROLLOUT = "actor_rollout_ref.rollout."


class Size(NamedTuple):
    """A product; None where it is not said or not known, which `unknown` tells. `span` is the setting that is given."""

    value: int | None = None
    span: Span | None = None
    unknown: Unknown | None = None


class Trainer(NamedTuple):
    """verl's PPO trainer: GPUs, ranks of one rollout engine, ranks of one copy of the actor's model."""

    gpus: Size = Size()
    engine: Size = Size()
    model: Size = Size()


def read_overrides(launch: Launch) -> dict[str, tuple[str, Span]]:
    """The overrides by name; the last one holds."""
    found: dict[str, tuple[str, Span]] = {}
    for word in launch.argv:
        match = _OVERRIDE.fullmatch(word.text.display()) if word.text.known else None
        if match is not None:
            found[match[1]] = (match[2].strip("'\""), word.span)
        elif not word.text.known and "=" in (head := known_prefix(word.text)):
            found[head.partition("=")[0].lstrip("+")] = ("", word.span)
    return found


def read_flags(launch: Launch) -> dict[str, tuple[str, Span]]:
    """Options with the value behind them; both spellings of a name are one."""
    values = read_values(launch.argv)
    return {name: (text.value or "", span) for name, (text, span) in values.items() if text is not None}


def read_trainer(launch: Launch) -> Trainer:
    """What verl's trainer is told; nothing where the program is another one."""
    program = known_prefix(launch.program.text) if launch.program is not None else ""
    if not program.replace("/", ".").removesuffix(".py").endswith("verl.trainer.main_ppo"):
        return Trainer()
    given = read_overrides(launch)
    reason = launch.open[0] if launch.open else None
    own = is_own(launch)

    def size(*settings: tuple[str, int]) -> Size:
        return _multiply(given, settings, reason, own)

    plain = not {f"{ROLLOUT}pipeline_model_parallel_size", f"{ROLLOUT}data_parallel_size"} & given.keys()
    engine = plain and given.get(f"{ROLLOUT}name", ("vllm", None))[0] in ("vllm", "sglang")
    megatron = any(key.startswith(ACTOR) for key in given)
    return Trainer(
        size(("trainer.n_gpus_per_node", 8), ("trainer.nnodes", 1)),
        size((f"{ROLLOUT}tensor_model_parallel_size", 2)) if engine else Size(),
        size(*((ACTOR + name, 1) for name in PARALLEL)) if megatron else Size(),
    )


def read_model(launch: Launch) -> Size:
    """Ranks of a model by the sizes that overrides (`model.tensor_model_parallel_size=8`) or flags of ms-swift give."""
    if launch.launcher.kind == "megatron":
        prefix, given = "", read_flags(launch)
    else:
        prefix, given = "model.", read_overrides(launch)
    named = tuple((prefix + name, 1) for name in PARALLEL if prefix + name in given)
    if not named:
        return Size()
    size = _multiply(given, named, None, True)
    return size._replace(value=None, unknown=launch.open[0]) if launch.open else size


def is_own(launch: Launch) -> bool:
    """Whether the configuration is one of verl's: by its name, or none is named."""
    name = read_values(launch.argv).get("config_name", (None, None))[0]
    joined = [w.text.display() for w in launch.argv if w.text.display().startswith("--config-name=")]
    shown = (
        joined[-1].partition("=")[2] if joined else (name.display() if name is not None else "ppo_trainer")
    )
    return shown.strip("'\"").removesuffix(".yaml") in _OWN


def _multiply(
    given: Mapping[str, tuple[str, Span]],
    settings: tuple[tuple[str, int], ...],
    reason: Unknown | None,
    own: bool,
) -> Size:
    value, span = 1, None
    for name, default in settings:
        text, place = given.get(name, (None, None))
        span = place or span
        if text is None and (reason is not None or not own):
            return Size(None, span, reason or Unknown("file", "the configuration"))
        if text is not None and not text.isdigit():
            return Size(None, span, Unknown("syntax", text or name))
        value *= default if text is None else int(text)
    return Size(value, span)
