"""Functions of Python and its standard library that are modelled.

In: a dotted name and the arguments of a call.  Out: the value, or None for a function that is not modelled.
Nothing of the real function runs except on known plain values, and only where it has no effects.
"""

from __future__ import annotations

import libcst as cst

from preflight.python import (
    calls,
    containers,
    conversions,
    expressions,
    notations,
    options,
    patterns,
    reflection,
    runs,
    system,
)
from preflight.python.objects import (
    Application,
    Arguments,
    Bound,
    Class,
    Function,
    Parser,
    Sequence,
    String,
    Value,
)
from preflight.python.registry import FUNCTIONS, Handler, first, scalar
from preflight.python.scope import Frame

FAMILIES = (containers, conversions, notations, patterns, reflection, system)
"""Modules whose handlers are in the table once they are imported."""


def call(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    """What a function of a library gives."""
    if runs.is_runner(name):
        return runs.start(name, given, node, frame)
    handler = FUNCTIONS.get(name)
    if handler is None:
        handler = _by_ending(name)
    if handler is None:
        return None
    found = handler(name, given, node, frame)
    if found is not None:
        return found
    return expressions.unknown(node, frame, *(e.value for e in given.positional))


def _by_ending(name: str) -> Handler | None:
    top, _, short = name.rpartition(".")
    if short == "ArgumentParser":
        return _parser
    if short in ("Option", "Argument") and "typer" in top:
        return _typer_option
    if name.startswith(("logging.", "logger.")) and short != "getLogger":
        return system.nothing
    if short in ("Typer",):
        return _application
    if name in ("typer.run", "fire.Fire", "Fire", "tyro.cli", "defopt.run", "draccus.wrap"):
        return _command
    if short in ("Path", "PosixPath", "PurePath", "PurePosixPath") and top in ("pathlib", ""):
        return system.make_path
    if short == "device_count":
        return system.node_value
    return None


def _parser(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    result = Parser()
    parents = given.get("parents")
    if isinstance(parents, Sequence):
        for element in parents.elements:
            if isinstance(element.value, Parser):
                result.options.update(element.value.options)
            else:
                result.open = True
    return result


def _application(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    return Application()


def _typer_option(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    default = given.get("default", 0)
    if isinstance(default, String) and (default.text.value or "").startswith("-"):
        default = given.get("default")
    return default if default is not None else scalar(..., given)


def _command(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    target = first(given)
    empty = Arguments((), {}, None, None, given.span)
    if isinstance(target, Function):
        return options.run_command(target, empty, node, frame)
    if isinstance(target, Class):
        return options.command_instance(target, node, frame)
    if isinstance(target, (Bound, Application)):
        return calls.call(target, empty, node, frame)
    return None
