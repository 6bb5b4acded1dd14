"""Slips in the way Slurm's directives are written.

In: the options of a header as they stand, and the text in front of the first command.  Out: remarks about a long
option with one dash (`-nodes=2` is `-n` with the value `odes=2`), a short one with an equals sign (`-N=2` asks for `=2`
nodes), and nodes that only a comment asks for (`# SBATCH --nodes=4`, `#sbatch`).  It refuses to guess: what sbatch may
take is no slip.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from preflight.execution import Remark
from preflight.launch.model import Setting
from preflight.launch.options import Given, declare
from preflight.launch.synopses.schedulers import SBATCH
from preflight.patterns import pattern
from preflight.source import Source, Span

_ONE_DASH = pattern(r"-([bcgjmnprt][a-z]+(?:-[a-z]+)*)(?:=.*)?")
"""What begins with a letter that sbatch does not know, or whose value it checks."""
_EQUALS = pattern(r"(-[Nntcpw])=(.+)")
_COMMENTED = pattern(
    rb"^#(?:[ \t]+SBATCH|[ \t]*(?i:sbatch)(?<!#SBATCH))[ \t]+(?:--nodes[= \t]|-N[ \t]*)[ \t]*(\d+)[ \t]*(?:#.*)?\r?$"
)


def remark_spelling(component: list[Given]) -> Iterable[Remark]:
    """Options that sbatch reads in another way than they look."""
    seen: set[int] = set()
    for given in component:
        word = given.words[0]
        if word.span.start in seen or not word.text.known:
            continue
        seen.add(word.span.start)
        shown = word.text.display()
        start = word.span.start
        if (match := _ONE_DASH.fullmatch(shown)) and "--" + match[1] in declare(SBATCH).options:
            edit = Span(word.span.source, start, start), "-"
            values = {"option": "-" + match[1], "suggestion": "--" + match[1]}
            yield Remark("header-misspelt", word.span, values, edits=(edit,))
        elif match := _EQUALS.fullmatch(shown):
            at = start + len(match[1])
            values = {"option": match[1], "value": match[2]}
            yield Remark(
                "header-equals", word.span, values, edits=((Span(word.span.source, at, at + 1), " "),)
            )


def remark_commented(source: Source, settings: Mapping[str, Setting]) -> Iterable[Remark]:
    """Nodes that a comment in front of the first command asks for, and no directive."""
    if "nodes" in settings or "nodelist" in settings:
        return
    at, data = 0, source.data
    while at < len(data):
        stop = data.find(b"\n", at)
        stop = len(data) if stop < 0 else stop
        line = data[at:stop]
        if line.strip() and not line.startswith(b"#"):
            return
        if match := _COMMENTED.match(line):
            span = source.span(at, stop)
            yield Remark("header-commented", span, {"directive": span.text, "nodes": int(match[1])})
            return
        at = stop + 1
