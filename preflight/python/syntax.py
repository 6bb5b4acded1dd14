"""From bytes to a LibCST tree with places.

In: a `Source`.  Out: a `Tree`: the module, the span of each node (worked out when first asked for), and string
literals as pieces that map to their bytes.  Refuses, with an `Unknown`, what is no Python, too large, or
nested deeper than people write: LibCST's parser recurses natively and must not see such input.
"""

from __future__ import annotations

import ast
import re
import sys
import unicodedata
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import libcst as cst
from libcst._nodes.internal import CodegenState

from preflight.source import Source, Span
from preflight.values import PLACEHOLDER, Piece, Unknown

if TYPE_CHECKING:
    from preflight.python.objects import Value

MAXIMUM_SIZE = 2 * 1024 * 1024
"""Largest file that is parsed, in bytes."""

MAXIMUM_DEPTH = 300
"""Deepest nesting, in levels of the syntax tree."""

_HOLE = "\ua000"
"""Stands for a placeholder while parsing: as many bytes, and a letter to Python."""

_ESCAPE = re.compile(
    r"\\(?:\r\n|[\n\r\\'\"abfnrtv]|[0-7]{1,3}|x[0-9a-fA-F]{2}|N\{[^}]*\}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|\r\n?"
)
_BRACE = re.compile(r"\{\{|\}\}")
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SIMPLE.update({"\\": "\\", "'": "'", '"': '"', "\n": "", "\r": "", "\r\n": ""})


class Tree:
    """A parsed file. `read_off` keeps what was read off its syntax, and `literals` values, by the nodes' identity."""

    __slots__ = (
        "_places",
        "_shift",
        "_shown",
        "_spans",
        "literals",
        "module",
        "read_off",
        "source",
        "unknowns",
    )

    def __init__(self, source: Source, module: cst.Module, unknowns: Mapping[int, Piece], shift: int) -> None:
        self.source = source
        self.module = module
        self.unknowns = unknowns
        self._shift = shift
        self._shown: dict[int, str] = {}
        self.read_off: dict[object, object] = {}
        self.literals: dict[int, Value] = {}
        self._places: dict[int, tuple[int, int]] | None = None
        self._spans: dict[int, Span] = {}

    def span(self, node: cst.CSTNode) -> Span:
        """Where a node stands; the start of the file where that cannot be said."""
        found = self._spans.get(id(node))
        if found is None:
            if self._places is None:
                self._places = _locate(self.module, self.source.data.isascii())
            place = self._places.get(id(node))
            if place is None:
                return Span(self.source, 0, 0)
            found = self._spans[id(node)] = Span(self.source, place[0] + self._shift, place[1] + self._shift)
        return found

    def shown(self, node: cst.CSTNode, limit: int = 80) -> str:
        """The node as the user wrote it, on one line and not too long."""
        text = self._shown.get(id(node))
        if text is None:
            text = self._shown[id(node)] = " ".join(self.span(node).text.split())
        return text if len(text) <= limit else text[: limit - 3] + "..."

    def holes(self, start: int, text: str) -> list[Piece]:
        """A stretch of the source as a piece, or as several where placeholders stand in it."""
        pieces: list[Piece] = []
        at = start
        for part in re.split(f"({_HOLE})", text) if self.unknowns else (text,):
            size = len(part.encode("utf-8", "replace"))
            if part == _HOLE and at in self.unknowns:
                pieces.append(self.unknowns[at])
            elif part:
                pieces.append(Piece(part, Span(self.source, at, at + size)))
            at += size
        return pieces

    def decode(self, start: int, raw: str, plain: bool, braces: bool) -> list[Piece]:
        """The characters of a literal's inside that begins at byte `start`: escapes and `{{` resolved."""
        pieces: list[Piece] = []
        at, offset = 0, start
        for match in _escapes(raw, plain, braces):
            before = raw[at : match.start()]
            pieces.extend(self.holes(offset, before))
            offset += len(before.encode("utf-8", "replace"))
            size = len(match.group().encode("utf-8", "replace"))
            meaning = _meaning(match.group())
            if meaning:
                pieces.append(Piece(meaning, Span(self.source, offset, offset + size)))
            offset += size
            at = match.end()
        pieces.extend(self.holes(offset, raw[at:]))
        return pieces


def _escapes(raw: str, plain: bool, braces: bool) -> Iterator[re.Match[str]]:
    if plain and not braces:
        return re.finditer("\r\n?", raw)
    if plain:
        return _BRACE.finditer(raw)
    if braces:
        return re.finditer(_ESCAPE.pattern + "|" + _BRACE.pattern, raw)
    return _ESCAPE.finditer(raw)


def _meaning(escape: str) -> str:
    if escape in ("{{", "}}"):
        return escape[0]
    if escape[0] == "\r":
        return "\n"
    body = escape[1:]
    if body in _SIMPLE:
        return _SIMPLE[body]
    try:
        if body[0] == "N":
            return unicodedata.lookup(body[2:-1])
        return chr(int(body[1:], 16) if body[0] in "xuU" else int(body, 8))
    except (KeyError, ValueError, OverflowError):
        return escape


class _Places(CodegenState):
    """Writes the module out as LibCST does, and notes in bytes where each node begins and ends.

    The same as LibCST's own provider of byte spans, which first visits and checks the whole tree, at several
    times the cost.
    """

    def __init__(self, module: cst.Module, plain: bool) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.plain = plain
        self.position = 0
        self.found: dict[int, tuple[int, int]] = {}
        self.starts: list[int] = []

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.position += len(token) if self.plain else len(token.encode("utf-8"))

    def add_token(self, value: str) -> None:
        self.position += len(value) if self.plain else len(value.encode("utf-8"))

    def before_codegen(self, node: cst.CSTNode) -> None:
        self.starts.append(self.position)

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self.starts.pop()
        self.found.setdefault(id(node), (start, self.position))

    def record_syntactic_position(  # type: ignore[override]
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> AbstractContextManager[None]:
        return _Mark(self, node, start_node, end_node)


class _Mark(AbstractContextManager[None]):
    """The stretch between entering and leaving, or from one inner node to another."""

    __slots__ = ("first", "last", "node", "places", "start")

    def __init__(
        self, places: _Places, node: cst.CSTNode, first: cst.CSTNode | None, last: cst.CSTNode | None
    ) -> None:
        self.places, self.node, self.first, self.last = places, node, first, last
        self.start = places.position

    def __exit__(self, *_: object) -> None:
        found = self.places.found
        start = found[id(self.first)][0] if self.first is not None else self.start
        end = found[id(self.last)][1] if self.last is not None else self.places.position
        found[id(self.node)] = (start, end)


def _locate(module: cst.Module, plain: bool) -> dict[int, tuple[int, int]]:
    with deep_recursion():
        places = _Places(module, plain)
        try:
            module._codegen(places)
        except (RecursionError, KeyError):
            return {}
        return places.found


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Let the walks over long implicit concatenations, which nest to the right, go to their end."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 12_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def parse(source: Source, unknowns: Mapping[int, Piece] = {}) -> Tree | Unknown:
    """Parse a file, or say why not."""
    data, shift = source.data, 0
    if data.startswith(b"\xef\xbb\xbf"):
        data, shift = data[3:], 3
    if len(data) > MAXIMUM_SIZE:
        return Unknown("syntax", f"{source.path}: larger than {MAXIMUM_SIZE // 2**20} MiB")
    for offset in unknowns:
        at = offset - shift
        data = data[:at] + _HOLE.encode() + data[at + len(PLACEHOLDER.encode()) :]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return Unknown("syntax", f"{source.path}: not UTF-8")
    if "\0" in text or _too_deep(text):
        return Unknown("syntax", f"{source.path}: not understood as Python")
    try:
        module = cst.parse_module(text)
    except (cst.ParserSyntaxError, RecursionError, ValueError, TypeError):
        return Unknown("syntax", f"{source.path}: not understood as Python")
    return Tree(source, module, unknowns, shift)


def _too_deep(text: str) -> bool:
    """Whether the nesting goes past the limit; the interpreter's own parser, which guards itself, says so."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            level: list[ast.AST] = [ast.parse(text)]
    except SyntaxError:
        return _brackets(text) > 50
    except (RecursionError, MemoryError, ValueError):
        return True
    for _ in range(MAXIMUM_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def _brackets(text: str) -> int:
    """A bound of the nesting where the interpreter does not parse the file (newer syntax, older Python)."""
    if len(re.findall(r"\b(?:not|lambda|elif|else|and|or|await)\b|[-+~*]", text)) > 2000:
        return MAXIMUM_DEPTH
    depth = deepest = 0
    for character in re.findall(r"[(\[{)\]}]", text):
        depth = depth + 1 if character in "([{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest
