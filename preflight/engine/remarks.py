"""The kinds of remarks that stages to the left make, and the values that each carries.

A rule with `remark = kind` may name these values in its message, help and condition.  A stage that makes a new
kind of remark declares it here, so that a rule's typing error is found when the rule is loaded.
"""

from __future__ import annotations

REMARKS: dict[str, tuple[str, ...]] = {
    # comments for preflight
    "unused-ignore": ("names", "count"),
    "invalid-ignore": ("problem",),
    # configuration: the use of flags
    "unknown-flag": ("flag", "program", "release", "nearest", "hint"),
    "unheard-of-flag": ("flag", "program", "release"),
    "misspelt-flag": ("flag", "program", "release", "nearest"),
    "removed-flag": ("flag", "program", "release", "last", "instead", "hint"),
    "later-flag": ("flag", "program", "release", "first"),
    "flag-of-the-default": ("flag", "program", "release", "opposite"),
    "flag-with-wrong-dash": ("word", "flag"),
    "flags-in-one-word": ("word",),
    "unchecked-flags": ("flags", "count", "program", "because"),
    "missing-value": ("flag", "wanted", "next", "hint"),
    "negative-exponent": ("flag", "wanted", "next"),
    "extra-word": ("word", "flag", "count", "hint"),
    "key-value-word": ("word", "program"),
    "wrong-type": ("flag", "value", "wanted", "hint"),
    "wrong-choice": ("flag", "value", "choices", "nearest", "hint"),
    "value-for-switch": ("flag", "value"),
    "exclusive-flags": ("flag", "other"),
    "required-flag": ("flag", "program"),
    "help-flag": ("flag",),
    "megatron-refuses": ("message", "type", "stage", "site", "names", "checkout"),
    "repeated-flag": ("flag", "value", "earlier"),
    "header-late": ("directive", "command"),
    "header-misspelt": ("option", "suggestion"),
    "header-variable": ("option", "value", "variable", "numeric"),
    "header-repeated": ("option", "first", "last"),
    "header-without-shebang": (),
    "environment-lost": ("name", "value", "wrapper"),
    "environment-misspelt": ("name", "value", "suggestion"),
    "scheduler-variable-misspelt": ("name", "suggestion"),
    "port-drawn-per-task": ("what", "value"),
    "own-address-on-every-node": ("nodes", "sure", "value"),
    "node-list-as-address": ("variable", "value"),
    "submit-host-as-address": ("nodes", "value"),
    "port-out-of-range": ("port",),
    "node-rank-repeated": ("rank", "hosts"),
    "node-rank-assumed": ("name", "rank", "nodes"),
    "environment-set-late": ("name", "value"),
    "environment-on-first-node": ("name", "value"),
    "node-rank-missing": ("nodes",),
    "node-rank-too-large": ("rank", "nodes", "last"),
    "scheduler-variable-unset": ("name", "option", "processes"),
    "deepspeed-slot-missing": ("host", "slot", "slots"),
    "port-used-twice": ("port",),
    "fallback-behind-pipe": ("first", "last", "fallback"),
    "status-hidden-by-pipe": ("launcher",),
    "launcher-option-misspelt": ("option", "suggestion", "launcher"),
    "launcher-option-without-value": ("option", "next", "launcher"),
    "launcher-program-displaced": ("word", "program", "option", "launcher"),
    "launcher-option-behind-program": ("option", "program", "launcher"),
    "launcher-count-unreadable": ("option", "value", "launcher"),
    "scheduler-variable-early": ("name",),
    "launcher-on-one-node": ("option", "nodes", "launches"),
    "launcher-option-repeated": ("option", "first", "last"),
    # shell: what the layout of a script shows
    "orphaned-flags": ("flag", "count", "command"),
    "comment-in-command": ("flag", "count", "command"),
    "blank-after-backslash": ("next", "comment"),
    "unquoted-parenthesis": ("flag", "value"),
    "arithmetic-slip": ("name", "meant"),
    "assignment-slip": ("name", "meant"),
    "carriage-return": ("count", "lines"),
    "element-falls-apart": ("name", "value", "count"),
    "typographic-quotes": ("word", "name", "quote"),
    "literal-quotes": ("word", "name", "quote"),
    "placeholder": ("placeholder", "bare"),
    "unset-variable": ("name", "flag", "list", "outer"),
    "misspelt-variable": ("name", "nearest"),
    "unused-options": ("name", "flag", "count"),
    "comma-after-value": ("flag", "value"),
}
"""Kind of remark -> names of its values."""

BEYOND_EXAMPLES = frozenset({"megatron-refuses"})
"""Kinds that no example script can bring about by itself: a rule about them needs no examples."""
