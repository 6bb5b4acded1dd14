"""argparse's parser as the commands want it.

In: what a `Sheet` holds.  Out: a parser without abbreviations, which also says what was nearly right; a bad invocation
is exit status 2.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import NoReturn

# argparse translates its headings, for which gettext looks through folders of catalogues; there are none for it
argparse._ = str  # type: ignore[attr-defined]


class Parser(argparse.ArgumentParser):
    """argparse's parser, which also says what was nearly right."""

    def _get_formatter(self) -> argparse.HelpFormatter:
        """A formatter of fixed width: argparse asks for one at each option, and would look up the terminal's."""
        return argparse.RawDescriptionHelpFormatter(self.prog, width=100)

    def error(self, message: str) -> NoReturn:
        found = re.match(r"unrecognized arguments: (--[\w-]+)", message)
        if found:
            from difflib import get_close_matches

            known = [text for action in self._actions for text in action.option_strings]
            near = get_close_matches(found[1], known, 1)
            message = f"no option {found[1]}" + (f"; did you mean {near[0]}?" if near else "")
        self.exit(2, f"{self.prog}: {message}\ntry: {self.prog} --help\n")


def new_parser(command: str, summary: str, examples: Sequence[str], usage: str | None) -> Parser:
    """A parser for one command, without options yet."""
    epilog = "examples:\n" + "\n".join(f"  {line}" for line in examples) if examples else None
    return Parser(
        prog=f"preflight {command}",
        description=summary,
        epilog=epilog,
        usage=usage,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
