"""Lists and schedules that flags write as small texts.

In: `([0]*3+[1])*2` (which layers are which) or `0:768 250B:1536` (batch sizes by threshold).  Out: the list, or None
where the text is not one.  Nothing is evaluated as code, and no result grows without bound.
"""

from __future__ import annotations

from collections.abc import Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast

LONGEST = 100_000
SUFFIXES = {"K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}


def parse_frequency(text: str) -> int | tuple[int, ...] | None:
    """A number N (every Nth layer), or a list built of `[ ]`, `( )`, `+`, `*` and numbers."""
    if len(text) > 10_000:
        return None
    try:
        if "[" not in text:
            return int(text)
        import ast

        result = _compute(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if isinstance(result, tuple) and all(isinstance(item, int) for item in result):
        return tuple(item for item in result if isinstance(item, int))
    return None


def _compute(node: ast.expr) -> object:
    import ast

    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.List):
        return tuple(_compute(item) for item in node.elts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult)):
        left, right = _compute(node.left), _compute(node.right)
        if isinstance(node.op, ast.Add):
            if isinstance(left, tuple) and isinstance(right, tuple):
                return left + right
            if isinstance(left, int) and isinstance(right, int):
                return left + right
        elif isinstance(left, tuple) and isinstance(right, int):
            return _repeat(left, right)
        elif isinstance(left, int) and isinstance(right, tuple):
            return _repeat(right, left)
        elif isinstance(left, int) and isinstance(right, int):
            return left * right
    raise ValueError("not a list of numbers")


def _repeat(items: Sequence[object], times: int) -> tuple[object, ...]:
    if len(items) * times > LONGEST:
        raise ValueError("too long")
    return tuple(items) * times


def parse_schedule(text: str, sequence_length: int | None) -> tuple[tuple[int, int], ...] | None:
    """The steps of a batch size schedule by threshold: (samples, batch size), as Megatron sorts them."""
    steps: list[tuple[int, int]] = []
    for entry in text.strip().replace(",", " ").split():
        threshold, colon, size = entry.partition(":")
        first, second = parse_amount(threshold), parse_amount(size)
        if not colon or first is None or second is None:
            return None
        steps.append((first // sequence_length if sequence_length else first, second))
    return tuple(sorted(steps, key=lambda step: step[0]))


def parse_amount(text: str) -> int | None:
    """A number with an optional K, M, B or T behind it."""
    shown = text.strip().upper()
    factor = SUFFIXES.get(shown[-1:], 1)
    digits = shown[:-1] if factor > 1 else shown
    try:
        return int(float(digits) * factor)
    except (ValueError, OverflowError):
        return None
