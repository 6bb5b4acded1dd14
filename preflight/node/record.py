"""A node as JSON and back, so that a probe taken on one machine replays on any other.

In: a `Node`, or the bytes of a record.  Out: the other one.  Refuses, with the place named, what is not a
record: other schemas, wrong types, unknown shapes; fields that a newer preflight added are passed over.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping
from typing import Any

from preflight.node.model import SCHEMA, Node


class RecordError(ValueError):
    """What is wrong with a record, in words for people."""


def write_record(node: Node) -> str:
    """The record as JSON text, fields at their default left out."""
    return json.dumps({"schema": SCHEMA, **flatten(node)}, indent=1, ensure_ascii=False) + "\n"


def flatten(value: Any) -> Any:
    """A record as plain JSON values; a field that has its default is left out."""
    if hasattr(value, "_asdict"):
        defaults = value._field_defaults
        return {
            name: flatten(field)
            for name, field in value._asdict().items()
            if name not in defaults or field != defaults[name]
        }
    if isinstance(value, Mapping):
        return {str(name): flatten(field) for name, field in value.items()}
    if isinstance(value, tuple | list):
        return [flatten(item) for item in value]
    return value


def read_record(data: bytes | str) -> Node:
    """The node that a record describes."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"not JSON: {error}") from None
    if not isinstance(content, dict) or "schema" not in content:
        raise RecordError('not a record of a node: no "schema" (make one with: preflight node --record FILE)')
    if content["schema"] != SCHEMA:
        raise RecordError(
            f"schema {content['schema']!r} of the record is not {SCHEMA}, the one this version reads"
        )
    return restore(content)


def restore(content: Mapping[str, Any]) -> Node:
    """The node from the plain values of a record whose schema was checked."""
    node = _build(Node, content, "record")
    assert isinstance(node, Node)
    size = len(node.gpus)
    for name in ("ancestors", "peers"):
        matrix = getattr(node, name)
        if matrix and (len(matrix) != size or any(len(row) != size for row in matrix)):
            raise RecordError(
                f"record.{name}: not a {size} x {size} matrix, though the record has {size} GPUs"
            )
    if len({gpu.number for gpu in node.gpus}) != size:
        raise RecordError("record.gpus: two GPUs have the same index")
    return node


_HINTS: dict[type, dict[str, Any]] = {}


def _build(kind: type, content: Any, where: str) -> Any:
    if not isinstance(content, Mapping):
        raise RecordError(f"{where}: expected an object, found {_shown(content)}")
    if kind not in _HINTS:
        _HINTS[kind] = typing.get_type_hints(kind)
    hints = _HINTS[kind]
    fields: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    values = {
        name: _convert(hints[name], content[name], f"{where}.{name}") for name in fields if name in content
    }
    defaults: Mapping[str, Any] = kind._field_defaults  # type: ignore[attr-defined]
    missing = [name for name in fields if name not in values and name not in defaults]
    if missing:
        raise RecordError(f"{where}: {', '.join(missing)} is missing")
    return kind(**values)


def _convert(hint: Any, value: Any, where: str) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in inner:
            return None
        return _convert(next(option for option in inner if option is not type(None)), value, where)
    if origin is tuple:
        if not isinstance(value, list):
            raise RecordError(f"{where}: expected a list, found {_shown(value)}")
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(_convert(inner[0], item, f"{where}[{at}]") for at, item in enumerate(value))
        if len(value) != len(inner):
            raise RecordError(f"{where}: expected {len(inner)} values, found {len(value)}")
        return tuple(
            _convert(part, item, f"{where}[{at}]")
            for at, (part, item) in enumerate(zip(inner, value, strict=True))
        )
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise RecordError(f"{where}: expected an object, found {_shown(value)}")
        return {str(name): _convert(inner[1], item, f"{where}.{name}") for name, item in value.items()}
    if hint is object:
        return tuple(value) if isinstance(value, list) else value
    if hasattr(hint, "_fields"):
        return _build(hint, value, where)
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        raise RecordError(f"{where}: expected {_WORDS.get(hint, hint)}, found {_shown(value)}")
    return value


_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "..."
