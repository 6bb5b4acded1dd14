"""The JSON schema of the config, for editors.

In: the table of keys in `settings`.  Out: a JSON schema, kept as `docs/preflight.schema.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from preflight.settings import CLUSTER, KEYS, LEVELS, Key

TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}
LEVEL = {"enum": list(LEVELS)}
SCALAR = {"type": ["string", "number", "boolean"]}


def make_schema() -> dict[str, Any]:
    """The schema of `preflight.toml` and `[tool.preflight]`."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "preflight",
        "description": "Settings of preflight, in preflight.toml or [tool.preflight] of pyproject.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": describe(KEYS),
    }


def describe(keys: Mapping[str, Key]) -> dict[str, Any]:
    """The properties; each key may be written with hyphens or underscores."""
    described: dict[str, Any] = {}
    for name, key in keys.items():
        entry = {"description": key.meaning, **shape(key)}
        described[name] = entry
        if "-" in name:
            described[name.replace("-", "_")] = entry
    return described


def shape(key: Key) -> dict[str, Any]:
    """What a value of a kind looks like."""
    shapes: dict[str, dict[str, Any]] = {
        "text": TEXT,
        "flag": {"type": "boolean"},
        "count": {"type": "integer", "minimum": 1},
        "level": LEVEL,
        "list": TEXTS,
        "lists": {"type": "object", "additionalProperties": TEXTS},
        "levels": {"type": "object", "additionalProperties": LEVEL},
        "environment": {
            "type": "object",
            "additionalProperties": {"anyOf": [SCALAR, {"type": "object", "additionalProperties": SCALAR}]},
        },
    }
    if key.kind == "cluster":
        return {"type": "object", "additionalProperties": False, "properties": describe(CLUSTER)}
    return shapes[key.kind]


def write_schema() -> str:
    return json.dumps(make_schema(), indent=2) + "\n"
