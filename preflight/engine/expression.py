"""The expression language of rules: reading and type-checking.

In: the text of an expression (a subset of Python, read with `ast`) and the types of the names that it may use.
Out: a tree of plain tuples, which `evaluate` runs.  It refuses, with the column, every construct
outside the subset, unknown names and functions, and operands whose types do not fit.

Types are "int", "float", "bool", "str", "version", "any", and "list[...]" of these; every value may also be None.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from preflight.engine.functions import FUNCTIONS
from preflight.engine.tree import ExpressionError, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
GREATEST_EXPONENT = 64
NUMBERS = ("int", "float")


def parse_expression(text: str, types: Mapping[str, str]) -> tuple[Tree, str]:
    """Read an expression; returns its tree and its type."""
    try:
        # Parentheses let an expression run over several lines.
        body = ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        column = (getattr(error, "offset", None) or 2) - 2
        raise ExpressionError(getattr(error, "msg", None) or "too complicated", max(column, 0)) from None
    return _Reader(types).read(body)


def parse_condition(text: str, types: Mapping[str, str]) -> Tree:
    """Read an expression that must be true or false."""
    tree, kind = parse_expression(text, types)
    if kind not in ("bool", "any"):
        raise ExpressionError(f"a condition must be true or false, this is of type {kind}")
    return tree


class _Reader:
    def __init__(self, types: Mapping[str, str]) -> None:
        self.types = types
        self.bound: dict[str, str] = {}

    def read(self, node: ast.expr) -> tuple[Tree, str]:
        method: Callable[[Any], tuple[Tree, str]] | None = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            raise self.error(node, f"{type(node).__name__.lower()} is not part of the expression language")
        return method(node)

    @staticmethod
    def error(node: ast.AST, message: str) -> ExpressionError:
        return ExpressionError(message, max(getattr(node, "col_offset", 1) - 1, 0))

    def truth(self, node: ast.expr) -> Tree:
        tree, kind = self.read(node)
        if kind not in ("bool", "any", "none"):
            raise self.error(node, f"true or false is asked here, this is of type {kind}; compare it")
        return tree

    def number(self, node: ast.expr) -> tuple[Tree, str]:
        tree, kind = self.read(node)
        if kind not in (*NUMBERS, "any"):
            raise self.error(node, f"a number is asked here, this is of type {kind}")
        return tree, kind

    def _Constant(self, node: ast.Constant) -> tuple[Tree, str]:
        if node.value is None:
            return ("constant", None), "none"
        kind = type(node.value).__name__
        if kind not in ("int", "float", "bool", "str"):
            raise self.error(node, f"a {kind} is not part of the expression language")
        if isinstance(node.value, int) and node.value.bit_length() > 64:
            raise self.error(node, "the number is too large")
        return ("constant", node.value), kind

    def _Name(self, node: ast.Name) -> tuple[Tree, str]:
        kind = self.bound.get(node.id) or self.types.get(node.id)
        if kind is None:
            raise self.error(node, f"there is no fact named {node.id!r}{suggest(node.id, self.types)}")
        return ("name", node.id), kind

    def _BoolOp(self, node: ast.BoolOp) -> tuple[Tree, str]:
        word = "and" if isinstance(node.op, ast.And) else "or"
        return (word, tuple([self.truth(value) for value in node.values])), "bool"

    def _UnaryOp(self, node: ast.UnaryOp) -> tuple[Tree, str]:
        if isinstance(node.op, ast.Not):
            return ("not", self.truth(node.operand)), "bool"
        if not isinstance(node.op, ast.USub):
            raise self.error(node, "this operator is not part of the expression language")
        tree, kind = self.number(node.operand)
        return ("negative", tree), kind

    def _BinOp(self, node: ast.BinOp) -> tuple[Tree, str]:
        operator = OPERATORS.get(type(node.op))
        if operator is None:
            raise self.error(node, "this operator is not part of the expression language")
        if operator == "**" and not self.is_small(node.right):
            raise self.error(node, f"an exponent must be a literal number up to {GREATEST_EXPONENT}")
        (left, first), (right, second) = self.number(node.left), self.number(node.right)
        kind = (
            "float" if operator == "/" or "float" in (first, second) else first if first == second else "any"
        )
        return ("binary", operator, left, right), kind

    @staticmethod
    def is_small(node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value <= GREATEST_EXPONENT
        )

    def _Compare(self, node: ast.Compare) -> tuple[Tree, str]:
        left, kind = self.read(node.left)
        links: list[tuple[str, Tree]] = []
        for operator, part in zip(node.ops, node.comparators, strict=True):
            word = OPERATORS[type(operator)]
            right, other = self.read(part)
            self.check_comparison(part, word, kind, other)
            links.append((word, right))
            kind = other
        return ("compare", left, tuple(links)), "bool"

    def check_comparison(self, node: ast.expr, operator: str, left: str, right: str) -> None:
        if operator in ("is", "is not"):
            if right != "none":
                raise self.error(node, f"'{operator}' compares with None only; use '=='")
        elif operator in ("in", "not in"):
            self.check_membership(node, left, right)
        elif not fits(left, right):
            raise self.error(node, f"{left} and {right} cannot be compared")
        elif operator not in ("==", "!=") and "bool" in (left, right):
            raise self.error(node, "true and false have no order")

    def check_membership(self, node: ast.expr, left: str, right: str) -> None:
        if right not in ("any", "str") and not right.startswith("list["):
            raise self.error(node, f"'in' asks for a list or text, this is of type {right}")
        if right.startswith("list[") and not fits(left, right[5:-1]):
            raise self.error(node, f"a {right} never holds a value of type {left}")
        if right == "str" and left not in ("str", "any"):
            raise self.error(node, f"text never holds a value of type {left}")

    def _IfExp(self, node: ast.IfExp) -> tuple[Tree, str]:
        test = self.truth(node.test)
        (yes, first), (no, second) = self.read(node.body), self.read(node.orelse)
        return ("if", test, yes, no), unite(first, second)

    def _List(self, node: ast.List | ast.Tuple) -> tuple[Tree, str]:
        parts = [self.read(part) for part in node.elts]
        kind = parts[0][1] if parts else "any"
        for _, other in parts[1:]:
            kind = unite(kind, other)
        return ("list", tuple([tree for tree, _ in parts])), f"list[{kind}]"

    _Tuple = _List

    def _Subscript(self, node: ast.Subscript) -> tuple[Tree, str]:
        whole, kind = self.read(node.value)
        index, _ = self.number(node.slice)
        if not kind.startswith("list[") and kind not in ("any", "version"):
            raise self.error(node, f"a value of type {kind} has no elements")
        return ("index", whole, index), kind[5:-1] if kind.startswith("list[") else "any"

    def _Call(self, node: ast.Call) -> tuple[Tree, str]:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        function = FUNCTIONS.get(name)
        if function is None or node.keywords:
            shown = name or "this"
            raise self.error(node, f"{shown} is not a function of rules{suggest(name, FUNCTIONS)}")
        if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            return self.each(name, node.args[0])
        if not function.least <= len(node.args) <= function.most:
            raise self.error(node, f"{name} takes {function.least} to {function.most} arguments")
        parts = [self.read(argument) for argument in node.args]
        result = result_type(function.result, [kind for _, kind in parts])
        name = "dotted" if name == "str" and parts[0][1] == "version" else name
        return ("call", name, tuple([tree for tree, _ in parts])), result

    def each(self, name: str, node: ast.GeneratorExp) -> tuple[Tree, str]:
        loop = node.generators[0]
        if len(node.generators) > 1 or len(loop.ifs) > 1 or not isinstance(loop.target, ast.Name):
            raise self.error(node, "one name over one vector, with at most one condition")
        vector, kind = self.read(loop.iter)
        if not kind.startswith("list[") and kind != "any":
            raise self.error(loop.iter, f"a vector is asked here, this is of type {kind}")
        variable = loop.target.id
        if variable in self.types or variable in self.bound:
            raise self.error(loop.target, f"{variable} is the name of a fact already")
        self.bound[variable] = kind[5:-1] if kind.startswith("list[") else "any"
        element, inner = self.read(node.elt)
        condition = self.truth(loop.ifs[0]) if loop.ifs else None
        del self.bound[variable]
        tree = ("each", name, element, variable, vector, condition)
        return tree, result_type(FUNCTIONS[name].result, [f"list[{inner}]"])


def fits(left: str, right: str) -> bool:
    """Whether values of two types can be equal or in an order."""
    if left == right or "any" in (left, right) or "none" in (left, right):
        return True
    if left.startswith("list[") and right.startswith("list["):
        return fits(left[5:-1], right[5:-1])
    return left in NUMBERS and right in NUMBERS


def unite(left: str, right: str) -> str:
    if left == right or right == "none":
        return left
    if left == "none":
        return right
    return "float" if left in NUMBERS and right in NUMBERS else "any"


def result_type(result: str, arguments: list[str]) -> str:
    first = arguments[0] if arguments else "any"
    if result == "same":
        return first
    if result == "element":
        return first[5:-1] if first.startswith("list[") else first
    return result


def suggest(name: str, known: Mapping[str, object]) -> str:
    """`; did you mean X` for the nearest known name."""
    import difflib

    near = difflib.get_close_matches(name, known, 1, 0.7)
    return f"; did you mean {near[0]!r}" if near else ""
