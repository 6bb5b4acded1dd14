"""A real `argparse.ArgumentParser` built from a flag table: the reference that binding is held against."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from preflight.targets.table import SUPPRESS, Option, Table


class RefusedError(Exception):
    pass


class ReferenceParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise RefusedError(message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise RefusedError(f"exit {status}")

    def print_help(self, file: object = None) -> NoReturn:
        raise RefusedError("help")


def read_frequency(text: str) -> Any:
    """Megatron's pattern type, for texts that the tests themselves make."""
    if "[" not in text:
        return int(text)
    if set(text) - set("0123456789,[]()+*"):
        raise ValueError(text)
    return eval(text, {"__builtins__": {}})


def read_tuple(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.strip("()").split(","))


TYPES: dict[str, Any] = {"int": int, "float": float, "bool": bool, "tuple_type": read_tuple}


def build_reference(table: Table) -> argparse.ArgumentParser:
    parser = ReferenceParser(allow_abbrev=False, prog="pretrain_gpt.py")
    groups: dict[int, Any] = {}
    for option in table.options:
        if option.action == "help":
            continue
        owner: Any = parser
        if option.group is not None:
            owner = groups.setdefault(option.group, parser.add_mutually_exclusive_group())
        owner.add_argument(*option_strings(option), **keywords(option))
    return parser


def option_strings(option: Option) -> list[str]:
    if option.action == "boolean":
        return [text for text in option.strings if not text.startswith("--no-")]
    return list(option.strings)


def keywords(option: Option) -> dict[str, Any]:
    given: dict[str, Any] = {"dest": option.destination}
    default = option.default
    given["default"] = argparse.SUPPRESS if default == SUPPRESS else default
    if option.action == "boolean":
        return given | {"action": argparse.BooleanOptionalAction}
    given["action"] = option.action
    if option.action in ("store_true", "store_false", "count"):
        return given
    if option.action in ("store_const", "append_const"):
        return given | {"const": option.const}
    if option.nargs == "?":
        given["const"] = option.const
    given |= {"nargs": option.nargs, "required": option.required}
    if option.type == "names":
        return given | {"choices": option.choices}
    name = option.type or ""
    given["type"] = read_frequency if name.startswith(("moe_freq", "no_rope", "la_freq")) else TYPES.get(name)
    if given["type"] is None:
        del given["type"]
    return given | {"choices": option.choices}
