"""The options and defaults that an entry point adds to Megatron's own.

In: the file of a program and the folders that its imports start in.  Out: a `Program`.  Where the call that
starts Megatron names its `extra_args_provider`, that function is followed; else every `add_argument` of the
program and of the modules it imports beside it counts, and the program is not complete.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

from preflight.targets.definition import add_option, interpret, plain
from preflight.targets.evaluation import Interpreter
from preflight.targets.modules import Imported, Module, Modules
from preflight.targets.objects import UNREAD, Function, Parser
from preflight.targets.table import Program, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STARTERS = frozenset(
    {
        "pretrain",
        "initialize_megatron",
        "parse_args",
        "parse_and_validate_args",
        "setup_initial_training_state",
    }
)
PROVIDER_PLACE = {"parse_args": 0, "parse_and_validate_args": 0, "initialize_megatron": 0, "pretrain": 5}
"""Where these functions of Megatron take the provider when it is not named."""
TRAINING_WORDS = (b"pretrain(", b"train_step(", b"_train(", b"finetune(", b".backward(")
"""What a module that trains speaks of."""
CORE_PACKAGES = ("megatron.core", "megatron.training", "megatron.legacy")
FILES, DEPTH, OPTIONS = 40, 4, 5000


def read_program(path: str, modules: Modules, *, name: str | None = None) -> Program | None:
    """What a program adds, or None where it cannot be read."""
    try:
        return follow_program(path, modules, name)
    except RecursionError:
        return None


def follow_program(path: str, modules: Modules, name: str | None) -> Program | None:
    module = modules.parse(path, "")
    if module is None:
        return None
    interpreter = interpret(modules)
    calls = [
        node
        for node in module.telling
        if isinstance(node, ast.Call) and called_name(node) in STARTERS and starts_megatron(node, module)
    ]
    parser, followed = Parser(), bool(calls)
    defaults: dict[str, Value] = {}
    for call in calls:
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        place = PROVIDER_PLACE.get(called_name(call))
        if place is not None and place < len(call.args):
            keywords.setdefault("extra_args_provider", call.args[place])
        followed &= follow_provider(interpreter, module, keywords.get("extra_args_provider"), parser)
        given = (
            interpreter.evaluate(keywords["args_defaults"], module, {}) if "args_defaults" in keywords else {}
        )
        if isinstance(given, dict):
            defaults |= read_defaults(given)
        else:
            followed = False
    if not followed:
        known = {text for option in parser.options for text in option.strings}
        found = collect_options(module, modules, interpreter)
        parser.options += [option for option in found if known.isdisjoint(option.strings)]
    return Program(
        name or os.path.basename(path),
        tuple(parser.options),
        defaults,
        followed and parser.complete,
        says_whether_it_trains(calls, module, modules),
        frozenset(list_rewritten(module)),
    )


def list_rewritten(module: Module) -> Iterator[str]:
    """The settings that a program's own code sets (`args.num_layers = config.num_hidden_layers`)."""
    for node in module.telling:
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id.endswith("args")
        ):
            yield node.attr


def says_whether_it_trains(calls: list[ast.Call], module: Module, modules: Modules) -> bool | None:
    """True for a program that calls `pretrain`; False for one that only sets Megatron up, and nothing else trains."""
    names = {called_name(call) for call in calls}
    if "pretrain" in names:
        return True
    beside = [path for dotted in list_imports(module) if (path := modules.locate(dotted)) is not None]
    outside = [path for path in beside if "/megatron/" not in path]
    if not names or any(modules.holds(path, word) for path in outside for word in TRAINING_WORDS):
        return None
    return False


def called_name(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def starts_megatron(node: ast.Call, module: Module) -> bool:
    """Whether the called name comes from Megatron (a program's own `parse_args` says nothing)."""
    name = called_name(node)
    if name in ("pretrain", "initialize_megatron", "parse_and_validate_args"):
        return True
    binding = module.names.get(name)
    return isinstance(binding, Imported) and binding.module.startswith("megatron.")


def follow_provider(interpreter: Interpreter, module: Module, node: ast.expr | None, parser: Parser) -> bool:
    """Run the function that adds options; False where it cannot be followed."""
    if node is None:
        return True
    provider = interpreter.evaluate(node, module, {})
    if provider is None:
        return True
    if not isinstance(provider, Function):
        return False
    interpreter.call(provider, [parser])
    return True


def read_defaults(given: dict[Any, Any]) -> dict[str, Value]:
    """The readable part of an `args_defaults` dictionary."""
    defaults: dict[str, Value] = {}
    for key, value in given.items():
        simple, sure = plain(value) if value is not UNREAD else (None, False)
        if isinstance(key, str) and sure:
            defaults[key] = simple
    return defaults


def collect_options(program: Module, modules: Modules, interpreter: Interpreter) -> list[Any]:
    """Every `add_argument` of a program and of the modules that it imports, Megatron's own left out."""
    parser, seen, queue = Parser(), {program.path}, [(program, 0)]
    while queue and len(seen) <= FILES:
        module, depth = queue.pop(0)
        for node in module.telling:
            if len(parser.options) >= OPTIONS:
                break
            if isinstance(node, ast.Call) and called_name(node) == "add_argument":
                arguments = [interpreter.evaluate(argument, module, {}) for argument in node.args]
                keywords = {
                    keyword.arg or "**": interpreter.evaluate(keyword.value, module, {})
                    for keyword in node.keywords
                    if keyword.arg != "help"
                }
                add_option(interpreter, parser, arguments, keywords)
        if depth < DEPTH:
            for dotted in list_imports(module):
                path = modules.locate(dotted)
                if path is None or path in seen or dotted.startswith(CORE_PACKAGES):
                    continue
                seen.add(path)
                if depth > 0 and not modules.holds(path, b"add_argument"):
                    continue
                imported = modules.parse(path, dotted)
                if imported is not None:
                    queue.append((imported, depth + 1))
    return parser.options


def list_imports(module: Module) -> list[str]:
    """The modules that a module imports anywhere, those with a name that says arguments first."""
    found: dict[str, None] = {}
    for node in module.telling:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for _, imported in module.imports(node):
                found[imported.module] = None
                if imported.name and imported.name != "*":
                    found[f"{imported.module}.{imported.name}"] = None
    return sorted(found, key=lambda dotted: "arg" not in dotted)
