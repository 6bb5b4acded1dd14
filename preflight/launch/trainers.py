"""Settings of trainers that spell Megatron's settings their own way: verl, ms-swift, slime, NeMo-RL.

In: a launch.  Out: one `Reading` for each name in `NAMES`, by a table of settings for each trainer.  A setting that is
not given has the trainer's default where the table says one and nothing else can give it: on an open command line, and
with a configuration file of the user's, it is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from preflight.launch.model import Launch
from preflight.launch.options import known_prefix
from preflight.launch.overrides import ACTOR, ROLLOUT, is_own, read_overrides
from preflight.launch.reading import Reading
from preflight.record import NamedTuple
from preflight.source import Span
from preflight.values import Assumption, Unknown

Given = Mapping[str, tuple[str | None, Span]]
Scalar = bool | int | float | str | None


class Setting(NamedTuple):
    """A fact, the settings whose product (or only value) it is, how a value reads, and what is there without them.

    `required`: without these settings, the fact is absent whatever the others say.
    """

    fact: str
    keys: tuple[str, ...]
    read: Callable[[str], Scalar]
    default: Scalar = None
    required: tuple[str, ...] = ()


def read_count(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def read_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def read_switch(text: str) -> bool | None:
    """`true` and `True`; a flag without a value is on."""
    return {"true": True, "false": False, "": True, "1": True, "0": False}.get(text.lower())


def read_word(text: str) -> str | None:
    return text or None


def count_stages(layout: str) -> int | None:
    """The stages of a layout such as `Et*3|(tt|)*29m|L`."""
    for _ in range(8):
        shorter = re.sub(r"\(([^()]*)\)(?:\*(\d{1,3}))?", lambda m: m[1] * int(m[2] or 1), layout)
        if shorter == layout or len(shorter) > 10_000:
            break
        layout = shorter
    return layout.strip().count("|") + 1 if re.fullmatch(r"[EtmLdr|*\d, ]+", layout) else None


_MODEL = "actor_rollout_ref.actor."
_POLICY = "policy.megatron_cfg."
_EXPERTS = ("expert_tensor_parallel_size", "expert_model_parallel_size")
VERL = (
    Setting("verl_train_batch", ("data.train_batch_size",), read_count, 1024),
    Setting("verl_mini_batch", (f"{_MODEL}ppo_mini_batch_size",), read_count, 256),
    Setting("verl_micro_batch", (f"{_MODEL}ppo_micro_batch_size",), read_count),
    Setting("verl_micro_batch_per_gpu", (f"{_MODEL}ppo_micro_batch_size_per_gpu",), read_count),
    Setting("verl_samples", (f"{ROLLOUT}n",), read_count, 1),
    Setting("verl_stages", (f"{ACTOR}pipeline_model_parallel_size",), read_count, 1),
    Setting("verl_virtual_stages", (f"{ACTOR}virtual_pipeline_model_parallel_size",), read_count),
    Setting("verl_dynamic_batch", (f"{_MODEL}use_dynamic_bsz",), read_switch, False),
    Setting(
        "verl_expert_ranks",
        (*(ACTOR + name for name in _EXPERTS), f"{ACTOR}pipeline_model_parallel_size"),
        read_count,
        1,
        tuple(ACTOR + name for name in _EXPERTS),
    ),
)
SWIFT = (
    Setting("swift_global_batch", ("global_batch_size",), read_count),
    Setting("swift_micro_batch", ("micro_batch_size",), read_count, 1),
    Setting(
        "swift_model_ranks",
        ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size"),
        read_count,
        1,
    ),
    Setting("swift_pipeline", ("pipeline_model_parallel_size",), read_count, 1),
    Setting("swift_tensor", ("tensor_model_parallel_size",), read_count, 1),
    Setting("swift_layers", ("num_layers",), read_count),
    Setting("swift_first_layers", ("decoder_first_pipeline_num_layers",), read_count),
    Setting("swift_last_layers", ("decoder_last_pipeline_num_layers",), read_count),
    Setting("swift_layout_stages", ("pipeline_model_parallel_layout",), count_stages),
    Setting("swift_recompute", ("recompute_granularity",), read_word),
    Setting("swift_recompute_method", ("recompute_method",), read_word),
    Setting("swift_tp_overlap", ("tp_comm_overlap",), read_switch, False),
    Setting("swift_sequence_parallel", ("sequence_parallel",), read_switch, False),
)
SLIME = (
    Setting("slime_kl", ("kl_coef",), read_number, 0.0),
    Setting("slime_kl_loss", ("kl_loss_coef",), read_number, 0.0),
    Setting(
        "slime_rollout_samples",
        ("rollout_batch_size", "n_samples_per_prompt"),
        read_count,
        1,
        ("rollout_batch_size",),
    ),
    Setting("slime_steps", ("num_steps_per_rollout",), read_count),
    Setting("slime_batch", ("global_batch_size",), read_count),
    Setting("slime_eval_interval", ("eval_interval",), read_count),
    Setting("slime_eval_data", ("eval_prompt_data",), read_word),
    Setting("slime_eval_config", ("eval_config",), read_word),
    Setting("slime_dynamic_batch", ("use_dynamic_batch_size",), lambda text: True, False),
    Setting("slime_token_limit", ("max_tokens_per_gpu",), read_count),
)
NEMO = (
    Setting(
        "nemo_gpus",
        ("cluster.gpus_per_node", "cluster.num_nodes"),
        read_count,
        None,
        ("cluster.gpus_per_node", "cluster.num_nodes"),
    ),
    Setting("nemo_megatron", (f"{_POLICY}enabled",), read_switch),
    Setting(
        "nemo_model_ranks",
        tuple(
            _POLICY + name
            for name in (
                "tensor_model_parallel_size",
                "pipeline_model_parallel_size",
                "context_parallel_size",
            )
        ),
        read_count,
        1,
        (f"{_POLICY}tensor_model_parallel_size",),
    ),
)
TABLES = {"verl": VERL, "swift": SWIFT, "slime": SLIME, "nemo": NEMO}
NAMES = tuple(setting.fact for table in TABLES.values() for setting in table)


def find_trainer(launch: Launch) -> str | None:
    """Which trainer a launch starts; None where it is none of these."""
    if launch.launcher.kind == "megatron":
        return "swift"
    program = known_prefix(launch.program.text) if launch.program is not None else ""
    name = program.replace("/", ".").removesuffix(".py")
    if name.endswith("verl.trainer.main_ppo"):
        return "verl"
    words = {known_prefix(word.text) for word in launch.argv}
    if {"--actor-num-gpus-per-node", "--rollout-batch-size"} <= words:
        return "slime"
    return "nemo" if any(word.lstrip("+").startswith(_POLICY) for word in words) else None


def read_trainers(launch: Launch) -> dict[str, Reading]:
    """All readings; those of other trainers are absent."""
    trainer = find_trainer(launch)
    found = dict.fromkeys(NAMES, Reading(None, "launcher"))
    if trainer is None:
        return found
    given: Given = read_flags(launch)
    if trainer in ("verl", "nemo"):
        given = {name: (text or None, span) for name, (text, span) in read_overrides(launch).items()}
    waits, opening = find_rest(launch, trainer), launch.span if launch.open else None
    for setting in TABLES[trainer]:
        found[setting.fact] = read_setting(setting, given, waits, opening)
    return found


def read_flags(launch: Launch) -> Given:
    """The options in both spellings, with the value behind them or behind an equals sign; None: not known."""
    found: dict[str, tuple[str | None, Span]] = {}
    for word, follower in zip(launch.argv, (*launch.argv[1:], None), strict=False):
        name, equals, _ = known_prefix(word.text).partition("=")
        if not name.startswith("--"):
            continue
        value = word.text.value.partition("=")[2] if equals and word.text.value is not None else None
        if not equals:
            switch = follower is None or known_prefix(follower.text).startswith("--")
            value = "" if switch or follower is None else follower.text.value
        found[name[2:].replace("-", "_")] = (value, word.span)
    return found


def find_rest(launch: Launch, trainer: str) -> Unknown | None:
    """What else gives settings, so that nothing is known of those that are left out: words, a configuration file."""
    for unknown in launch.open:
        if unknown.reason != "positional":
            return unknown
    if trainer == "verl":
        return None if is_own(launch) else Unknown("file", "the configuration")
    files = (word.text.display() for word in launch.argv)
    file = next((name for name in files if name.endswith((".yaml", ".yml", ".json"))), None)
    return Unknown("file", file) if trainer == "swift" and file is not None else None


def read_setting(setting: Setting, given: Given, waits: Unknown | None, opening: Span | None) -> Reading:
    """The value of a setting, or the product of several; `opening`: where the caller may add to the command line."""
    place = next((given[key][1] for key in reversed(setting.keys) if key in given), None)
    if any(key not in given for key in setting.required):
        return Reading(None, "launcher", place, "", waits)
    values: list[Scalar] = []
    assumed: list[Assumption] = []
    for key in setting.keys:
        if key not in given and waits is not None:
            return Reading(None, "launcher", place, "", waits)
        if key not in given:
            values.append(setting.default)
            if opening is not None:
                assumed.append(Assumption(key, str(setting.default), opening))
            continue
        text = given[key][0]
        value = setting.read(text) if text is not None else None
        if value is None:
            return Reading(None, "launcher", place, text or "", Unknown("syntax", text or key))
        values.append(value)
    result = values[0]
    for other in values[1:]:
        result = result * other if isinstance(result, int) and isinstance(other, int) else None
    return Reading(result, "launcher", place, "" if result is None else str(result), None, tuple(assumed))
