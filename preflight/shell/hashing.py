"""The order in which bash lists an associative array: that of its hash table.

In: keys in the order of insertion.  Out: the same keys in bash's order (FNV-1 over the bytes, 1024 buckets,
newest first in a bucket, growing by four when more than twice as full).
"""

from __future__ import annotations

_BUCKETS = 1024


def hash_key(key: str) -> int:
    value = 2166136261
    for byte in key.encode("utf-8", "surrogateescape"):
        value = (value * 16777619) & 0xFFFFFFFF
        value ^= byte
    return value


def hash_order(keys: list[str]) -> list[str]:
    """Bash's order of the keys of an associative array."""
    size = _BUCKETS
    buckets: dict[int, list[str]] = {}
    for key in keys:
        buckets.setdefault(hash_key(key) & (size - 1), []).insert(0, key)
    return [key for number in sorted(buckets) for key in buckets[number]]
