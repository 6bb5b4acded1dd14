"""Which settings lay the model out over ranks.

In: nothing; this is a pattern of names.  Other programs than Megatron's own and code fill in much by themselves, but
these are for their caller to say, so that their defaults hold.
"""

from __future__ import annotations

from preflight.patterns import pattern

KEPT = pattern(
    r"pipeline|parallel_sizes?$|num_weight_shards$|virtual|hybrid|^encoder_|^decoder_|standalone|^mtp_num_layers$|^yaml_cfg$"
)
"""Settings that a program does not fill in by itself: how the model is laid out over ranks is for its caller to say."""

SPLIT = pattern(r"^decoder_(first|last)_pipeline_num_layers$|^pipeline_model_parallel_layout$")
"""How layers are shared out unevenly: a fork may have a flag of its own for that."""

SIZES = frozenset({"num_attention_heads", "num_query_groups", "hidden_size", "ffn_hidden_size", "seq_length"})
"""What is shared out over tensor-parallel ranks."""

GRID = frozenset({"tensor_model_parallel_size", "pipeline_model_parallel_size"})
"""What the ranks are shared out by."""

LAYERS = frozenset({"num_layers"})
"""What is shared out over pipeline stages; DeepSpeed's pipeline has a way of its own."""

UNEVEN = (
    (pattern(r"^--.*unaligned"), SIZES),
    (pattern(r"^--.*disaggregated"), GRID),
    (pattern(r"^--deepspeed$|^--pp[-_]partition"), LAYERS),
)
"""Flags of forks that lift what Megatron asks to divide evenly, and the settings that are then up to them."""

SHARES_LAYERS = pattern(r"^--.*layers?[-_]list|^--noop[-_]layers")
"""Flags of forks that share layers out, or add empty ones."""
