"""What several paths found, put together: what is the same is told once, under the conditions that its paths share.

In: executions, configurations and remarks of all paths.  Out: the distinct ones.  What tells one from another is a key:
where it stands, its words or settings, and what is unknown in them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from preflight.execution import CodeConfiguration, Condition, Execution, Remark
from preflight.source import Span
from preflight.values import Text

Found = TypeVar("Found", Execution, CodeConfiguration)


def merge(found: list[Found], key_of: Callable[[Found], Hashable]) -> list[Found]:
    """One record for what is the same on several paths, under the conditions that they have in common."""
    groups: dict[Hashable, list[Found]] = {}
    for record in found:
        groups.setdefault(key_of(record), []).append(record)
    result: list[Found] = []
    for records in groups.values():
        kept = _simplify([record.conditions for record in records])
        result.extend(records[0]._replace(conditions=conditions) for conditions in kept)
    return result


_Key = tuple[str, int, str]


def _simplify(listed: list[tuple[Condition, ...]]) -> list[tuple[Condition, ...]]:
    tables: dict[frozenset[tuple[_Key, bool]], tuple[Condition, ...]] = {}
    for conditions in listed:
        tables.setdefault(frozenset((_condition_key(c), c.taken) for c in conditions), conditions)
    changed = len(tables) > 1
    while changed:
        changed = False
        for key in list(tables):
            for item, taken in key:
                other = (key - {(item, taken)}) | {(item, not taken)}
                if key in tables and other in tables and other != key:
                    kept = tables.pop(key)
                    tables.pop(other)
                    shorter = key - {(item, taken)}
                    tables.setdefault(shorter, tuple(c for c in kept if _condition_key(c) != item))
                    changed = True
                    break
    keys = list(tables)
    return [tables[key] for key in keys if not any(other < key for other in keys)]


def _condition_key(condition: Condition) -> _Key:
    span = condition.span.resolve()
    return (span.path, span.start, condition.text)


def _text_key(text: Text | None) -> Hashable:
    if text is None:
        return None
    shown = "".join(piece.text for piece in text.pieces)
    return (shown, tuple(piece.unknown for piece in text.pieces if piece.unknown is not None))


def words_key(execution: Execution) -> Hashable:
    span = execution.span.resolve()
    words = tuple((_text_key(word.text), word.many) for word in execution.words)
    variables = tuple((name, _text_key(text)) for name, text in execution.environment.items())
    return (
        span.path,
        span.start,
        span.end,
        words,
        variables,
        _text_key(execution.directory),
        execution.handed_to,
    )


def settings_key(configuration: CodeConfiguration) -> Hashable:
    span = configuration.span.resolve()
    settings = tuple((name, _text_key(word.text)) for name, word in configuration.settings.items())
    return (span.path, span.start, configuration.name, settings, configuration.open)


def distinct_remarks(remarks: list[Remark]) -> list[Remark]:
    seen: dict[tuple[str, str, int], Remark] = {}
    for remark in remarks:
        span: Span = remark.span.resolve()
        seen.setdefault((remark.kind, span.path, span.start), remark)
    return list(seen.values())
