"""Binding a recorded command line (until the configuration stage lands)."""

from __future__ import annotations

import argparse
from functools import cache

from preflight.configuration.model import Bound, Configuration
from preflight.execution import Remark
from preflight.facts.sequences import parse_frequency
from preflight.launch.model import Launch
from preflight.targets.table import SUPPRESS, load_table


class Refusal(Exception):
    pass


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Refusal(message)

    def exit(self, status=0, message=None):
        raise Refusal("exit")


def _frequency(text):
    value = parse_frequency(text)
    if value is None:
        raise ValueError(text)
    return value


def _tuple(text):
    return tuple(int(part) for part in text.strip("()").split(","))


TYPES = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    None: None,
    "enum": str,
    "moe_freq_type": _frequency,
    "la_freq_type": _frequency,
    "no_rope_freq_type": _frequency,
    "tuple_type": _tuple,
}


@cache
def build_parser(release):
    table = load_table(release)
    parser = Parser(allow_abbrev=False, add_help=False)
    groups = {}
    for option in table.options:
        target = parser
        if option.group is not None:
            target = groups.setdefault(option.group, None) or parser.add_mutually_exclusive_group()
            groups[option.group] = target
        keys = {"dest": option.destination}
        default = option.default
        if default == SUPPRESS:
            default = argparse.SUPPRESS
        if option.action == "help":
            keys["action"] = "store_true"
        elif option.action == "boolean":
            keys["action"] = argparse.BooleanOptionalAction
            keys["default"] = default
        elif option.action in ("store_true", "store_false"):
            keys["action"] = option.action
            keys["default"] = default
        elif option.action == "store_const":
            keys.update(action="store_const", const=option.const, default=default)
        else:
            keys.update(type=TYPES.get(option.type, str), nargs=option.nargs, default=default)
            if option.choices is not None:
                keys["choices"] = option.choices
            if option.required:
                keys["required"] = True
        strings = (
            option.strings
            if option.action != "boolean"
            else [s for s in option.strings if not s.startswith("--no-")] or option.strings
        )
        target.add_argument(*strings, **keys)
    return parser


def bind_row(launch: Launch, release: str) -> Configuration:
    argv = [word.text.value or "" for word in launch.argv]
    problems = ()
    values = {}
    try:
        namespace, rest = build_parser(release).parse_known_args(argv)
        if rest:
            raise Refusal(f"unrecognized {rest}")
        flags = load_table(release).flags
        placed = {}
        for index, word in enumerate(argv):
            option = flags.get(word.split("=")[0])
            if option is not None:
                end = index + 1
                while end < len(argv) and not argv[end].startswith("--") and option.takes_value:
                    end += 1
                placed[option.destination] = launch.argv[index:end]
        for name, value in vars(namespace).items():
            value = tuple(value) if isinstance(value, list) else value
            values[name] = Bound(
                name, value, "flag" if name in placed else "default", words=placed.get(name, ())
            )
    except Refusal as refusal:
        problems = (Remark("parser-refuses", launch.span, {"text": str(refusal)}),)
    return Configuration(launch, None, release, values, problems, True)
