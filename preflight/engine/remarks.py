"""The kinds of remarks that stages to the left make, and the values that each carries.

A rule with `remark = kind` may name these values in its message, help and condition.  A stage that makes a new
kind of remark declares it here, so that a rule's typing error is found when the rule is loaded.
"""

from __future__ import annotations

REMARKS: dict[str, tuple[str, ...]] = {}
"""Kind of remark -> names of its values."""
