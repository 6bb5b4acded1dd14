"""Reads a Megatron checkout's command line statically: `preflight targets add PATH`, and the generator.

In: the folder of a checkout (or of an installed package).  Out: a `Table` with the options of its parser, the
entry points it ships with their own options and defaults, and its version.  It needs no torch and imports
nothing of the checkout.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from contextlib import suppress

from preflight.patterns import pattern
from preflight.source import Files
from preflight.targets.definition import interpret
from preflight.targets.modules import Module, Modules
from preflight.targets.objects import Function, Parser
from preflight.targets.program import read_program
from preflight.targets.table import SUPPRESS, Option, Program, Table
from preflight.targets.version import UnreadableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ARGUMENTS = ("megatron.training.arguments", "megatron.arguments")
CHECKPOINTING = ("megatron.training.checkpointing", "megatron.checkpointing")
STARTERS = ("add_megatron_arguments", "parse_args")
WHOLE_FILE = "yaml_cfg"
"""The destination of an option whose file says all the others."""
HELP = Option(("-h", "--help"), "help", "help", default=SUPPRESS)
MEGATRON_START = pattern(rb"\b(pretrain|initialize_megatron|parse_and_validate_args)\s*\(")
PROGRAM_FOLDERS = ("", "examples", "tasks", "tools", "megatron/elastification")
SKIPPED = frozenset({"tests", "test", "docs", "node_modules", "build"})


def read_checkout(folder: str, *, release: str, name: str | None = None) -> Table:
    """The flag table of a checkout."""
    folder = os.path.realpath(folder)
    files = Files(folder, (folder,))
    modules = Modules(files, (folder,), limit=2000)
    parser = read_parser(modules)
    if parser is None:
        looked = " or ".join(text.replace(".", "/") + ".py" for text in ARGUMENTS)
        raise UnreadableError(f"no Megatron argument parser in {folder}: looked for {looked}")
    return Table(
        release,
        parser.options,
        name=name,
        programs=dict(read_programs(folder, modules)),
        checkpoint=read_checkpoint_arguments(modules),
    )


def read_parser(modules: Modules) -> Parser | None:
    """The parser that Megatron's own argument module fills."""
    for dotted in ARGUMENTS:
        module = modules.find(dotted)
        if module is None:
            continue
        for name in STARTERS:
            node = module.names.get(name)
            if not isinstance(node, ast.FunctionDef):
                continue
            starts_empty = bool(node.args.args) and node.args.args[0].arg == "parser"
            parsers = call_parsing(module, node, modules, [Parser()] if starts_empty else [None, None])
            main = max(parsers, key=lambda parser: len(parser.options), default=Parser()).top
            if main.options:
                main.options.insert(0, HELP)
                main.options += read_rewriting(module, modules, main)
                return main
    return None


def call_parsing(module: Module, node: ast.FunctionDef, modules: Modules, given: list[Any]) -> list[Parser]:
    """The parsers that a function makes, or is given and fills."""
    interpreter = interpret(modules)
    with suppress(RecursionError):
        interpreter.call(Function(module, node), given)
    return [*interpreter.parsers]


def read_rewriting(module: Module, modules: Modules, main: Parser) -> Iterator[Option]:
    """The options of a parser that looks first and rewrites the command line from the file that they name.

    Then that file says everything, as with Megatron's own `--yaml-cfg`.
    """
    node = module.names.get("parse_args")
    if not isinstance(node, ast.FunctionDef) or not any(map(sets_command_line, ast.walk(node))):
        return
    known = {text for option in main.options for text in option.strings}
    for parser in call_parsing(module, node, modules, [None, None]):
        if len(parser.options) < len(main.options):
            for option in parser.options:
                if known.isdisjoint(option.strings):
                    yield option._replace(destination=WHOLE_FILE)


def sets_command_line(node: ast.AST) -> bool:
    """Whether a node is `sys.argv = ...`."""
    return isinstance(node, ast.Assign) and any(ast.unparse(target) == "sys.argv" for target in node.targets)


def read_checkpoint_arguments(modules: Modules) -> dict[str, bool | str]:
    """Destinations that `--use-checkpoint-args` sets: True where a given flag is overridden.

    A name stands for a switch that must be given as well; then the given flag is overridden too.
    """
    found: dict[str, bool | str] = {}
    for dotted in CHECKPOINTING:
        module = modules.find(dotted)
        node = module.names.get("load_args_from_checkpoint") if module else None
        if isinstance(node, ast.FunctionDef):
            for name, forced, switch in list_set_arguments(node.body, ""):
                known = found.get(name)
                if switch:
                    found.setdefault(name, switch)
                else:
                    found[name] = forced or known is True
    return found


def list_set_arguments(body: list[ast.stmt], switch: str) -> Iterator[tuple[str, bool, str]]:
    """The `_set_arg` calls of a body: destination, whether forced, and the switch that they depend on."""
    for statement in body:
        if isinstance(statement, ast.If):
            test = re.fullmatch(r"args\.(\w+)", ast.unparse(statement.test))
            yield from list_set_arguments(statement.body, test[1] if test else switch)
            yield from list_set_arguments(statement.orelse, switch)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            name = call.args[0] if call.args else None
            if ast.unparse(call.func) == "_set_arg" and isinstance(name, ast.Constant):
                forced = any(
                    keyword.arg == "force" and getattr(keyword.value, "value", None) is True
                    for keyword in call.keywords
                )
                yield str(name.value), forced, switch


def read_programs(folder: str, modules: Modules) -> Iterator[tuple[str, Program]]:
    """The entry points of a checkout: files that start Megatron, by their path in it."""
    for path in list_programs(folder):
        relative = os.path.relpath(path, folder)
        inside = Modules(modules.files, (os.path.dirname(path), folder), limit=400)
        program = read_program(path, inside, name=relative)
        if program is not None:
            yield relative, program


def list_programs(folder: str) -> Iterator[str]:
    for start in PROGRAM_FOLDERS:
        top = os.path.join(folder, start)
        for current, folders, files in os.walk(top):
            folders[:] = sorted(name for name in folders if name not in SKIPPED and name[0] != ".")
            if not start:
                folders.clear()
            for name in sorted(files):
                path = os.path.join(current, name)
                if name.endswith(".py") and starts_program(path):
                    yield path


def starts_program(path: str) -> bool:
    try:
        with open(path, "rb") as stream:
            data = stream.read(2**20)
    except OSError:
        return False
    return b"__main__" in data and MEGATRON_START.search(data) is not None
