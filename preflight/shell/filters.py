"""Text tools as they are used in launch scripts: cut, tr, head, sed, grep, awk and their like.

In: known arguments, known input or None, and a way to read files of the project.  Out: output and status, or
None for whatever is not modelled exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from preflight.later import later
from preflight.shell.escapes import unescape
from preflight.shell.operands import (
    Filter,
    Read,
    Result,
    join_lines,
    read_operands,
    read_options,
    split_lines,
)


def _ranges(text: str) -> Callable[[int], bool] | None:
    spans: list[tuple[int, int]] = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d*)(-?)(\d*)", part)
        if not found or not (found[1] or found[3]):
            return None
        low = int(found[1] or 1)
        high = int(found[3]) if found[3] else (10**9 if found[2] else low)
        spans.append((low, high))
    return lambda number: any(low <= number <= high for low, high in spans)


def cut(arguments: list[str], given: str | None, read: Read) -> Result:
    parsed = read_options(arguments, "dfcb")
    if parsed is None:
        return None
    options, operands = parsed
    text = read_operands(operands, given, read)
    which = options.get("f") or options.get("c") or options.get("b")
    chosen = _ranges(which) if which else None
    if text is None or chosen is None or set(options) - set("dfcbs"):
        return None
    out = []
    for line in split_lines(text):
        if "f" in options:
            separator = options.get("d", "\t")
            if separator not in line:
                if "s" not in options:
                    out.append(line)
                continue
            fields = line.split(separator)
            out.append(separator.join(f for n, f in enumerate(fields, 1) if chosen(n)))
        else:
            out.append("".join(c for n, c in enumerate(line, 1) if chosen(n)))
    return join_lines(out), 0


_TR_CLASSES = {
    "[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "[:lower:]": "abcdefghijklmnopqrstuvwxyz",
    "[:digit:]": "0123456789",
    "[:space:]": " \t\n\r\v\f",
    "[:blank:]": " \t",
    "[:alpha:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    "[:alnum:]": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
}


def _tr_set(text: str) -> str | None:
    for name, characters in _TR_CLASSES.items():
        text = text.replace(name, characters)
    if "[:" in text or "[=" in text:
        return None
    text = unescape(text)
    return re.sub(
        r"(.)-(.)",
        lambda m: "".join(chr(c) for c in range(ord(m[1]), ord(m[2]) + 1)) if m[1] <= m[2] else m[0],
        text,
        flags=re.S,
    )


def tr(arguments: list[str], given: str | None, read: Read) -> Result:
    flags, sets = "", list(arguments)
    while sets and re.fullmatch(r"-[dsc]+", sets[0]):
        flags += sets.pop(0)[1:]
    first = _tr_set(sets[0]) if sets else None
    second = _tr_set(sets[1]) if len(sets) > 1 else ""
    if given is None or first is None or second is None:
        return None
    if "d" in flags:
        kept = "".join(c for c in given if (c in first) == ("c" in flags))
        return (kept, 0) if "s" not in flags else None
    if "s" in flags and not second:
        if "c" in flags:
            return None
        return re.sub(r"(.)\1+", lambda m: m[1] if m[1] in first else m[0], given, flags=re.S), 0
    if not second:
        return None
    if "c" in flags:
        out = "".join(c if c in first else second[-1] for c in given)
    else:
        padded = second + second[-1] * max(0, len(first) - len(second))
        out = given.translate({ord(a): b for a, b in reversed(list(zip(first, padded, strict=False)))})
    if "s" in flags:
        out = re.sub(r"(.)\1+", lambda m: m[1] if m[1] in second else m[0], out, flags=re.S)
    return out, 0


def _count(arguments: list[str]) -> tuple[str, list[str]] | None:
    if arguments and re.fullmatch(r"-\d+", arguments[0]):
        return arguments[0][1:], arguments[1:]
    parsed = read_options(arguments, "n")
    if parsed is None or set(parsed[0]) - {"n"}:
        return None
    return parsed[0].get("n", "10"), parsed[1]


def head(arguments: list[str], given: str | None, read: Read) -> Result:
    if (
        arguments[:1] == ["-c"]
        and len(arguments) == 2
        and arguments[1].isdigit()
        and given
        and given.isascii()
    ):
        return given[: int(arguments[1])], 0
    counted = _count(arguments)
    text = read_operands(counted[1], given, read) if counted and len(counted[1]) < 2 else None
    if counted is None or text is None or not re.fullmatch(r"-?\d+", counted[0]):
        return None
    count = int(counted[0])
    lines = text.splitlines(keepends=True)
    return "".join(lines[:count]), 0


def tail(arguments: list[str], given: str | None, read: Read) -> Result:
    counted = _count(arguments)
    text = read_operands(counted[1], given, read) if counted and len(counted[1]) < 2 else None
    if counted is None or text is None or not re.fullmatch(r"\+?\d+", counted[0]):
        return None
    lines = text.splitlines(keepends=True)
    if counted[0].startswith("+"):
        return "".join(lines[max(int(counted[0]) - 1, 0) :]), 0
    count = int(counted[0])
    return "".join(lines[-count:] if count else []), 0


def wc(arguments: list[str], given: str | None, read: Read) -> Result:
    parsed = read_options(arguments, "")
    if parsed is None or len(parsed[0]) != 1:
        return None
    options, operands = parsed
    text = read_operands(operands, given, read)
    if text is None or len(operands) > 1:
        return None
    letter = next(iter(options))
    sizes = {"l": text.count("\n"), "w": len(text.split()), "c": len(text.encode()), "m": len(text)}
    if letter not in sizes:
        return None
    return f"{sizes[letter]}{' ' + operands[0] if operands else ''}\n", 0


def seq(arguments: list[str], given: str | None, read: Read) -> Result:
    separator, width = "\n", False
    rest = list(arguments)
    while rest and rest[0].startswith("-") and not re.fullmatch(r"-\d+", rest[0]):
        option = rest.pop(0)
        if option.startswith("-s"):
            separator = option[2:] or (rest.pop(0) if rest else "")
        elif option == "-w":
            width = True
        else:
            return None
    if not 1 <= len(rest) <= 3 or not all(re.fullmatch(r"-?\d{1,9}", text) for text in rest):
        return None
    numbers = [int(text) for text in rest]
    first = numbers[0] if len(numbers) > 1 else 1
    step = numbers[1] if len(numbers) == 3 else 1
    last = numbers[-1]
    if step == 0 or abs(last - first) // abs(step) > 20_000:
        return None
    values = [str(n) for n in range(first, last + (1 if step > 0 else -1), step)]
    if width:
        size = max((len(v) for v in values), default=0)
        values = [v.zfill(size) for v in values]
    return (separator.join(values) + "\n" if values else ""), 0


def expr(arguments: list[str], given: str | None, read: Read) -> Result:
    if len(arguments) == 3 and arguments[1] in (":", "match"):
        return None
    if arguments[:1] == ["length"] and len(arguments) == 2:
        return f"{len(arguments[1])}\n", 0
    text = " ".join(arguments)
    if not re.fullmatch(r"[-+*/%()\d\s<>=!&|]+", text):
        return None
    value = _calculate(text.replace(" = ", " == ").replace(" & ", " && ").replace(" | ", " || "))
    return None if value is None else (f"{value}\n", 0 if value else 1)


def _calculate(text: str) -> int | None:
    from preflight.shell.arithmetic import Access, Evaluation, InvalidError

    def refuse(*_: object) -> None:
        raise InvalidError("a name")

    try:
        return Evaluation(Access(refuse, refuse)).evaluate(text)  # type: ignore[arg-type]
    except InvalidError:
        return None


def bc(arguments: list[str], given: str | None, read: Read) -> Result:
    """Whole numbers only, and no scale."""
    if given is None or arguments or not re.fullmatch(r"[-+*/%()\d\s]+", given) or re.search(r"\b0\d", given):
        return None
    out = []
    for line in split_lines(given):
        value = _calculate(line)
        if value is None or abs(value) >= 2**62:
            return None
        out.append(str(value))
    return join_lines(out), 0


def sort(arguments: list[str], given: str | None, read: Read) -> Result:
    parsed = read_options(arguments, "")
    if parsed is None or set(parsed[0]) - set("nru"):
        return None
    options, operands = parsed
    text = read_operands(operands, given, read)
    if text is None or not text.isascii():
        return None
    lines = split_lines(text)
    if "n" in options:
        if not all(re.fullmatch(r"-?\d+", line) for line in lines):
            return None
        lines.sort(key=int)
    elif all(re.fullmatch(r"[a-z0-9]+", line) for line in lines) or all(
        re.fullmatch(r"\d+", li) for li in lines
    ):
        lines.sort()
    else:
        return None
    if "u" in options:
        lines = list(dict.fromkeys(lines))
    return join_lines(lines[::-1] if "r" in options else lines), 0


def uniq(arguments: list[str], given: str | None, read: Read) -> Result:
    if arguments or given is None:
        return None
    out: list[str] = []
    for line in split_lines(given):
        if not out or out[-1] != line:
            out.append(line)
    return join_lines(out), 0


def rev(arguments: list[str], given: str | None, read: Read) -> Result:
    return (
        None if arguments or given is None else (join_lines([line[::-1] for line in split_lines(given)]), 0)
    )


def tac(arguments: list[str], given: str | None, read: Read) -> Result:
    text = read_operands(arguments, given, read)
    return None if text is None else (join_lines(split_lines(text)[::-1]), 0)


def paste(arguments: list[str], given: str | None, read: Read) -> Result:
    parsed = read_options(arguments, "d")
    if parsed is None or "s" not in parsed[0] or set(parsed[0]) - set("sd"):
        return None
    text = read_operands(parsed[1], given, read)
    separator = parsed[0].get("d", "\t")
    return None if text is None or len(separator) != 1 else (separator.join(split_lines(text)) + "\n", 0)


def xargs(arguments: list[str], given: str | None, read: Read) -> Result:
    """Only without a command (or with echo): it joins words by blanks."""
    if given is None or re.search(r"[\\'\"]", given) or arguments not in ([], ["echo"], ["-n1"], ["-n", "1"]):
        return None
    words = given.split()
    return ("".join(w + "\n" for w in words) if "-n" in "".join(arguments) else " ".join(words) + "\n"), 0


sed: Filter = later("preflight.shell.regular", "sed")
grep: Filter = later("preflight.shell.regular", "grep")
awk: Filter = later("preflight.shell.awk", "awk")

FILTERS: dict[str, Filter] = {
    "cut": cut,
    "tr": tr,
    "head": head,
    "tail": tail,
    "wc": wc,
    "seq": seq,
    "expr": expr,
    "bc": bc,
    "sed": sed,
    "grep": grep,
    "egrep": lambda arguments, given, read: grep(["-E", *arguments], given, read),
    "fgrep": lambda arguments, given, read: grep(["-F", *arguments], given, read),
    "awk": awk,
    "gawk": awk,
    "sort": sort,
    "uniq": uniq,
    "rev": rev,
    "tac": tac,
    "paste": paste,
    "xargs": xargs,
}
