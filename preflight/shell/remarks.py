"""What shows while a script is evaluated: words that fall apart, quotes that stay, names that are never assigned.

In: notes from the expansion of words, and the commands that come out.  Out: neutral remarks, each once.  A note
counts only when its words reach a command or an array.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from preflight.execution import Execution, Related, Remark, Word
from preflight.patterns import pattern
from preflight.record import NamedTuple
from preflight.shell.parts import Assignment, Parameter, Simple, Token
from preflight.source import Source, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from preflight.shell.state import State
    from preflight.shell.syntax import Syntax

_TYPOGRAPHIC = frozenset("\u201c\u201d\u2018\u2019\u201e\u00ab\u00bb")
_SAY = ("echo", "printf")
_ANGLES = pattern(r"(?:^|[=/:,'\"])<([A-Za-z][\w \-./]*)>(?:$|[/:,'\"])")
_QUOTE = pattern(r"(?:--?[\w-]+=)?([\"'])")
_FILL_IN = pattern(
    r"[ /]|(?-i:[A-Z]_[A-Z])|\b(?:path|your|specify|name|dir|directory|file|folder|here|insert|fill|value|user)\b|"
    r"_(?:path|dir|name|file|addr|address|host|port)\b|^(?:path|your)_",
    re.I,
)


class Unset(NamedTuple):
    """A parameter that has no value; `list`: all elements of an array."""

    name: str
    span: Span
    list: bool
    certain: bool


class Remarks:
    """Collects remarks while a script is evaluated."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, Source, int, int], Remark] = {}
        self.pending: list[Remark] = []
        self.unset: list[Unset] = []
        self.unsure: dict[str, list[Unset]] = {}
        self.sources: list[tuple[Source, Syntax]] = []
        self.unresolved = False

    def add(self, remark: Remark) -> None:
        key = (remark.kind, remark.span.source, remark.span.start, remark.span.end)
        self.found.setdefault(key, remark)

    # ---------------------------------------------------------------- notes

    def begin(self) -> None:
        """The words of a new command are about to be expanded."""
        self.pending.clear()
        self.unset.clear()

    def hold(self) -> tuple[list[Remark], list[Unset]]:
        """Put notes aside while a substitution inside the words runs."""
        held = self.pending, self.unset
        self.pending, self.unset = [], []
        return held

    def resume(self, held: tuple[list[Remark], list[Unset]]) -> None:
        self.pending, self.unset = held

    def note_split(self, state: State, token: Token, source: Source, words: Sequence[Word]) -> None:
        """A value fell apart into words."""
        part = next((p for p in token.parts if isinstance(p, Parameter) and not p.quoted), None)
        if part is None:
            return
        use = source.span(token.start, token.end)
        if part.subscript is not None or part.name in ("@", "*"):
            self._elements(state, token, part, use, words)
        else:
            self._quotes(state, part, use, words)

    def _elements(
        self, state: State, token: Token, part: Parameter, use: Span, words: Sequence[Word]
    ) -> None:
        groups: dict[Span, list[Word]] = {}
        for word in words:
            groups.setdefault(word.span, []).append(word)
        for span, group in groups.items():
            if group[0].text.display().startswith("-"):
                continue
            if len(group) < 2 or span == use or not re.match(r"[\w-]*=?[\"']", span.text):
                continue
            values = {
                "name": part.name,
                "value": " ".join(word.text.display() for word in group)[:100],
                "count": len(group),
            }
            edits: tuple[tuple[Span, str], ...] = ()
            if len(token.parts) == 1:
                edits = ((use, f'"{use.text}"'),)
            related = (Related(use, "expanded without quotes here"),)
            self.pending.append(Remark("element-falls-apart", span, values, related, edits, state.conditions))

    def _quotes(self, state: State, part: Parameter, use: Span, words: Sequence[Word]) -> None:
        for number, word in enumerate(words):
            text = word.text.value or ""
            found = _QUOTE.match(text) if "'" in text or '"' in text else None
            if not found:
                continue
            quote = found[1]
            ends = [w for w in words[number:] if (w.text.value or "").endswith(quote)]
            if not ends or (ends[0] is word and len(text) == len(found[0])):
                continue
            values = {"word": text[:60], "name": part.name, "quote": quote}
            related = (Related(use, f"${part.name} falls apart here"),)
            self.pending.append(Remark("literal-quotes", word.span, values, related, (), state.conditions))
            return

    def note_unset(self, part: Parameter, source: Source, *, certain: bool) -> None:
        """A variable without a value was read; `certain`: the caller cannot have set it."""
        if part.name.isidentifier():
            span = source.span(part.start, part.end)
            note = Unset(part.name, span, part.subscript is not None, certain)
            self.unset.append(note)

    def note_source(self, source: Source, syntax: Syntax) -> None:
        """A file was read as part of the script."""
        if all(known is not source for known, _ in self.sources):
            self.sources.append((source, syntax))

    def flush(self, state: State, *, command: bool) -> None:
        """What was noted reaches a command, or an array or string of options."""
        if command:
            for remark in self.pending:
                self.add(remark)
        for note in self.unset:
            if note.certain:
                values: dict[str, object] = {
                    "name": note.name,
                    "flag": _flag_before(note.span),
                    "list": note.list,
                }
                values["outer"] = note.list and stays_outside(note.name, note.span)
                self.add(Remark("unset-variable", note.span, values, (), (), state.conditions))
            else:
                self.unsure.setdefault(note.name, []).append(note)
        self.begin()

    def note_command(self, execution: Execution) -> None:
        """Placeholders and stray commas in a command."""
        words = execution.words
        for number, word in enumerate(words):
            text = word.text.display()
            if (text[:1] in _TYPOGRAPHIC or text[-1:] in _TYPOGRAPHIC) and words[0].text.value not in _SAY:
                self._typographic(execution, word, text)
            if "<" in text:
                self._placeholder(execution, word, text)
            if text.endswith(",") and word.text.known and 0 < number < len(words) - 1:
                before, after = words[number - 1].text.display(), words[number + 1].text.display()
                if before.startswith("--") and after.startswith("--") and word.span.text.endswith(","):
                    comma = word.span.source.span(word.span.end - 1, word.span.end)
                    values = {"flag": before, "value": text}
                    self.add(
                        Remark(
                            "comma-after-value", word.span, values, (), ((comma, ""),), execution.conditions
                        )
                    )

    def _typographic(self, execution: Execution, word: Word, text: str) -> None:
        """Quotes that a word processor made: bash knows none of them."""
        quote = text[0] if text[:1] in _TYPOGRAPHIC else text[-1]
        values = {"word": text[:60], "name": "", "quote": quote}
        self.add(Remark("typographic-quotes", word.span, values, (), (), execution.conditions))

    def _placeholder(self, execution: Execution, word: Word, text: str) -> None:
        found = _ANGLES.search(text)
        if not found or word.text.pieces[0].span.text.count("\n"):
            return
        bare = any(u.reason == "syntax" and u.text.startswith("<") for u in word.text.unknowns)
        if not bare and not _FILL_IN.search(found[1]):
            return
        place = next((p.span for p in word.text.pieces if "<" in p.text), word.span)
        quoted = place.source.data[max(0, place.start - 1) : place.start] in (b'"', b"'")
        if quoted and execution.conditions:
            bare = False  # it may stand on the branch for the machines that nobody has described yet
        values = {"placeholder": f"<{found[1]}>", "bare": bare}
        related = (Related(word.span, "used here"),) if place != word.span else ()
        self.add(Remark("placeholder", place, values, related, (), execution.conditions))

    # ---------------------------------------------------------------- at the end

    def finish(self, *, launches: bool) -> tuple[Remark, ...]:
        """All remarks on the sources of a script; `launches`: it runs commands of its own."""
        from preflight.shell.layout import find_layout

        for _, syntax in self.sources:
            for remark in find_layout(syntax):
                self.add(remark)
        if launches and not self.unresolved:
            self._names()
        remarks = self.found.values()
        return tuple(sorted(remarks, key=lambda r: (r.span.source.path, r.span.start, r.kind)))

    def _names(self) -> None:
        """Options that nothing uses, and names that are used and never assigned."""
        assigned: dict[str, Span] = {}
        options: dict[str, tuple[Span, str, int]] = {}
        for source, syntax in self.sources:
            for assignment in _assignments(syntax.block(0, len(source.data)), 0):
                span = source.span(assignment.start, assignment.start + len(assignment.name))
                assigned.setdefault(assignment.name, span)
                flags = _flags(source, assignment)
                if flags:
                    options.setdefault(assignment.name, (span, flags[0], len(flags)))
        text = b"\n".join(source.data for source, _ in self.sources)
        if b"${!" in re.sub(rb"\$\{!\w+\[", b"", text):
            return
        unused = _unused_names(assigned, text)
        for name, notes in self.unsure.items():
            lost = next((note.span for note in notes if note.list and stays_outside(name, note.span)), None)
            if lost is not None:
                values: dict[str, object] = {"name": name, "flag": "", "list": True, "outer": True}
                self.add(Remark("unset-variable", lost, values))
                continue
            nearest = "" if name in assigned else _nearest(name, unused)
            if nearest:
                related = (Related(assigned[nearest], f"{nearest} is assigned here, and nothing uses it"),)
                edit = ((notes[0].span, notes[0].span.text.replace(name, nearest)),)
                values = {"name": name, "nearest": nearest}
                self.add(Remark("misspelt-variable", notes[0].span, values, related, edit))
                options.pop(nearest, None)
            elif re.search(rb"#[^\n]*\b" + name.encode() + rb"\+?=", text):
                continue
            elif notes[0].list and name not in assigned and notes[0].span.source is self.sources[0][0]:
                blank: dict[str, object] = {"name": name, "flag": "", "list": True, "outer": False}
                self.add(Remark("unset-variable", notes[0].span, blank))
        for name in unused:
            if name in options:
                span, flag, count = options[name]
                self.add(Remark("unused-options", span, {"name": name, "flag": flag, "count": count}))


def stays_outside(name: str, span: Span) -> bool:
    """Whether the script around the one that asks for an array assigns it: no shell hands arrays to another."""
    outer, key = span.resolve().source, name.encode()
    if outer is span.source or not re.search(rb"\b%s\+?=\(" % key, outer.data):
        return False
    own = rb"\b%s\+?=|(?:declare|local|typeset)\b.*\b%s\b" % (key, key)
    return re.search(own, span.source.data) is None


def _assignments(node: object, depth: int) -> Iterable[Assignment]:
    if isinstance(node, Assignment):
        yield node
    elif isinstance(node, Simple):
        if not node.arguments or not node.assignments:
            for part in (*node.assignments, *node.arguments):
                if isinstance(part, Assignment):
                    yield part
    elif isinstance(node, tuple) and depth < 60 and not isinstance(node, Token):
        for part in node:
            if isinstance(part, tuple):
                yield from _assignments(part, depth + 1)


def _flags(source: Source, assignment: Assignment) -> list[str]:
    """The flags in an array or string of options."""
    if assignment.elements is not None:
        texts = [source.span(token.start, token.end).text for _, _, token in assignment.elements]
        found = [text for text in texts if re.match(r"--[a-z]", text)]
        return found if texts and texts[0].startswith("--") else []
    if assignment.value is None:
        return []
    value = source.span(assignment.value.start, assignment.value.end).text.strip("\"'").lstrip(" \\\n\t")
    return re.findall(r"(?:^|\s)(--[a-z][\w-]*)", value) if re.match(r"--[a-z]", value) else []


def _unused_names(assigned: Iterable[str], text: bytes) -> list[str]:
    """Names that stand nowhere but on the left side of an assignment."""
    expanded = set(_EXPANDED.findall(text))
    unused = [name for name in assigned if name.encode() not in expanded]
    used = _used_names(text) if unused else set()
    return [name for name in unused if name.encode() not in used]


def _used_names(text: bytes) -> set[bytes]:
    """Names that stand anywhere but on the left side of an assignment."""
    used: set[bytes] = set()
    for found in _NAMES.finditer(text):
        name, assigned = found[1], found[2]
        if name in used:
            continue
        if assigned is None or text[max(0, found.start() - 2) : found.start()].endswith((b"$", b"${", b"!")):
            used.add(name)
            continue
        line = text.rfind(b"\n", 0, found.start()) + 1
        if _EXPORTED.match(text, line, found.start()):
            used.add(name)
    return used


_EXPANDED = pattern(rb"\$\{?[#!]?([A-Za-z_]\w*)")
_NAMES = pattern(rb"(?<![\w-])([A-Za-z_]\w*)(?![\w-])((?:\[[^\]\n]*\])?\+?=)?")
_EXPORTED = pattern(rb"\s*(?:export|declare\s+-\w*x)")


def _nearest(name: str, names: Sequence[str]) -> str:
    """A name that differs by a slip of the pen, not by a number."""
    from difflib import SequenceMatcher

    for other in names:
        if re.sub(r"\d", "", other) == re.sub(r"\d", "", name) or other[0].lower() != name[0].lower():
            continue
        plain = other.replace("_", "").lower(), name.replace("_", "").lower()
        if plain[0] == plain[1] or (len(name) > 4 and SequenceMatcher(None, other, name).ratio() >= 0.88):
            return other
    return ""


def _flag_before(span: Span) -> str:
    """The flag whose value a parameter was to be."""
    data = span.source.data
    line = data[max(0, span.start - 200) : span.start]
    found = re.search(rb"(?:^|\s)(--?[A-Za-z][\w-]*)(?:[ \t]+|=)[\"']?$", line)
    return found[1].decode() if found else ""
