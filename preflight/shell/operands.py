"""What text tools have in common: options, operands, lines.

In: the arguments of a command, and what reads files of the project.  Out: options, and the text to work on.
"""

from __future__ import annotations

from collections.abc import Callable

Read = Callable[[str], "str | None"]
Result = tuple[str, int] | None
Filter = Callable[[list[str], "str | None", Read], Result]


def read_options(arguments: list[str], valued: str) -> tuple[dict[str, str], list[str]] | None:
    """Short options (those in `valued` take a value) and operands; None for long ones."""
    options: dict[str, str] = {}
    operands: list[str] = []
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        if argument == "--":
            operands += arguments[at + 1 :]
            break
        if argument.startswith("--"):
            return None
        if argument.startswith("-") and len(argument) > 1:
            for number, letter in enumerate(argument[1:], 1):
                if letter in valued:
                    value = argument[number + 1 :]
                    if not value:
                        at += 1
                        if at >= len(arguments):
                            return None
                        value = arguments[at]
                    if letter in options:
                        return None
                    options[letter] = value
                    break
                options[letter] = ""
        else:
            operands.append(argument)
        at += 1
    return options, operands


def read_operands(operands: list[str], given: str | None, read: Read) -> str | None:
    if not operands:
        return given
    texts = [given if path == "-" else read(path) for path in operands]
    return (
        None if any(text is None for text in texts) else "".join(text for text in texts if text is not None)
    )


def split_lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


def join_lines(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)
