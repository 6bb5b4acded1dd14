"""awk as launch scripts use it: a field of each line, and arithmetic on numbers.

In: the arguments, the input or None, and a way to read files of the project.  Out: output and status, or None for
whatever is not modelled exactly.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping

from preflight.patterns import pattern
from preflight.shell.escapes import unescape
from preflight.shell.operands import Read, Result, join_lines, read_operands, read_options, split_lines

_FIELD = pattern(r"\s*(?:NR\s*==\s*(\d+)\s*)?\{\s*print\s*(?:\$(\d+|NF))?\s*;?\s*\}\s*")
_SUM = pattern(r"\s*BEGIN\s*\{\s*(print|printf)\b\s*(.*?)\s*;?\s*\}\s*")
_FORMATTED = pattern(
    r'\(?\s*"((?:[^"\\%]|\\[nt\\])*%(?:\.?\d{1,3})?[dfegs](?:[^"\\%]|\\[nt\\])*)"\s*,(.*?)\)?'
)
_VARIABLE = pattern(r"([A-Za-z_]\w*)=(\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*)")
_DIGITS = 2**31
"""From here on whole numbers are written otherwise by some awks."""

_OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: math.fmod,
    ast.Pow: math.pow,
}


def awk(arguments: list[str], given: str | None, read: Read) -> Result:
    variables = {}
    while arguments and arguments[0].startswith("-v"):
        text = arguments[0][2:] or (arguments[1] if len(arguments) > 1 else "")
        arguments = arguments[1 if arguments[0][2:] else 2 :]
        found = _VARIABLE.fullmatch(text)
        if not found:
            return None
        variables[found[1]] = float(found[2])
    if len(arguments) == 1 and (found := _SUM.fullmatch(arguments[0])):
        return print_number(found[1], found[2], variables)
    return None if variables else print_field(arguments, given, read)


def print_field(arguments: list[str], given: str | None, read: Read) -> Result:
    """`{print $2}`, of each line or of one."""
    parsed = read_options(arguments, "F")
    if parsed is None or set(parsed[0]) - {"F"} or not parsed[1]:
        return None
    options, operands = parsed
    found = _FIELD.fullmatch(operands[0])
    text = read_operands(operands[1:], given, read)
    separator = options.get("F")
    if not found or text is None or (separator is not None and len(separator) > 1):
        return None
    out = []
    for number, line in enumerate(split_lines(text), 1):
        if found[1] and number != int(found[1]):
            continue
        if not found[2] or found[2] == "0":
            out.append(line)
            continue
        fields = line.split() if separator in (None, " ") else line.split(separator)
        at = len(fields) if found[2] == "NF" else int(found[2])
        out.append(fields[at - 1] if 0 < at <= len(fields) else "")
    return join_lines(out), 0


def print_number(how: str, what: str, variables: Mapping[str, float]) -> Result:
    """`BEGIN {print 2 * x}` and `BEGIN {printf "%.2f", 2 * x}`."""
    shape = "%s\n"
    if how == "printf":
        found = _FORMATTED.fullmatch(what)
        if not found:
            return None
        shape, what = unescape(found[1]), found[2]
    try:
        tree = ast.parse(what.strip().replace("^", "**"), mode="eval")
        value = work_out(tree.body, variables)
        shown = show(value)
        if shown is None:
            return None
        return shape % (shown if re.search(r"%[.\d]*s", shape) else value), 0
    except (ArithmeticError, ValueError, SyntaxError, RecursionError, KeyError, MemoryError):
        return None


def work_out(node: ast.expr, variables: Mapping[str, float]) -> float:
    """The value of an expression; an error for what is not arithmetic."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    if isinstance(node, ast.Name):
        return variables[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = work_out(node.operand, variables)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](work_out(node.left, variables), work_out(node.right, variables))
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "int" and len(node.args) == 1:
        return float(math.trunc(work_out(node.args[0], variables)))
    raise ValueError(ast.dump(node)[:80])


def show(value: float) -> str | None:
    """A number as `print` writes it; None where awks differ."""
    if not math.isfinite(value) or abs(value) >= _DIGITS:
        return None
    return str(int(value)) if value == int(value) else f"{value:.6g}"
