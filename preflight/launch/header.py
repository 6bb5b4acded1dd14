"""Scheduler directives at the top of a batch script: `#SBATCH`, `#PBS`, `#BSUB`.

In: a source.  Out: a `Header` with each option under its long name, or None where there is none.  Slurm stops at
the first line that is a command; directives behind it, misspelt options, options given twice and variables that no
one expands become remarks.  It refuses nothing: a directive that cannot be read is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from preflight.execution import Related, Remark, Word
from preflight.later import later
from preflight.launch.model import Header, Setting
from preflight.launch.options import Given, Grammar, declare, parse_options
from preflight.launch.synopses.schedulers import SBATCH
from preflight.patterns import pattern
from preflight.record import NamedTuple
from preflight.source import Source, Span
from preflight.values import Piece, Text

remark_commented = later("preflight.launch.directives", "remark_commented")
remark_spelling = later("preflight.launch.directives", "remark_spelling")

DIRECTIVE = pattern(rb"^#(SBATCH|PBS|BSUB)\b[ \t]*", re.MULTILINE)
KINDS = {b"SBATCH": "slurm", b"PBS": "pbs", b"BSUB": "lsf"}
PBS = "\n".join(f"-{letter} VALUE" for letter in "aAceJjklMmNoPpqrSuvWC") + "\n-I\n-h\n-V\n-X\n-z\n-f"
LSF = (
    "\n".join(f"-{letter} VALUE" for letter in "aBbCcDdEeFGghiJkLMmnopQqRSsTtUuvWwXY")
    + "\n-gpu VALUE\n-nnodes VALUE\n-env VALUE\n-cwd VALUE\n-app VALUE\n-alloc_flags VALUE\n-stage VALUE\n-oo VALUE"
    + "\n-eo VALUE\n-x --exclusive\n-I\n-K\n-N\n-r\n-H"
)
NUMERIC = frozenset(
    {
        "nodes",
        "ntasks",
        "ntasks_per_node",
        "cpus_per_task",
        "gpus",
        "gpus_per_node",
        "gpus_per_task",
        "gres",
        "time",
    }
)
REPEATABLE = frozenset({"mail_type", "comment"})
MOST_LINES = 1000
"""Directives that are read; nobody writes more."""
_HERE = pattern(rb"<<-?\s*(['\"\\]?)([A-Za-z_]\w*)")


class _Line(NamedTuple):
    kind: str
    start: int
    end: int
    body: int  # where the options begin
    late: bool


def read_header(source: Source, unknowns: Mapping[int, Piece] | None = None) -> Header | None:
    """The directives of a source; `unknowns` are the placeholders of derived text."""
    if not DIRECTIVE.search(source.data):
        return None
    lines, command = find_directives(source.data)
    early = [line for line in lines if not line.late]
    kind = (early or lines)[0].kind if lines else None
    if kind is None:
        return None
    early = [line for line in early if line.kind == kind]
    late = [line for line in lines if line.late and line.kind == kind]
    early, late = early[:MOST_LINES], late[:MOST_LINES]
    grammar = _grammar(kind)
    components: list[list[Given]] = [[]]
    for line in early:
        words = split_words(source, line.body, line.end, unknowns or {})
        if kind == "slurm" and words and words[0].text.value in {"hetjob", "packjob"}:
            components.append([])
            continue
        components[-1].extend(parse_options(words, grammar).given)
    settings = tuple(_by_name(component) for component in components)
    remarks = remark_late(source, late, command, settings[0]) if kind == "slurm" else []
    for component in components:
        remarks += remark_options(component, kind)
        if kind == "slurm":
            remarks += remark_spelling(component)
    if kind == "slurm" and early:
        remarks += remark_commented(source, settings[0])
    if kind == "slurm" and early and not source.data.startswith(b"#!") and not source.origins:
        remarks.append(Remark("header-without-shebang", source.span(*_first_line(source)), {}))
    if not early and not remarks:
        return None
    spans = tuple(source.span(line.start, line.end) for line in early)
    whole = source.span((early or late)[0].start, (early or late)[-1].end)
    return Header(kind, settings[0], whole, settings if len(settings) > 1 else (), tuple(remarks), spans)


def _by_name(component: list[Given]) -> dict[str, Setting]:
    """The options of one part of a job; the last one holds, but PBS has one `-l` for nodes and others for time."""
    settings: dict[str, Setting] = {}
    for setting in (given.setting for given in component):
        if setting.name != "l" or "l" not in settings or _asks_for_nodes(setting):
            settings[setting.name] = setting
    return settings


def _asks_for_nodes(setting: Setting) -> bool:
    return setting.text is not None and re.search(r"\b(?:select|nodes)=", setting.text.display()) is not None


def _grammar(kind: str) -> Grammar:
    if kind == "slurm":
        return declare(SBATCH)
    return declare(PBS) if kind == "pbs" else declare(LSF, clusters=False)


def _first_line(source: Source) -> tuple[int, int]:
    end = source.data.find(b"\n")
    return 0, end if end >= 0 else len(source.data)


def find_directives(data: bytes) -> tuple[list[_Line], tuple[int, int] | None]:
    """All directive lines, and the first command line; what stands in here-documents and strings is no directive."""
    found: list[_Line] = []
    command: tuple[int, int] | None = None
    last = [match.start() for match in DIRECTIVE.finditer(data)][-1]
    at, state = 0, _Quotes()
    while at <= last:
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        line = data[at:end]
        stripped = line.strip()
        inside = state.open
        if not inside and (match := DIRECTIVE.match(line)):
            stop = at + len(line.rstrip())
            kind = KINDS[match.group(1)]
            found.append(_Line(kind, at, stop, at + match.end(), command is not None))
        elif stripped and not stripped.startswith(b"#") and command is None:
            command = (at + len(line) - len(line.lstrip()), at + len(line.rstrip()))
        if inside or not stripped.startswith(b"#"):
            state.feed(line)
        at = end + 1
    return found, command


class _Quotes:
    """Whether a line begins inside a quoted string or a here-document."""

    def __init__(self) -> None:
        self.quote: int | None = None
        self.delimiters: list[bytes] = []

    @property
    def open(self) -> bool:
        return self.quote is not None or bool(self.delimiters)

    def feed(self, line: bytes) -> None:
        if self.delimiters:
            if line.strip() == self.delimiters[0]:
                self.delimiters.pop(0)
            return
        at = 0
        while at < len(line):
            byte = line[at]
            if byte == 0x5C and self.quote != 0x27:
                at += 2
                continue
            if self.quote is not None:
                if byte == self.quote:
                    self.quote = None
            elif byte in (0x22, 0x27):
                self.quote = byte
            elif byte == 0x23 and (at == 0 or line[at - 1] in b" \t;"):
                return
            elif byte == 0x3C and line[at : at + 3] != b"<<<" and (match := _HERE.match(line, at)):
                self.delimiters.append(match.group(2))
                at = match.end() + len(match.group(1))
                continue
            elif line[at : at + 3] == b"<<<":
                at += 2
            at += 1


def split_words(source: Source, start: int, end: int, unknowns: Mapping[int, Piece]) -> tuple[Word, ...]:
    """Split a directive the way sbatch does: blanks, both quotes, backslash; `#` begins a comment."""
    words: list[Word] = []
    data = source.data
    at = start
    while at < end:
        if data[at : at + 1].isspace():
            at += 1
            continue
        if data[at : at + 1] == b"#":
            break
        begin = at
        pieces: list[Piece] = []
        quote: bytes = b""
        while at < end:
            byte = data[at : at + 1]
            if at in unknowns:
                pieces.append(unknowns[at])
                at += 3
                continue
            if quote and byte == quote:
                quote = b""
            elif not quote and byte in (b'"', b"'"):
                quote = byte
            elif not quote and byte.isspace():
                break
            else:
                if byte == b"\\" and quote != b"'" and at + 1 < end:
                    at += 1
                stop = at + 1
                while stop < end and data[stop] & 0xC0 == 0x80:
                    stop += 1
                pieces.append(Piece(data[at:stop].decode("utf-8", "replace"), source.span(at, stop)))
                at = stop - 1
            at += 1
        words.append(Word(Text(_merge(pieces)), source.span(begin, at)))
    return tuple(words)


def _merge(pieces: list[Piece]) -> list[Piece]:
    """Join neighbouring known pieces that stand side by side."""
    merged: list[Piece] = []
    for piece in pieces:
        before = merged[-1] if merged else None
        if (
            before is not None
            and before.unknown is None
            and piece.unknown is None
            and before.span.source is piece.span.source
            and before.span.end == piece.span.start
        ):
            span = Span(piece.span.source, before.span.start, piece.span.end)
            merged[-1] = before._replace(text=before.text + piece.text, span=span)
        else:
            merged.append(piece)
    return merged


def remark_options(component: list[Given], kind: str) -> list[Remark]:
    """What is odd about the options of one component: unknown to Slurm, given twice, holding a variable."""
    remarks: list[Remark] = []
    seen: dict[str, Given] = {}
    for given in component:
        name, text = given.setting.name, given.setting.text
        if kind == "slurm" and not given.known and given.spelling.startswith("--"):
            near = nearest_option(given.spelling)
            if near is not None:
                values: dict[str, object] = {"option": given.spelling, "suggestion": near}
                edit = (_spelling_span(given), near)
                remarks.append(Remark("header-misspelt", given.setting.span, values, edits=(edit,)))
        if text is not None and text.known and (match := re.search(r"\$\{?\w+\}?", text.display())):
            values = {
                "option": given.spelling,
                "value": text.display(),
                "variable": match.group(),
                "numeric": name in NUMERIC or kind != "slurm",
            }
            remarks.append(Remark("header-variable", given.setting.span, values))
        before = seen.get(name)
        if before is not None and kind == "slurm" and name not in REPEATABLE and _differ(before, given):
            values = {
                "option": given.spelling,
                "first": _shown(before),
                "last": _shown(given),
            }
            related = Related(before.setting.span, "given here first")
            remarks.append(Remark("header-repeated", given.setting.span, values, (related,)))
        seen[name] = given
    return remarks


def _shown(given: Given) -> str:
    return given.setting.text.display() if given.setting.text is not None else ""


def _differ(one: Given, other: Given) -> bool:
    first, second = one.setting.text, other.setting.text
    if first is None or second is None:
        return False
    return first.known and second.known and first.value != second.value


def _spelling_span(given: Given) -> Span:
    span = given.words[0].span
    return Span(span.source, span.start, span.start + len(given.spelling.encode()))


def nearest_option(spelling: str) -> str | None:
    """The option that a misspelt one probably means: an ambiguous or wrong spelling one slip away."""
    from difflib import get_close_matches

    known = [name for name in declare(SBATCH).options if name.startswith("--")]
    folded = spelling.replace("_", "-").lower()
    if folded in known:
        return folded
    found = get_close_matches(folded, known, 1, 0.88)
    return found[0] if found else None


def remark_late(
    source: Source, late: list[_Line], command: tuple[int, int] | None, settings: Mapping[str, Setting]
) -> list[Remark]:
    """Directives behind the first command, which Slurm never sees."""
    remarks = []
    for line in late:
        words = split_words(source, line.body, line.end, {})
        given = parse_options(words, declare(SBATCH)).given
        if not given:
            continue
        same = [g for g in given if g.setting.name in settings and not _differ_setting(settings, g)]
        if len(same) == len(given):
            continue
        start, end = command or (line.start, line.end)
        remarks.append(
            Remark(
                "header-late",
                source.span(line.start, line.end),
                {
                    "directive": source.span(line.start, line.end).text,
                    "command": source.span(start, end).text[:60],
                },
                (Related(source.span(start, end), "Slurm stops reading here"),),
            )
        )
    return remarks


def _differ_setting(settings: Mapping[str, Setting], given: Given) -> bool:
    before = settings[given.setting.name].text
    after = given.setting.text
    return (before.value if before else None) != (after.value if after else None)
