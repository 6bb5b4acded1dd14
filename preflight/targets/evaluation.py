"""A small static interpreter for code that fills an argument parser.

In: a function of a parsed module.  Out: the `add_argument` calls that running it would make, as `Option`.
It follows assignments, imports, calls of functions that get the parser, and literals; both sides of a
branch that it cannot decide.  It never executes or imports anything, and what it cannot follow is `UNREAD`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from preflight.targets.modules import Binding, Imported, Module, Modules
from preflight.targets.objects import (
    UNREAD,
    Class,
    Enumeration,
    Factory,
    Function,
    Member,
    Outside,
    Parser,
    Unread,
)
from preflight.targets.standard import SIMPLE, TYPES, call_outside, resolve_signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

SEQUENCES = (list, tuple)
"""The real ones, not records that happen to be tuples."""
STEPS, EVALUATIONS = 20_000, 400_000
"""How many statements may run and how many expressions be worked out, all together."""
LENGTH, SIZE = 10_000, 10**18
"""How long a list or text, and how large a number may become."""
DEPTH = 40
"""How deep calls may nest."""


AddOption: TypeAlias = "Callable[[Interpreter, Parser, list[Any], dict[str, Any]], None]"
AddFields = Callable[["Interpreter", Parser, Factory], None]


class Interpreter:
    """Runs functions over a parser. `add_option` and `add_fields` say what a call amounts to."""

    def __init__(self, modules: Modules, add_option: AddOption, add_fields: AddFields) -> None:
        self.modules = modules
        self._add_option = add_option
        self._add_fields = add_fields
        self._depth = 0
        self._steps = 0
        self._evaluations = 0
        self._resolving: set[tuple[str, str]] = set()
        self.parsers: list[Parser] = []

    def call(self, function: Function, arguments: list[Any], keywords: Mapping[str, Any] = {}) -> Any:
        """Run a function with these arguments; missing ones get their default or are unread."""
        if self._depth >= DEPTH:
            return UNREAD
        node = function.node
        scope: dict[str, Any] = {}
        self.parsers += [value for value in arguments if isinstance(value, Parser) and value is value.top]
        positional = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        defaults = dict(zip(positional[::-1], node.args.defaults[::-1], strict=False))
        scope |= dict(zip(positional, arguments, strict=False))
        scope |= keywords
        for name in positional:
            if name not in scope:
                scope[name] = (
                    self.evaluate(defaults[name], function.module, {}) if name in defaults else UNREAD
                )
        if isinstance(node, ast.Lambda):
            return self.evaluate(node.body, function.module, scope)
        self._depth += 1
        try:
            return self._run(node.body, function.module, scope)[1]
        finally:
            self._depth -= 1

    def _run(self, body: list[ast.stmt], module: Module, scope: dict[str, Any]) -> tuple[bool, Any]:
        """Run statements; whether a return was met for sure, and its value."""
        result: Any = None
        for statement in body:
            self._steps += 1
            if self._steps > STEPS:
                return True, UNREAD
            if isinstance(statement, ast.Return):
                value = self.evaluate(statement.value, module, scope) if statement.value else None
                return True, value
            done, value = self._step(statement, module, scope)
            if done:
                return True, value
            result = value if value is not None else result
        return False, result

    def _step(self, statement: ast.stmt, module: Module, scope: dict[str, Any]) -> tuple[bool, Any]:
        match statement:
            case ast.Expr(value=value):
                self.evaluate(value, module, scope)
            case ast.Assign(targets=targets, value=value):
                result = self.evaluate(value, module, scope)
                for target in targets:
                    if isinstance(target, ast.Name):
                        scope[target.id] = result
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                scope[name] = self.evaluate(value, module, scope)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
                before, more = scope.get(name, UNREAD), self.evaluate(value, module, scope)
                both = isinstance(before, list) and type(more) in SEQUENCES
                both = both and len(before) + len(more) < LENGTH
                scope[name] = [*before, *more] if both else UNREAD
            case ast.Import() | ast.ImportFrom():
                for name, imported in module.imports(statement):
                    scope[name] = self.resolve_import(imported)
            case ast.FunctionDef(name=name):
                scope[name] = Function(module, statement)
            case ast.If():
                return self._branch(statement, module, scope)
            case ast.For():
                self._loop(statement, module, scope)
            case ast.With(body=body):
                return self._run(body, module, scope)
            case ast.Try():
                done, value = self._run(statement.body + statement.orelse, module, scope)
                self._run(statement.finalbody, module, scope)
                return done, value
        return False, None

    def _branch(self, statement: ast.If, module: Module, scope: dict[str, Any]) -> tuple[bool, Any]:
        test = self.evaluate(statement.test, module, scope)
        if test is not UNREAD:
            return self._run(statement.body if test else statement.orelse, module, scope)
        first = self._run(statement.body, module, scope)
        second = self._run(statement.orelse, module, scope)
        return first[0] and second[0], first[1] if first[1] is not None else second[1]

    def _loop(self, statement: ast.For, module: Module, scope: dict[str, Any]) -> None:
        items = self.evaluate(statement.iter, module, scope)
        if (type(items) not in SEQUENCES and not isinstance(items, range)) or len(items) > 1000:
            return
        for item in items:
            if isinstance(statement.target, ast.Name):
                scope[statement.target.id] = item
            elif isinstance(statement.target, ast.Tuple) and type(item) in SEQUENCES:
                for target, part in zip(statement.target.elts, item, strict=False):
                    if isinstance(target, ast.Name):
                        scope[target.id] = part
            if self._run(statement.body, module, scope)[0]:
                return

    def evaluate(self, node: ast.AST, module: Module, scope: Mapping[str, Any]) -> Any:
        """The value of an expression, or `UNREAD`."""
        method = getattr(self, f"_evaluate_{type(node).__name__.lower()}", None)
        self._evaluations += 1
        if method is None or self._depth > DEPTH or self._evaluations > EVALUATIONS:
            return UNREAD
        return method(node, module, scope)

    def _evaluate_constant(self, node: ast.Constant, module: Module, scope: Mapping[str, Any]) -> Any:
        return node.value

    def _evaluate_name(self, node: ast.Name, module: Module, scope: Mapping[str, Any]) -> Any:
        if node.id in scope:
            return scope[node.id]
        return self.resolve(module, node.id)

    def resolve(self, module: Module, name: str) -> Any:
        """What a top-level name of a module stands for."""
        binding = module.names.get(name)
        if binding is None:
            for star in module.stars:
                origin = self.modules.find(star)
                if origin is not None and (name in origin.names or origin.stars):
                    found = self.resolve(origin, name)
                    if not isinstance(found, (Outside, Unread)):
                        return found
            return Outside(name) if name in SIMPLE or name in TYPES else UNREAD
        key = (module.path, name)
        if key in self._resolving:
            return UNREAD
        self._resolving.add(key)
        try:
            return self._bound(binding, module)
        finally:
            self._resolving.discard(key)

    def _bound(self, binding: Binding, module: Module) -> Any:
        if isinstance(binding, Imported):
            return self.resolve_import(binding)
        if isinstance(binding, (ast.FunctionDef, ast.Lambda)):
            return Function(module, binding)
        if isinstance(binding, ast.ClassDef):
            return self._class(Class(module, binding))
        return self.evaluate(binding, module, {})

    def _class(self, source: Class) -> Any:
        bases = {ast.unparse(base).rpartition(".")[2] for base in source.node.bases}
        if not bases & {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}:
            return source
        members: dict[str, Any] = {}
        for statement in source.node.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                value = self.evaluate(statement.value, source.module, {})
                members[statement.targets[0].id] = None if value is UNREAD else value
        return Enumeration(source.node.name, {key: value for key, value in members.items() if key[0] != "_"})

    def resolve_import(self, imported: Imported) -> Any:
        """What an import binds: something of a module that can be read, or a name outside."""
        if imported.module == "signal":
            return resolve_signal(imported.name)
        if imported.name is None:
            return Outside(imported.module)
        module = self.modules.find(imported.module)
        if module is None:
            submodule = self.modules.find(f"{imported.module}.{imported.name}")
            return submodule or Outside(f"{imported.module}.{imported.name}")
        if imported.name in module.names or module.stars:
            return self.resolve(module, imported.name)
        return self.modules.find(f"{imported.module}.{imported.name}") or UNREAD

    def _evaluate_attribute(self, node: ast.Attribute, module: Module, scope: Mapping[str, Any]) -> Any:
        value = self.evaluate(node.value, module, scope)
        if isinstance(value, Enumeration):
            return Member(value, node.attr) if node.attr in value.members else UNREAD
        if isinstance(value, Member):
            return {"name": value.name, "value": value.value}.get(node.attr, UNREAD)
        if isinstance(value, Module):
            return self.resolve(value, node.attr)
        if isinstance(value, Outside):
            if value.name == "signal":
                return resolve_signal(node.attr)
            inside = self.modules.find(value.name)
            if inside is not None:
                return self.resolve(inside, node.attr)
            return Outside(f"{value.name}.{node.attr}")
        return UNREAD

    def _evaluate_list(self, node: ast.List, module: Module, scope: Mapping[str, Any]) -> Any:
        items: list[Any] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                more = self.evaluate(element.value, module, scope)
                if type(more) not in SEQUENCES:
                    return UNREAD
                items += more
            else:
                items.append(self.evaluate(element, module, scope))
        return UNREAD if any(item is UNREAD for item in items) else items

    def _evaluate_tuple(self, node: ast.Tuple, module: Module, scope: Mapping[str, Any]) -> Any:
        items = [self.evaluate(element, module, scope) for element in node.elts]
        return UNREAD if any(item is UNREAD for item in items) else tuple(items)

    def _evaluate_dict(self, node: ast.Dict, module: Module, scope: Mapping[str, Any]) -> Any:
        result: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                more = self.evaluate(value, module, scope)
                if not isinstance(more, dict):
                    return UNREAD
                result |= more
                continue
            name = self.evaluate(key, module, scope)
            if name is UNREAD or isinstance(name, (list, dict)):
                return UNREAD
            result[name] = self.evaluate(value, module, scope)
        return result

    def _evaluate_ifexp(self, node: ast.IfExp, module: Module, scope: Mapping[str, Any]) -> Any:
        test = self.evaluate(node.test, module, scope)
        if test is not UNREAD:
            return self.evaluate(node.body if test else node.orelse, module, scope)
        value = self.evaluate(node.body, module, scope)
        return value if isinstance(value, Function) else UNREAD

    def _evaluate_unaryop(self, node: ast.UnaryOp, module: Module, scope: Mapping[str, Any]) -> Any:
        value = self.evaluate(node.operand, module, scope)
        if isinstance(node.op, ast.USub) and isinstance(value, (int, float)):
            return -value
        if isinstance(node.op, ast.Not) and value is not UNREAD and not isinstance(value, Outside):
            return not value
        return UNREAD

    def _evaluate_binop(self, node: ast.BinOp, module: Module, scope: Mapping[str, Any]) -> Any:
        left = self.evaluate(node.left, module, scope)
        right = self.evaluate(node.right, module, scope)
        if isinstance(node.op, ast.Add) and type(left) is type(right) and type(left) in (list, tuple, str):
            return left + right if len(left) + len(right) < LENGTH else UNREAD
        if not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
            return UNREAD
        if abs(left) > SIZE or abs(right) > SIZE:
            return UNREAD
        try:
            match node.op:
                case ast.Add():
                    return left + right
                case ast.Sub():
                    return left - right
                case ast.Mult():
                    return left * right
                case ast.Div():
                    return left / right
                case ast.FloorDiv():
                    return left // right
                case ast.Pow() if abs(right) <= 64 and abs(left) <= 1024:
                    return left**right
        except (ArithmeticError, ValueError):
            return UNREAD
        return UNREAD

    def _evaluate_compare(self, node: ast.Compare, module: Module, scope: Mapping[str, Any]) -> Any:
        if len(node.ops) != 1:
            return UNREAD
        left = self.evaluate(node.left, module, scope)
        right = self.evaluate(node.comparators[0], module, scope)
        if left is UNREAD or right is UNREAD or isinstance(left, Outside) or isinstance(right, Outside):
            return UNREAD
        match node.ops[0]:
            case ast.Is() | ast.Eq():
                return left is right if left is None or right is None else left == right
            case ast.IsNot() | ast.NotEq():
                return left is not right if left is None or right is None else left != right
        return UNREAD

    def _evaluate_joinedstr(self, node: ast.JoinedStr, module: Module, scope: Mapping[str, Any]) -> Any:
        parts: list[str] = []
        for value in node.values:
            inner = value.value if isinstance(value, ast.FormattedValue) else value
            part = self.evaluate(inner, module, scope)
            if not isinstance(part, (str, int)):
                return UNREAD
            parts.append(str(part))
        text = "".join(parts)
        return text if len(text) < LENGTH else UNREAD

    def _evaluate_lambda(self, node: ast.Lambda, module: Module, scope: Mapping[str, Any]) -> Any:
        return Function(module, node)

    def _evaluate_subscript(self, node: ast.Subscript, module: Module, scope: Mapping[str, Any]) -> Any:
        value, key = (
            self.evaluate(node.value, module, scope),
            self.evaluate(node.slice, module, scope),
        )
        if isinstance(value, Enumeration) and isinstance(key, str):
            return Member(value, key) if key in value.members else UNREAD
        try:
            return value[key] if type(value) in (list, tuple, dict) and key is not UNREAD else UNREAD
        except (LookupError, TypeError):
            return UNREAD

    def _evaluate_listcomp(
        self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, module: Module, scope: Mapping[str, Any]
    ) -> Any:
        generator = node.generators[0]
        items = self.evaluate(generator.iter, module, scope)
        if isinstance(items, Enumeration):
            items = [Member(items, name) for name in items.members]
        simple = len(node.generators) == 1 and isinstance(generator.target, ast.Name) and not generator.ifs
        if not simple or (type(items) not in SEQUENCES and not isinstance(items, range)) or len(items) > 1000:
            return UNREAD
        assert isinstance(generator.target, ast.Name)
        name = generator.target.id
        results = [self.evaluate(node.elt, module, {**scope, name: item}) for item in items]
        return UNREAD if any(result is UNREAD for result in results) else results

    _evaluate_generatorexp = _evaluate_listcomp
    _evaluate_setcomp = _evaluate_listcomp

    def _evaluate_call(self, node: ast.Call, module: Module, scope: Mapping[str, Any]) -> Any:
        keywords = {
            keyword.arg: self.evaluate(keyword.value, module, scope)
            for keyword in node.keywords
            if keyword.arg is not None and keyword.arg != "help"
        }
        for keyword in node.keywords:
            if keyword.arg is None:
                spread = self.evaluate(keyword.value, module, scope)
                keywords |= spread if isinstance(spread, dict) else {"**": UNREAD}
        arguments = [self.evaluate(argument, module, scope) for argument in node.args]
        if isinstance(node.func, ast.Attribute):
            owner = self.evaluate(node.func.value, module, scope)
            if isinstance(owner, (Parser, Factory, list)):
                return self._call_method(owner, node.func.attr, arguments, keywords)
        function = self.evaluate(node.func, module, scope)
        parsers = [value for value in (*arguments, *keywords.values()) if isinstance(value, Parser)]
        if isinstance(function, Function):
            return self.call(function, arguments, keywords)
        if isinstance(function, Class):
            return self._construct(function, arguments, keywords)
        if parsers:
            parsers[0].top.complete = False
            return parsers[0]
        if isinstance(function, Outside):
            result = call_outside(function.name, arguments, keywords)
            if isinstance(result, Parser):
                self.parsers.append(result)
            return result
        return UNREAD

    def _call_method(
        self, owner: Parser | Factory | list[Any], name: str, arguments: list[Any], keywords: dict[str, Any]
    ) -> Any:
        if isinstance(owner, Factory):
            parser = next(
                (value for value in (*arguments, *keywords.values()) if isinstance(value, Parser)), None
            )
            if name == "build_group" and parser is not None:
                self._add_fields(self, parser, owner)
                return Parser(parser.top, parser.group)
            return UNREAD
        if isinstance(owner, list):
            if name in ("append", "extend") and len(arguments) == 1 and arguments[0] is not UNREAD:
                owner += arguments[0] if name == "extend" and isinstance(arguments[0], list) else arguments
            return None
        if name == "add_argument":
            self._add_option(self, owner, arguments, keywords)
            return UNREAD
        if name == "add_argument_group":
            return Parser(owner.top)
        if name == "add_mutually_exclusive_group":
            owner.top.groups += 1
            return Parser(owner.top, owner.top.groups)
        if name in ("add_subparsers", "set_defaults"):
            owner.top.complete = False
        return UNREAD

    def _construct(self, source: Class, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """Only factories of option groups are of interest."""
        if not any(
            isinstance(statement, ast.FunctionDef) and statement.name == "build_group"
            for ancestor in self.ancestors(source)
            for statement in ancestor.node.body
        ):
            return UNREAD
        subject = arguments[0] if arguments else keywords.get("src_cfg_class")
        excluded = arguments[1] if len(arguments) > 1 else keywords.get("exclude", [])
        if not isinstance(subject, Class):
            return UNREAD
        names = excluded if type(excluded) in SEQUENCES else []
        return Factory(subject, frozenset(name for name in names if isinstance(name, str)))

    def ancestors(self, source: Class) -> list[Class]:
        """A class and the classes that it inherits from, nearest first, as far as they can be read."""
        found: list[Class] = []
        queue = [source]
        while queue and len(found) < 50:
            current = queue.pop(0)
            found.append(current)
            for base in current.node.bases:
                value = self.evaluate(base, current.module, {})
                if isinstance(value, Class) and value not in found:
                    queue.append(value)
        return found
