"""From an `add_argument` call, or a dataclass field, to an `Option`.

In: evaluated arguments of the call, or a class whose fields a factory turns into options (as Megatron does
from core 0.16 on).  Out: options appended to the parser.  What the call leaves unclear makes an option
unsure: its flag is known, its values are not judged.
"""

from __future__ import annotations

import ast

from preflight.targets.evaluation import Interpreter
from preflight.targets.modules import Modules
from preflight.targets.objects import (
    UNREAD,
    Class,
    Enumeration,
    Factory,
    Function,
    Member,
    Outside,
    Parser,
)
from preflight.targets.table import SUPPRESS, Option, Value, derive_destination

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ACTIONS = {
    "store": "store",
    "store_true": "store_true",
    "store_false": "store_false",
    "store_const": "store_const",
    "append": "append",
    "append_const": "append_const",
    "extend": "extend",
    "count": "count",
    "help": "help",
    "version": "version",
}
OUTSIDE_NARGS = {"argparse.REMAINDER": "...", "argparse.OPTIONAL": "?", "argparse.ZERO_OR_MORE": "*"}
OUTSIDE_NARGS |= {"argparse.ONE_OR_MORE": "+"}


def interpret(modules: Modules) -> Interpreter:
    """An interpreter that fills parsers with options."""
    return Interpreter(modules, add_option, add_fields)


def add_option(interpreter: Interpreter, parser: Parser, strings: list[Any], given: dict[str, Any]) -> None:
    """What one `add_argument` call adds."""
    names = tuple(text for text in strings if isinstance(text, str) and text)
    if not names or len(names) != len(strings) or "**" in given:
        parser.top.complete = False
        if not names:
            return
    option = define_option(interpreter, names, given, parser.group)
    if not option.positional:
        parser.top.options.append(option)


def define_option(
    interpreter: Interpreter, names: tuple[str, ...], given: dict[str, Any], group: int | None
) -> Option:
    """The option that these keyword arguments describe."""
    unsure = "**" in given or given.get("deprecated") is UNREAD
    action, type_name, nargs = given.get("action", "store"), given.get("type"), given.get("nargs")
    if isinstance(action, Outside) and action.name.endswith("BooleanOptionalAction"):
        kind, type_name = "boolean", None
        names = (*names, *(f"--no-{text[2:]}" for text in names if text.startswith("--")))
    elif isinstance(action, str) and action in ACTIONS:
        kind = ACTIONS[action]
    else:
        kind, unsure = "store", True
        nargs = nargs if nargs is not None else "*"
    if kind not in ("store", "append", "extend"):
        type_name, nargs = None, None
    converter, known = name_type(type_name)
    choices, fine = list_choices(given.get("choices"))
    if isinstance(type_name, Function) and choices is None:
        names_taken = list_names(interpreter, type_name)
        if names_taken:
            converter, known, choices = "names", True, names_taken
    if isinstance(nargs, Outside):
        nargs = OUTSIDE_NARGS.get(nargs.name, UNREAD)
    if nargs is UNREAD:
        nargs, unsure = "*", True
    default, sure = plain(given.get("default", {"store_true": False, "store_false": True}.get(kind)))
    const, _ = plain(given.get("const"))
    destination = given.get("dest")
    return Option(
        names,
        destination if isinstance(destination, str) else derive_destination(names),
        kind,
        converter,
        nargs if isinstance(nargs, (int, str)) else None,
        choices,
        default,
        const,
        given.get("required") is True,
        group,
        unsure or not known or not fine or not sure,
    )


def name_type(value: Any) -> tuple[str | None, bool]:
    """The name of a conversion, and whether it is one that can be followed.

    A lambda or function whose result is a member of an enum is `enum`: choices then say what is accepted.
    """
    if value is None:
        return None, True
    if isinstance(value, Outside):
        name = value.name.rpartition(".")[2]
        return (None if name == "str" else name), name in ("int", "float", "str", "bool")
    if isinstance(value, Enumeration):
        return "enum", True
    if isinstance(value, Function):
        if isinstance(value.node, ast.Lambda):
            body = value.node.body
            return ("enum", True) if isinstance(body, ast.Subscript) else ("lambda", False)
        name = value.node.name
        if name.endswith("freq_type") and "_eval_pattern" not in value.module.names:
            name = f"{name}:free"
        return name, True
    return "unread", False


def list_names(interpreter: Interpreter, function: Function) -> tuple[str, ...]:
    """The texts that a conversion such as `lambda text: Scope[text] if text != "full" else text` takes."""
    parameters = {argument.arg for argument in function.node.args.args}
    found: dict[str, None] = {}
    for node in ast.walk(function.node):
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Name)
            and node.slice.id in parameters
        ):
            value = interpreter.evaluate(node.value, function.module, {})
            if isinstance(value, Enumeration):
                found |= dict.fromkeys(value.members)
    if not found:
        return ()
    for node in ast.walk(function.node):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and node.left.id in parameters:
            for constant in ast.walk(node.comparators[0]):
                if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                    found[constant.value] = None
    return tuple(found)


def list_choices(value: Any) -> tuple[tuple[Value, ...] | None, bool]:
    """Choices as plain values; members of an enum by their names."""
    if value is None:
        return None, True
    if isinstance(value, Enumeration):
        return tuple(value.members), True
    if type(value) not in (list, tuple, range, frozenset, dict):
        return None, False
    items = [plain(item) for item in value]
    return tuple(item for item, _ in items), all(sure for _, sure in items)


def plain(value: Any) -> tuple[Value, bool]:
    """A value that a table can hold, and whether it is the real one."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value, True
    if isinstance(value, Member):
        return value.name, True
    if type(value) in (list, tuple):
        items = [plain(item) for item in value]
        return tuple(item for item, _ in items), all(sure for _, sure in items)
    if isinstance(value, Outside):
        if value.name in ("argparse.SUPPRESS", "SUPPRESS"):
            return SUPPRESS, True
        if value.name.startswith("torch."):
            return value.name, True
    return None, False


def add_fields(interpreter: Interpreter, parser: Parser, factory: Factory) -> None:
    """The options that a factory makes of a dataclass's fields."""
    for name, (source, statement) in list_fields(interpreter, factory.source).items():
        if name in factory.excluded:
            continue
        given = define_field(interpreter, source, name, statement)
        if given is None:
            continue
        strings = given.pop("arg_names")
        add_option(interpreter, parser, strings if isinstance(strings, list) else [strings], given)


def list_fields(interpreter: Interpreter, source: Class) -> dict[str, tuple[Class, ast.AnnAssign]]:
    """The fields of a dataclass in the order that the standard library gives them: bases first."""
    fields: dict[str, tuple[Class, ast.AnnAssign]] = {}
    for ancestor in reversed(interpreter.ancestors(source)):
        for statement in ancestor.node.body:
            if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
                continue
            if "ClassVar" not in ast.unparse(statement.annotation):
                fields[statement.target.id] = (ancestor, statement)
    return fields


def define_field(
    interpreter: Interpreter, source: Class, name: str, statement: ast.AnnAssign
) -> dict[str, Any] | None:
    """The `add_argument` arguments of one field, or None where it makes no option."""
    default, overrides, init = read_default(interpreter, source, statement.value)
    if init is False:
        return None
    annotation = describe_annotation(interpreter, source, statement.annotation)
    flag = "--" + name.replace("_", "-")
    given: dict[str, Any] = {"arg_names": [flag], "dest": name, "default": default}
    if annotation is None:
        if overrides is None:
            given["type"] = UNREAD
    elif (
        isinstance(annotation.get("type"), Outside)
        and annotation["type"].name == "bool"
        and "nargs" not in annotation
    ):
        given["action"] = "store_false" if default else "store_true"
        if default:
            bare = name.replace("_", "-")
            given["arg_names"] = [f"--no-{bare}", f"--disable-{bare}"]
    else:
        given |= annotation
    return given | (overrides or {})


def read_default(
    interpreter: Interpreter, source: Class, value: ast.expr | None
) -> tuple[Any, dict[str, Any] | None, Any]:
    """A field's default, the parser arguments in its metadata, and its `init`."""
    if value is None:
        return UNREAD, None, True
    if not (isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] == "field"):
        return interpreter.evaluate(value, source.module, {}), None, True
    keywords = {keyword.arg: keyword.value for keyword in value.keywords}
    default: Any = UNREAD
    if "default" in keywords:
        default = interpreter.evaluate(keywords["default"], source.module, {})
    elif "default_factory" in keywords:
        default = read_factory(interpreter, source, keywords["default_factory"])
    init = interpreter.evaluate(keywords["init"], source.module, {}) if "init" in keywords else True
    metadata = (
        interpreter.evaluate(keywords["metadata"], source.module, {}) if "metadata" in keywords else None
    )
    overrides = metadata.get("argparse_meta") if isinstance(metadata, dict) else None
    return default, dict(overrides) if isinstance(overrides, dict) else None, init


def read_factory(interpreter: Interpreter, source: Class, node: ast.expr) -> Any:
    """What a default factory returns."""
    factory = interpreter.evaluate(node, source.module, {})
    if isinstance(factory, Function):
        return interpreter.call(factory, [])
    if isinstance(factory, Outside) and factory.name in ("list", "tuple"):
        return []
    return {} if isinstance(factory, Outside) and factory.name == "dict" else UNREAD


def describe_annotation(interpreter: Interpreter, source: Class, node: ast.expr) -> dict[str, Any] | None:
    """Type, number of values and choices that an annotation implies; None for one that argparse has no word for."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return describe_annotation(interpreter, source, ast.parse(node.value, mode="eval").body)
        except SyntaxError:
            return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        if isinstance(node.right, ast.Constant) and node.right.value is None:
            return describe_annotation(interpreter, source, node.left)
        return None
    if isinstance(node, ast.Subscript):
        return describe_generic(interpreter, source, ast.unparse(node.value).rpartition(".")[2], node.slice)
    value = interpreter.evaluate(node, source.module, {})
    if isinstance(value, Enumeration):
        return {"type": value, "choices": value}
    return {"type": value}


def describe_generic(
    interpreter: Interpreter, source: Class, name: str, inner: ast.expr
) -> dict[str, Any] | None:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name == "Optional":
        return describe_annotation(interpreter, source, inner)
    if name == "Union":
        none_last = len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is None
        return describe_annotation(interpreter, source, parts[0]) if none_last else None
    if name in ("list", "List"):
        element = describe_annotation(interpreter, source, parts[0]) if len(parts) == 1 else None
        return None if element is None else element | {"nargs": "+"}
    if name == "Literal":
        choices = [interpreter.evaluate(part, source.module, {}) for part in parts]
        if not choices or any(choice is UNREAD for choice in choices):
            return None
        return {"type": Outside(type(choices[0]).__name__), "choices": choices}
    return None
