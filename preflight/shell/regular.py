"""Tools with regular expressions: sed, grep, awk, as far as launch scripts use them.

In and out: as for the other filters; None for whatever is not modelled exactly.
"""

from __future__ import annotations

import re

from preflight.patterns import pattern as lazy_pattern
from preflight.shell.operands import Read, Result, join_lines, read_operands, read_options, split_lines
from preflight.shell.pattern import is_cheap


def _basic(expression: str) -> str | None:
    """A POSIX basic expression in Python's spelling."""
    out, at = [], 0
    while at < len(expression):
        two = expression[at : at + 2]
        character = expression[at]
        if character == "\\" and len(two) == 2:
            if two[1] in "(){}|+?":
                out.append(two[1])
            else:
                out.append(two)
            at += 2
            continue
        if character == "[":
            end = expression.find("]", at + 2)
            if end < 0:
                return None
            out.append(_bracket(expression[at : end + 1]))
            at = end + 1
            continue
        out.append("\\" + character if character in "(){}|+?" else character)
        at += 1
    return "".join(out)


def _bracket(text: str) -> str:
    return text.replace("\\", "\\\\") if "[:" not in text else text


def _compile(expression: str, extended: bool, flags: int = 0, size: int = 2000) -> re.Pattern[str] | None:
    if len(expression) > 300 or not is_cheap(expression, size):
        return None
    if "[:" in expression or re.search(r"\([^)]*[+*|][^)]*\)[+*{]", expression):
        return None
    translated = expression if extended else _basic(expression)
    if translated is None:
        return None
    try:
        return re.compile(translated, flags)
    except (re.error, RecursionError, OverflowError):
        return None


_SUBSTITUTION = lazy_pattern(r"s(.)(.*)", re.S)


def sed(arguments: list[str], given: str | None, read: Read) -> Result:
    scripts: list[str] = []
    others: list[str] = []
    at = 0
    while at < len(arguments):
        if arguments[at] == "-e" and at + 1 < len(arguments):
            scripts.append(arguments[at + 1])
            at += 1
        else:
            others.append(arguments[at])
        at += 1
    parsed = read_options(others, "")
    if parsed is None:
        return None
    options, operands = parsed
    if set(options) - set("Ern"):
        return None
    script = ";".join(scripts) if scripts else operands.pop(0) if operands else None
    text = read_operands(operands, given, read)
    if script is None or text is None:
        return None
    if "n" in options:
        found = re.fullmatch(r"(\d+)(?:,(\d+|\$))?p", script)
        if not found:
            return None
        lines = split_lines(text)
        high = len(lines) if found[2] == "$" else int(found[2] or found[1])
        return join_lines(lines[int(found[1]) - 1 : high]), 0
    commands = [part.strip() for part in re.split(r";(?=\s*s\W)", script)]
    lines = split_lines(text)
    for command in commands:
        changed = _substitute_lines(command, lines, "E" in options or "r" in options)
        if changed is None:
            return None
        lines = changed
    out = join_lines(lines)
    return (out if text.endswith("\n") or not out else out[:-1]), 0


def _substitute_lines(command: str, lines: list[str], extended: bool) -> list[str] | None:
    found = _SUBSTITUTION.fullmatch(command)
    if not found:
        return None
    fields: list[str] = []
    separator, current, rest = found[1], "", found[2]
    at = 0
    while at < len(rest):
        if rest[at] == "\\" and at + 1 < len(rest):
            current += rest[at + 1] if rest[at + 1] == separator else rest[at : at + 2]
            at += 2
        elif rest[at] == separator and len(fields) < 2:
            fields.append(current)
            current, at = "", at + 1
        else:
            current += rest[at]
            at += 1
    if len(fields) != 2 or not re.fullmatch("[gI]*", current):
        return None
    longest = max((len(line) for line in lines), default=0)
    matcher = _compile(fields[0], extended, re.I if "I" in current else 0, longest)
    if matcher is None or re.search(r"\\[^\d\\/&n.]", fields[1]):
        return None
    by = re.sub(r"(\\.)|&", lambda m: m[1] or r"\g<0>", fields[1]).replace(r"\&", "&").replace(r"\/", "/")
    by = by.replace(r"\.", ".")
    return [matcher.sub(by, line, count=0 if "g" in current else 1) for line in lines]


def grep(arguments: list[str], given: str | None, read: Read) -> Result:
    parsed = read_options(arguments, "em")
    if parsed is None:
        return None
    options, operands = parsed
    if set(options) - set("eEFPqcoviwh"):
        return None
    pattern = options["e"] if "e" in options else operands.pop(0) if operands else None
    text = read_operands(operands, given, read) if len(operands) < 2 else None
    if pattern is None or text is None:
        return None
    flags = re.I if "i" in options else 0
    if "F" in options:
        matcher: re.Pattern[str] | None = re.compile(re.escape(pattern), flags)
    elif "P" in options and ("\\K" in pattern or len(pattern) > 200):
        return None
    else:
        longest = max((len(line) for line in split_lines(text)), default=0)
        matcher = _compile(pattern, "E" in options or "P" in options, flags, longest)
    if matcher is None:
        return None
    if "w" in options:
        matcher = re.compile(rf"(?<!\w)(?:{matcher.pattern})(?!\w)", flags)
    lines = [line for line in split_lines(text) if bool(matcher.search(line)) != ("v" in options)]
    status = 0 if lines else 1
    if "q" in options:
        return "", status
    if "c" in options:
        return f"{len(lines)}\n", status
    if "o" in options:
        return join_lines([m[0] for line in lines for m in matcher.finditer(line) if m[0]]), status
    return join_lines(lines), status
