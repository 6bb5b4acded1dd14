"""Names of hosts: folded for people, expanded from what people write, in a natural order.

In: names, or a text such as `n[1-3],login`.  Out: the other one.  ClusterShell does the folding, and is imported only
where there is something to fold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence


def mentions(line: str, host: str) -> bool:
    """Whether a line of output names a host, as a word of its own."""
    return re.search(rf"(?<![\w.-]){re.escape(host)}(?![\w-])", line) is not None


def natural(host: str) -> tuple[object, ...]:
    """n2 before n10."""
    parts: list[object] = []
    digits = ""
    for character in host:
        if character.isdigit():
            digits += character
            continue
        if digits:
            parts.append((0, int(digits), digits))
            digits = ""
        parts.append((1, 0, character))
    return (*parts, (0, int(digits), digits)) if digits else tuple(parts)


def fold_hosts(hosts: Sequence[str]) -> str:
    """`n[1-3,7]`, by ClusterShell; names that it does not understand are listed."""
    if len(hosts) <= 1:
        return "".join(hosts)
    try:
        from ClusterShell.NodeSet import NodeSet  # type: ignore[import-untyped]

        return str(NodeSet.fromlist(list(hosts)))
    except Exception:
        return ",".join(hosts)


def expand_hosts(text: str) -> tuple[str, ...]:
    """`n[1-3],login` and lists with blanks or line ends, in their order; ValueError where it cannot be read."""
    words = text.split()
    if all("[" not in word and "@" not in word and "," not in word for word in words):
        return tuple(dict.fromkeys(words))
    from ClusterShell.NodeSet import NodeSet, NodeSetException

    try:
        return tuple(dict.fromkeys(host for word in words for host in NodeSet(word)))
    except NodeSetException as error:
        raise ValueError(f"not a list of hosts: {error}") from None
