"""The structure of a script: statements, from tree-sitter's tree.

In: a range of a source.  Out: a `Block` of statement records; their words come from the lexer, which reads the
bytes themselves (tree-sitter has no nodes for blanks, and misreads some words).  Before tree-sitter sees the
text, here-documents are blanked out byte for byte; where it still reports an error, quotes and expansions are
blanked too and the rest read again.  What remains unreadable becomes `Broken`, never a guess.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from preflight.patterns import pattern
from preflight.shell.ends import UnreadableError
from preflight.shell.lexer import TEMPLATE, Lexer
from preflight.shell.masking import DOUBLED, NEGATED_GROUP, mask
from preflight.shell.parts import Redirect, Token
from preflight.shell.statements import (
    Background,
    Block,
    Both,
    Broken,
    Case,
    Choice,
    Compute,
    Conditional,
    Count,
    For,
    Function,
    Group,
    If,
    Negation,
    Pipeline,
    Redirected,
    Statement,
    Subshell,
    While,
)
from preflight.source import Source
from preflight.values import Piece

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tree_sitter import Node, Parser

MAXIMUM_DEPTH = 100
MAXIMUM_FAILURES = 50
MAXIMUM_SIZE = 2 * 1024 * 1024
"""Largest script that is parsed, in bytes."""


_parser: Parser | None = None
_SIMPLE = frozenset(
    ("command", "declaration_command", "unset_command", "variable_assignment", "variable_assignments")
)
_WORD_NODES = frozenset(
    ("word", "concatenation", "number", "string", "raw_string", "simple_expansion", "expansion")
)
_BODY_NODES = frozenset(("heredoc_body", "heredoc_end", "comment"))


def load_parser() -> Parser:
    """The parser of bash."""
    global _parser
    if _parser is None:
        library, grammar = load_binding("tree_sitter"), load_binding("tree_sitter_bash")
        _parser = library.Parser(library.Language(grammar.language()))
    return _parser


def load_binding(package: str) -> Any:
    """A package's extension module; the packages' own first modules cost more than a parse and are passed by."""
    from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec, PathFinder

    found = PathFinder.find_spec(package)
    for folder in (found.submodule_search_locations or ()) if found is not None else ():
        for suffix in EXTENSION_SUFFIXES:
            path = os.path.join(folder, f"_binding{suffix}")
            if os.path.isfile(path):
                name = f"{package}._binding"
                loader = ExtensionFileLoader(name, path)
                module = loader.create_module(ModuleSpec(name, loader, origin=path))
                loader.exec_module(module)
                return module
    return __import__(package)


class Syntax:
    """The statements of one source, by range."""

    def __init__(self, source: Source, unknowns: dict[int, Piece] | None = None) -> None:
        self.source = source
        self.lexer = Lexer(source, unknowns)
        self._blocks: dict[tuple[int, int], Block] = {}
        self.summaries: dict[int, tuple[object, tuple[frozenset[str], frozenset[str]]]] = {}
        """What nodes assign and run (see `assigned`), by their identity."""

    def block(self, start: int, end: int) -> Block:
        """The statements in a range: the whole source, or the inside of a substitution."""
        if (start, end) not in self._blocks:
            self._blocks[start, end] = self._read(start, end)
        return self._blocks[start, end]

    def _read(self, start: int, end: int) -> Block:
        if end - start > MAXIMUM_SIZE:
            return (Broken(start, end, f"larger than {MAXIMUM_SIZE // 2**20} MiB"),)
        data = self.source.data[start:end]
        if b"\0" in data:
            return (Broken(start, end, "not text"),)
        single = self._single(start, end, data)
        if single is not None:
            return single
        plain = b"<" not in data or (b"<<" not in data and not TEMPLATE.search(data))
        plain = plain and not NEGATED_GROUP.search(data)
        masked = data if plain else mask(self.lexer, start, end, words=False)
        if b"2>&1" in masked:
            masked = DOUBLED.sub(b"    ", masked)
        root = load_parser().parse(masked).root_node
        if root.has_error:
            masked = DOUBLED.sub(b"    ", mask(self.lexer, start, end, words=True))
            root = load_parser().parse(masked).root_node
        self.lexer.depth = 0
        return _Reader(self.lexer, start, end, masked).block(root.children)

    def _single(self, start: int, end: int, data: bytes) -> Block | None:
        """A lone simple command needs no tree."""
        if len(data) > 400 or _COMPOUND.search(data):
            return None
        try:
            command = self.lexer.simple(start, end)
        except UnreadableError:
            return None
        rest = self.source.data[command.end : end]
        return (command,) if not rest.strip() else None


_RESERVED = pattern(
    rb"(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|select|function|in|\{|\}|\[\[)(?=[\s;]|$)|[()<>|&;]"
)
_TEST = pattern(rb"\[\[\s")
_IN = pattern(rb"(?:\s|\\\n)*(?<=\s)in(?=[\s;])")
_COMPOUND = pattern(
    rb"[\n;&|(){}#]|<<|\b(?:if|for|while|until|case|select|function|time|coproc)\b|(?:^|\s)!\s|\[\["
)


class _Reader:
    """Turns nodes into statements; offsets of nodes count from `base`."""

    def __init__(self, lexer: Lexer, base: int, end: int, masked: bytes, depth: int = 0) -> None:
        self.lexer = lexer
        self.masked = masked
        self.origin = base
        self.data = lexer.data
        self.base = base
        self.end = end
        self.cursor = base
        self.depth = depth

    def block(self, nodes: Iterable[Node]) -> Block:
        out: list[Statement] = []
        for node in nodes:
            start = self.base + node.start_byte
            if start < self.cursor:
                if node.type in _SIMPLE or not node.is_named or self.base + node.end_byte <= self.cursor:
                    continue
                start = self.cursor
            if not node.is_named:
                if node.type == "&" and out:
                    body = out.pop()
                    out.append(Background(body.start, body.end, body))
                continue
            if node.type in _BODY_NODES:
                continue
            statement = self.statement(node)
            if isinstance(statement, Broken) and not self.data[start : statement.end].strip(b" \t\r\n\\"):
                continue
            if isinstance(statement, Redirected) and not statement.redirects:
                statement = statement.body
            out.append(statement)
        return tuple(out)

    def statement(self, node: Node) -> Statement:
        start, end = self.base + node.start_byte, self.base + node.end_byte
        self.depth += 1
        try:
            if self.depth > MAXIMUM_DEPTH:
                self.cursor = max(self.cursor, end)
                return Broken(start, end, "too deeply nested")
            kind = node.type
            if kind == "command" and _TEST.match(self.data, start):
                return self.masked_test(start, end)
            if (
                kind in _SIMPLE
                or kind in _WORD_NODES
                or (kind == "test_command" and self.data[start : start + 2] != b"[[")
            ):
                return self.simple(start, end)
            reader = getattr(self, "_" + kind, None)
            if reader is None:
                self.cursor = max(self.cursor, end)
                return Broken(start, end, "syntax not understood")
            statement: Statement = reader(node, start, end)
            self.cursor = max(self.cursor, end)
            return statement
        except UnreadableError as error:
            self.lexer.failures += 1
            if self.lexer.failures > MAXIMUM_FAILURES:
                end = self.end
            self.cursor = max(self.cursor, end)
            return Broken(start, end, error.message)
        finally:
            self.depth -= 1

    def simple(self, start: int, end: int) -> Statement:
        """A simple command ends where the lexer says; what the tree has behind it is read again."""
        self.lexer.depth = 0
        command = self.lexer.simple(start, self.end)
        self.cursor = max(self.cursor, command.end)
        rest = self.data[command.end : end]
        follower = self.data[command.end : command.end + 1]
        if follower == b"(":
            self.cursor = max(self.cursor, end)
            return Broken(start, end, "syntax not understood")
        if command.end >= end or not rest.split(b"#")[0].strip(b" \t\r\n\\"):
            return command
        self.cursor = max(self.cursor, end)
        if follower not in (b"\n", b";", b"&") or command.end == start:
            return Broken(start, end, "syntax not understood")
        text = self.masked[command.end - self.origin : end - self.origin]
        root = load_parser().parse(text).root_node
        reader = _Reader(self.lexer, command.end, self.end, self.masked, self.depth)
        reader.origin = self.origin
        following = reader.block(root.children)
        self.cursor = max(self.cursor, reader.cursor)
        return Group(start, end, (command, *following))

    def masked_test(self, start: int, end: int) -> Statement:
        """A `[[ ... ]]` that was one word to the tree."""
        at = start - self.origin
        while at < len(self.masked) and self.masked[at] == 0x78:
            at += 1
        stop = at + self.origin
        self.cursor = max(self.cursor, stop)
        if stop < start + 4 or self.data[stop - 2 : stop] != b"]]":
            self.cursor = max(self.cursor, end)
            return Broken(start, end, "syntax not understood")
        return Conditional(start, stop, (start + 2, stop - 2))

    # One method for each kind of node.

    def _ERROR(self, node: Node, start: int, end: int) -> Statement:
        """What the tree cannot read may still begin with simple commands."""
        if _RESERVED.match(self.data, start, end):
            return Broken(start, end, "syntax not understood")
        return self.simple(start, end)

    def _list(self, node: Node, start: int, end: int) -> Statement:
        left: Statement | None = None
        operator = ""
        for child in node.children:
            if not child.is_named:
                operator = child.type if child.type in ("&&", "||") else operator
            elif child.type not in _BODY_NODES and self.base + child.start_byte >= self.cursor:
                right = self.statement(child)
                left = right if left is None else Both(left.start, right.end, left, operator, right)
        return left if left is not None else Broken(start, end, "syntax not understood")

    def _pipeline(self, node: Node, start: int, end: int) -> Statement:
        stages = [self.statement(child) for child in node.children if self._is_new(child)]
        if stages and isinstance(stages[0], Negation):
            first = stages[0]
            inner = Pipeline(first.body.start, end, (first.body, *stages[1:]))
            return Negation(start, end, inner)
        return stages[0] if len(stages) == 1 else Pipeline(start, end, tuple(stages))

    def _is_new(self, node: Node) -> bool:
        return node.is_named and node.type not in _BODY_NODES and self.base + node.start_byte >= self.cursor

    def _negated_command(self, node: Node, start: int, end: int) -> Statement:
        inner = [child for child in node.children if child.is_named and child.type not in _BODY_NODES]
        if len(inner) != 1:
            return Broken(start, end, "syntax not understood")
        return Negation(start, end, self.statement(inner[0]))

    def _redirected_statement(self, node: Node, start: int, end: int) -> Statement:
        body: Statement | None = None
        redirects: list[Redirect] = []
        for child in node.children:
            at = self.base + child.start_byte
            if at < self.cursor or not child.is_named:
                continue
            if child.type.endswith("_redirect"):
                self._redirects(at, redirects)
            elif body is None and child.type not in _BODY_NODES:
                body = self.statement(child)
        if body is None:
            return self.simple(start, end)
        return Redirected(start, end, body, tuple(redirects)) if redirects else body

    def _redirects(self, at: int, out: list[Redirect]) -> None:
        """Redirections behind a compound command, from `at` on."""
        command = self.lexer.simple(at, self.end)
        out.extend(command.redirects)
        self.cursor = max(self.cursor, command.end)

    def _if_statement(self, node: Node, start: int, end: int) -> Statement:
        branches: list[tuple[Block, Block]] = []
        otherwise: Block = ()
        condition, body = self._clause(node, ("elif_clause", "else_clause"))
        branches.append((condition, body))
        for child in node.children:
            if child.type == "elif_clause":
                branches.append(self._clause(child, ()))
            elif child.type == "else_clause":
                otherwise = self.block(c for c in child.children if c.type != "else")
        return If(start, end, tuple(branches), otherwise)

    def _clause(self, node: Node, without: tuple[str, ...]) -> tuple[Block, Block]:
        condition: list[Node] = []
        body: list[Node] = []
        target = condition
        for child in node.children:
            if child.type == "then" and not child.is_named:
                target = body
            elif child.type in without:
                break
            elif child.type not in ("if", "elif", "fi"):
                target.append(child)
        return self.block(condition), self.block(body)

    def _while_statement(self, node: Node, start: int, end: int) -> Statement:
        until = False
        condition: list[Node] = []
        body: Block = ()
        head: Block = ()
        for child in node.children:
            if child.type in ("while", "until") and not child.is_named:
                until = child.type == "until"
            elif child.type == "do_group":
                head = self.block(condition)
                body = self._do(child)
            else:
                condition.append(child)
        return While(start, end, until, head, body)

    def _do(self, node: Node) -> Block:
        return self.block(c for c in node.children if c.is_named or c.type not in ("do", "done"))

    def _for_statement(self, node: Node, start: int, end: int) -> Statement:
        variable = node.child_by_field_name("variable")
        if variable is None:
            return Broken(start, end, "syntax not understood")
        name = self.data[self.base + variable.start_byte : self.base + variable.end_byte].decode(
            "utf-8", "replace"
        )
        words: tuple[Token, ...] | None = None
        body: Block = ()
        listed = _IN.match(self.data, self.base + variable.end_byte, end)
        if listed:
            words = tuple(self._tokens(listed.end(), end))
            self.cursor = max(self.cursor, words[-1].end if words else listed.end())
        for child in node.children:
            if child.type in ("do_group", "compound_statement"):
                body = self._do(child) if child.type == "do_group" else (self.statement(child),)
        return For(start, end, name, words, body, node.children[0].type == "select")

    def _tokens(self, at: int, end: int) -> Iterator[Token]:
        while True:
            at = self.lexer.blank(at, end)
            if at >= end or self.data[at] in b"\n;&|#":
                return
            token, stop = self.lexer.word(at, end)
            if stop == at:
                return
            at = stop
            yield token

    def _c_style_for_statement(self, node: Node, start: int, end: int) -> Statement:
        opening = self.data.find(b"((", start, end) + 2
        close = self.lexer.close_arithmetic(opening, end)
        body: Block = ()
        if close is None:
            return Broken(start, end, "syntax not understood")
        inside, header, at = self.data[opening : close - 2], [], opening
        for part in inside.split(b";"):
            header.append((at, at + len(part)))
            at += len(part) + 1
        if len(header) != 3:
            return Broken(start, end, "syntax not understood")
        self.cursor = max(self.cursor, close)
        for child in node.children:
            if child.type == "do_group":
                body = self._do(child)
            elif child.type == "compound_statement" and self.base + child.start_byte >= close:
                body = (self.statement(child),)
        return Count(start, end, tuple(header), body)

    def _case_statement(self, node: Node, start: int, end: int) -> Statement:
        subject, at = self.lexer.word(self.lexer.blank(start + 4, end), end)
        self.cursor = max(self.cursor, at)
        choices = [self._choice(child) for child in node.children if child.type == "case_item"]
        return Case(start, end, subject, tuple(choices))

    def _choice(self, node: Node) -> Choice:
        start, end = self.base + node.start_byte, self.base + node.end_byte
        at, patterns = start, []
        if self.data[at] == 0x28:
            at += 1
        while at < end:
            at = self.lexer.blank(at, end)
            character = self.data[at]
            if character == 0x29:
                at += 1
                break
            if character == 0x7C:
                at += 1
                continue
            token, stop = self.lexer.word(at, end)
            if stop == at:
                raise UnreadableError("syntax not understood", at)
            patterns.append(token)
            at = stop
        self.cursor = max(self.cursor, at)
        terminator = ";;"
        inner: list[Node] = []
        for child in node.children:
            if not child.is_named and child.type in (";;", ";&", ";;&"):
                terminator = child.type
            elif self.base + child.start_byte >= at:
                inner.append(child)
        return Choice(start, end, tuple(patterns), self.block(inner), terminator)

    def _function_definition(self, node: Node, start: int, end: int) -> Statement:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return Broken(start, end, "syntax not understood")
        text = self.data[self.base + name.start_byte : self.base + name.end_byte].decode("utf-8", "replace")
        inner = self.statement(body)
        redirects: list[Redirect] = []
        for child in node.children:
            if child.type.endswith("_redirect") and self.base + child.start_byte >= self.cursor:
                self._redirects(self.base + child.start_byte, redirects)
        if redirects:
            inner = Redirected(inner.start, end, inner, tuple(redirects))
        return Function(start, end, text, inner)

    def _compound_statement(self, node: Node, start: int, end: int) -> Statement:
        if self.data[start : start + 2] == b"((":
            return Compute(start, end, (start + 2, end - 2))
        group = Group(start, end, self.block(c for c in node.children if c.type not in ("{", "}")))
        mark = self.data.rfind(b"!", self.base, start)
        if mark >= 0 and NEGATED_GROUP.match(self.data, mark) and self.masked[mark - self.origin] == 0x20:
            between = self.data[mark + 1 : start]
            return group if between.strip() else Negation(mark, end, group)
        return group

    def _subshell(self, node: Node, start: int, end: int) -> Statement:
        return Subshell(start, end, self.block(c for c in node.children if c.type not in ("(", ")")))

    def _test_command(self, node: Node, start: int, end: int) -> Statement:
        return Conditional(start, end, (start + 2, end - 2))
