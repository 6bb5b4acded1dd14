"""Nodes to check against without being on one: shipped profiles, records, and either with planted changes.

In: a name or a path, optionally with changes (`hgx-h100 gpus.3.remap_pending=1`).  Out: a `Node`.  The shipped
profiles are plausible, not measured: they are written from documentation and public logs, and say so.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from typing import Any

from preflight.node.model import SCHEMA, Node
from preflight.node.record import RecordError, read_record, restore
from preflight.record import NamedTuple

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "profiles")


class Entry(NamedTuple):
    """What the index says of a `--gpu` name: memory in GiB, `domain` in GPUs, `links` used on a board with switches."""

    profile: str | None
    products: tuple[str, ...]
    capability: tuple[int, int]
    memory: int
    gpus_per_node: int
    domain: int
    links: int = 0


def read_index() -> dict[str, Entry]:
    """`--gpu` names, the products that they stand for, and the usual node of each."""
    with open(os.path.join(FOLDER, "index.json"), encoding="utf-8") as stream:
        content = json.load(stream)
    return {
        name: Entry(
            entry.get("profile"),
            tuple(entry["products"]),
            (entry["capability"][0], entry["capability"][1]),
            entry["memory"],
            entry["gpus_per_node"],
            entry["domain"],
            entry.get("links", 0),
        )
        for name, entry in content.items()
    }


def find_product(name: str | None) -> Entry | None:
    """The index entry of a product by NVML's exact name: "GH200" contains "H200" and is not one."""
    if name is None:
        return None
    return next((entry for entry in read_index().values() if name in entry.products), None)


def list_profiles() -> tuple[str, ...]:
    """Names of the shipped profiles."""
    names = (name for name in os.listdir(FOLDER) if name.endswith(".json") and name != "index.json")
    return tuple(sorted(name.removesuffix(".json") for name in names))


def read_node(path: str) -> Node:
    """A recorded node from a file, or a shipped profile by its name."""
    if not os.path.exists(path) and "/" not in path and path.removesuffix(".json") in list_profiles():
        path = os.path.join(FOLDER, path.removesuffix(".json") + ".json")
    try:
        with open(path, "rb") as stream:
            data = stream.read(16 << 20)
    except ValueError as error:  # a null byte in the path
        raise RecordError(f"{path!r}: {error}") from None
    except OSError as error:
        hint = f"; shipped profiles are {', '.join(list_profiles())}" if not os.path.exists(path) else ""
        raise RecordError(f"{path}: {(error.strerror or str(error)).lower()}{hint}") from None
    try:
        return read_record(data)
    except RecordError as error:
        raise RecordError(f"{path}: {error}") from None


def build_node(text: str) -> Node:
    """A node from `NAME [PATH=JSON ...]`: a profile or record, with changes.

    A path is made of field names, positions and `*`; `gpus.7=null` takes the GPU away, from the matrices too.
    """
    words = shlex.split(text)
    if not words:
        raise RecordError("the name of a node is missing")
    node = read_node(words[0])
    if len(words) == 1:
        return node
    from preflight.node.record import flatten

    plain: dict[str, Any] = flatten(node)
    for word in words[1:]:
        path, _, value = word.partition("=")
        try:
            change(plain, path.split("."), json.loads(value))
        except ValueError:
            change(plain, path.split("."), value)
    remove_gpus(plain)
    return restore({**plain, "schema": SCHEMA})


def change(place: Any, path: list[str], value: Any) -> None:
    """Set what a path leads to; `*` stands for every position."""
    first, rest = path[0], path[1:]
    if isinstance(place, list):
        numbers = range(len(place)) if first == "*" else [int(first)]
        for number in numbers:
            if number >= len(place):
                raise RecordError(f"there is no position {number} to change")
            if place[number] is None and first == "*":
                continue
            if rest:
                change(place[number], rest, value)
            else:
                place[number] = value
    elif not rest:
        place[first] = value
    else:
        change(place.setdefault(first, {}), rest, value)


def remove_gpus(plain: dict[str, Any]) -> None:
    """Drop GPUs that were set to null, with their rows and columns; NVML numbers the others anew."""
    gpus: list[Mapping[str, Any] | None] = plain.get("gpus", [])
    kept = [at for at, gpu in enumerate(gpus) if gpu is not None]
    if len(kept) == len(gpus):
        return
    plain["gpus"] = [{**gpus[at], "index": number} for number, at in enumerate(kept)]  # type: ignore[dict-item]
    for name in ("ancestors", "peers"):
        if plain.get(name):
            plain[name] = [[plain[name][a][b] for b in kept] for a in kept]
