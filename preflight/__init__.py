"""preflight: a static linter and pre-flight checker for Megatron launch scripts.

What comes in: launch files as people write them. What goes out: findings at the line.
The public API is `check`, `trace` and `verify_megatron_topology`; everything else may change.
"""

__version__ = "0.1.0"
