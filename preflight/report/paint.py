"""Rows of stretches on their way to a stream: plain, or coloured by rich.

In: rows of (text, role).  Out: text.  Rich is imported only where colour is asked for; everything else stays plain
text, byte-identical from run to run.
"""

from __future__ import annotations

from collections.abc import Iterable

from preflight.report.frame import Row

STYLES = {
    "error": "bold red",
    "warning": "bold yellow",
    "note": "bold cyan",
    "message": "bold",
    "line": "blue",
    "primary": "bold",
    "secondary": "blue",
    "help": "green",
    "good": "green",
    "dim": "dim",
}
"""The style of each role; a role without an entry is plain."""


def paint(rows: Iterable[Row], colour: bool) -> str:
    """The rows as text, each with a line end."""
    if not colour:
        return "".join("".join(text for text, _ in row).rstrip() + "\n" for row in rows)
    from rich.color import ColorSystem
    from rich.style import Style

    styles = {role: Style.parse(style) for role, style in STYLES.items()}
    lines = []
    for row in rows:
        parts = [
            styles[role].render(text, color_system=ColorSystem.STANDARD)
            if role in styles and text.strip()
            else text
            for text, role in row
        ]
        lines.append("".join(parts).rstrip() + "\n")
    return "".join(lines)


def wants_colour(choice: str, terminal: bool) -> bool:
    """Whether to colour: the flag, then NO_COLOR, FORCE_COLOR, then whether a terminal can."""
    import os

    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return terminal and os.environ.get("TERM", "dumb") != "dumb"
