"""From bytes to LibCST nodes with places.

In: a `Source`.  Out: a `Tree`: the statements of each stretch of it and the span of each node, both worked out when
first asked for, and string literals as pieces that map to their bytes.  Refuses, with an `Unknown`, what is no Python,
too large, or nested deeper than people write: LibCST's parser recurses natively and must not see such input.
"""

from __future__ import annotations

import ast
import re
import unicodedata
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import libcst as cst

from preflight.python.insides import Inside, number_of
from preflight.python.places import locate
from preflight.python.stretches import Stretch, divide
from preflight.source import Source, Span
from preflight.values import PLACEHOLDER, Piece, Unknown

if TYPE_CHECKING:
    from preflight.python.objects import Value

MAXIMUM_SIZE = 2 * 1024 * 1024
"""Largest file that is parsed, in bytes."""

MAXIMUM_DEPTH = 300
"""Deepest nesting, in levels of the syntax tree."""

NODE = 6.0
"""What it costs LibCST to read a node, in bytes of code as it is usually written."""

BYTE = 0.3
"""What it costs it to read a byte besides."""

_HOLE = "\ua000"
"""Stands for a placeholder while parsing: as many bytes, and a letter to Python."""

_ESCAPE = re.compile(
    r"\\(?:\r\n|[\n\r\\'\"abfnrtv]|[0-7]{1,3}|x[0-9a-fA-F]{2}|N\{[^}]*\}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|\r\n?"
)
_BRACE = re.compile(r"\{\{|\}\}")
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SIMPLE.update({"\\": "\\", "'": "'", '"': '"', "\n": "", "\r": "", "\r\n": ""})


class Tree:
    """A file. `read_off` keeps what was read off its syntax, and `literals` values, by the nodes' identity.

    `refused` says that a part of it was not understood, though the interpreter accepts it; `parsed`: how many
    characters LibCST has read, and `weight` what it costs to read all, in bytes of code as it is usually written.
    """

    __slots__ = (
        "_insides",
        "_modules",
        "_open",
        "_places",
        "_shift",
        "_shown",
        "_spans",
        "literals",
        "parsed",
        "read_off",
        "refused",
        "source",
        "stretches",
        "unknowns",
        "weight",
    )

    def __init__(
        self, source: Source, parts: tuple[list[Stretch], int], unknowns: Mapping[int, Piece], shift: int
    ) -> None:
        self.source = source
        self.stretches, self.weight = parts
        self.unknowns = unknowns
        self._shift = shift
        self._shown: dict[int, str] = {}
        self.read_off: dict[object, object] = {}
        self.literals: dict[int, Value] = {}
        self.refused = False
        self._places: dict[int, tuple[int, int]] = {}
        self._open: list[tuple[cst.Module, int]] = []
        self._insides: dict[int, Inside] = {}
        # Nodes are known by their identity, which another node could have after them.
        self._modules: list[cst.Module] = []
        self.parsed = 0
        self._spans: dict[int, Span] = {}

    def statements(self, stretch: Stretch) -> list[cst.CSTNode]:
        """The statements of a stretch; none where LibCST does not understand it."""
        if stretch.body is None:
            text, insides = stretch.hollow()
            self._insides.update((inside.number, inside) for inside in insides)
            self.parsed += stretch.size
            module = self._parse(text, stretch.start, stretch.ready)
            stretch.body = list(module.body) if module is not None else []
        return stretch.body

    def inside(self, node: cst.FunctionDef) -> Inside | None:
        """What was left out when a method was parsed."""
        number = number_of(node)
        return self._insides.get(number) if number is not None else None

    def body(self, node: cst.FunctionDef) -> cst.BaseSuite:
        """The statements of a function; none where LibCST does not understand them."""
        inside = self.inside(node)
        if inside is None:
            return node.body
        if inside.suite is not None:
            return inside.suite
        self.parsed += inside.size
        return inside.fill(self._parse(inside.text, inside.start))

    def _parse(self, text: str, start: int, ready: cst.Module | None = None) -> cst.Module | None:
        module = ready or _parse(text)
        self.refused = self.refused or module is None
        if module is not None:
            self._open.append((module, start + self._shift))
            self._modules.append(module)
        return module

    def span(self, node: cst.CSTNode) -> Span:
        """Where a node stands; the start of the file where that cannot be said."""
        found = self._spans.get(id(node))
        if found is None:
            place = self._places.get(id(node))
            if place is None and self._open:
                plain = self.source.data.isascii()
                for module, start in self._open:
                    self._places.update(locate(module, plain, start))
                self._open.clear()
                place = self._places.get(id(node))
            if place is None:
                return Span(self.source, 0, 0)
            found = self._spans[id(node)] = Span(self.source, *place)
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
    if "\0" in text:
        return Unknown("syntax", f"{source.path}: not understood as Python")
    parts = _read(text)
    if parts is None:
        return Unknown("syntax", f"{source.path}: not understood as Python")
    return Tree(source, parts, unknowns, shift)


def _read(text: str) -> tuple[list[Stretch], int] | None:
    """The stretches of a text and its weight; a single one, already parsed, of syntax that only LibCST knows."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
    except SyntaxError:
        return _read_whole(text) if _brackets(text) <= 50 else None
    except (RecursionError, MemoryError, ValueError):
        return None
    nodes = _count_nodes(module)
    return None if nodes is None else (divide(text, module), int(nodes * NODE + len(text) * BYTE))


def _read_whole(text: str) -> tuple[list[Stretch], int] | None:
    module = _parse(text)
    if module is None:
        return None
    whole = Stretch("other", [], 0, text)
    whole.ready = module
    return [whole], len(text)


def _parse(text: str) -> cst.Module | None:
    try:
        return cst.parse_module(text)
    except (cst.ParserSyntaxError, RecursionError, ValueError, TypeError):
        return None


def _count_nodes(module: ast.Module) -> int | None:
    """How many nodes there are; None where they nest deeper than the limit. The interpreter's parser guards itself."""
    level: list[ast.AST] = [module]
    count = 0
    for _ in range(MAXIMUM_DEPTH):
        count += len(level)
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return count
    return None


def _brackets(text: str) -> int:
    """A bound of the nesting where the interpreter does not parse the file (newer syntax, older Python)."""
    if len(re.findall(r"\b(?:not|lambda|elif|else|and|or|await)\b|[-+~*]", text)) > 2000:
        return MAXIMUM_DEPTH
    depth = deepest = 0
    for character in re.findall(r"[(\[{)\]}]", text):
        depth = depth + 1 if character in "([{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest
