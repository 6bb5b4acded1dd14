"""Where the nodes of a LibCST tree stand.

In: a parsed module.  Out: for each node, by its identity, the bytes where it begins and ends: as LibCST's own provider
of byte spans has it, at a fraction of its cost.  That visits and checks the whole tree and writes it out; here the
lengths of what would be written are added up, by a table of what each kind of node consists of.  Kinds that the table
does not have are written out by LibCST.  Spaces have no place: nobody asks for them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Listing
from contextlib import AbstractContextManager, contextmanager
from typing import Final

import libcst as cst
from libcst._nodes.internal import CodegenState


class _Mark:
    """What is no piece of a node, but stands between them."""

    def __init__(self, meaning: str) -> None:
        self.meaning = meaning


_BEGIN: Final = _Mark("the node's place begins: what comes before belongs to it, but is around it")
_END: Final = _Mark("it ends")
_FIRST: Final = _Mark("it begins with the first statement")
_INDENT: Final = _Mark("the indentation of the block")

_Part = str | int | _Mark | tuple[str] | Callable[["_Places", cst.CSTNode], None]
"""A field's name, the length of a word that is always there, or a mark; a field in a tuple ends the place with it."""


class _Places(CodegenState):
    """Adds up lengths; as LibCST's own state, it is handed to nodes that write themselves out."""

    def __init__(self, module: cst.Module, plain: bool, start: int) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.plain = plain
        self.position = start
        self.found: dict[int, tuple[int, int]] = {}
        self.starts: list[int] = []
        self.continued: set[int] = set()

    def place(self, node: cst.CSTNode) -> None:
        """Go past a node, and note where it stood."""
        parts = _LAYOUTS.get(type(node))
        if parts is None:
            node._codegen(self)
            return
        start, end = self.position, -1
        if parts is _WORD and not node.lpar:  # type: ignore[attr-defined]
            self.add_token(node.value)  # type: ignore[attr-defined]
            self.found[id(node)] = (start, self.position)
            return
        for part in parts:
            if type(part) is str:
                value = getattr(node, part)
                kind = type(value)
                if kind is cst.SimpleWhitespace:
                    self.position += len(value.value)
                elif kind is str:
                    self.add_token(value)
                elif kind is tuple or kind is list:
                    for each in value:
                        self.place(each)
                elif value is not None and kind is not cst.MaybeSentinel:
                    self.place(value)
            elif type(part) is int:
                self.position += part
            elif part is _BEGIN:
                start = self.position
            elif part is _END:
                end = self.position
            elif part is _FIRST:
                start = self.found[id(node.body[0])][0]  # type: ignore[attr-defined]
            elif part is _INDENT:
                self.add_indent_tokens()
            elif type(part) is tuple:
                end = max(self.place_all(getattr(node, part[0])), end)
            else:
                part(self, node)  # type: ignore[operator]
        self.found[id(node)] = (start, self.position if end < 0 else end)

    def place_all(self, value: Listing[cst.CSTNode] | cst.CSTNode | cst.MaybeSentinel | None) -> int:
        """Go past what a field holds; where the last node in it ends, or less than nothing where there is none."""
        nodes = (
            [value] if isinstance(value, cst.CSTNode) else value if isinstance(value, tuple | list) else []
        )
        for node in nodes:
            self.place(node)
        return self.found[id(nodes[-1])][1] if nodes else -1

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.add_token(token)

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
        return _Syntactic(self, node, start_node, end_node)


class _Syntactic(AbstractContextManager[None]):
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


def _deeper(places: _Places, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.IndentedBlock)
    places.increase_indent(places.default_indent if node.indent is None else node.indent)


def _back(places: _Places, node: cst.CSTNode) -> None:
    places.decrease_indent()


def _line_end(places: _Places, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.Newline)
    places.add_token(places.default_newline if node.value is None else node.value)


def _indentation(places: _Places, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.EmptyLine | cst.ParenthesizedWhitespace)
    if node.indent:
        places.add_indent_tokens()


def _if(places: _Places, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.If)
    places.position += len("elif" if id(node) in places.continued else "if")
    if isinstance(node.orelse, cst.If):
        places.continued.add(id(node.orelse))


def _colon(places: _Places, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.Param | cst.AnnAssign)
    if node.annotation is not None:
        _annotation(places, node.annotation, 1)


def _arrow(places: _Places, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.FunctionDef)
    if node.returns is not None:
        _annotation(places, node.returns, 2)


def _annotation(places: _Places, node: cst.Annotation, sign: int) -> None:
    places.place_all(node.whitespace_before_indicator)
    places.position += sign
    places.place_all(node.whitespace_after_indicator)
    start = places.position
    places.place(node.annotation)
    places.found[id(node)] = (start, places.position)


def _conversion(places: _Places, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.FormattedStringExpression)
    if node.conversion is not None:
        places.position += 1 + len(node.conversion)
    if node.format_spec is not None:
        places.position += 1
        places.place_all(node.format_spec)


def _expression(*parts: _Part) -> tuple[_Part, ...]:
    """What may stand in parentheses, which do not belong to its place."""
    return "lpar", _BEGIN, *parts, _END, "rpar"


def _item(*parts: _Part) -> tuple[_Part, ...]:
    return _BEGIN, *parts, _END, "comma"


def _small(*parts: _Part) -> tuple[_Part, ...]:
    return _BEGIN, *parts, _END, "semicolon"


def _sign(length: int) -> tuple[_Part, ...]:
    return "whitespace_before", _BEGIN, length, _END, "whitespace_after"


def _compound(*parts: _Part) -> tuple[_Part, ...]:
    return "leading_lines", _INDENT, _BEGIN, *parts


def _definition(*parts: _Part) -> tuple[_Part, ...]:
    return "leading_lines", "decorators", "lines_after_decorators", _INDENT, _BEGIN, *parts


_WORD = _expression("value")
_NAMED = ("name", "whitespace_after_name", "type_parameters", "whitespace_after_type_parameters")
_SUITE: tuple[_Part, ...] = ("whitespace_before_colon", 1, ("body",))

_LAYOUTS: Final[dict[type[cst.CSTNode], tuple[_Part, ...]]] = {
    # White space
    cst.SimpleWhitespace: ("value",),
    cst.Newline: (_line_end,),
    cst.Comment: ("value",),
    cst.TrailingWhitespace: ("whitespace", "comment", "newline"),
    cst.EmptyLine: (_indentation, "whitespace", "comment", "newline"),
    cst.ParenthesizedWhitespace: ("first_line", "empty_lines", _indentation, "last_line"),
    # Signs
    **dict.fromkeys((cst.Comma, cst.Dot, cst.AssignEqual, cst.Colon, cst.Semicolon), _sign(1)),
    **dict.fromkeys((cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.Modulo), _sign(1)),
    **dict.fromkeys((cst.LessThan, cst.GreaterThan), _sign(1)),
    **dict.fromkeys((cst.Equal, cst.LessThanEqual, cst.GreaterThanEqual, cst.FloorDivide), _sign(2)),
    **dict.fromkeys((cst.In, cst.Is, cst.Or, cst.AddAssign), _sign(2)),
    cst.And: _sign(3),
    **dict.fromkeys((cst.LeftParen, cst.LeftSquareBracket, cst.LeftCurlyBrace), (1, "whitespace_after")),
    **dict.fromkeys((cst.RightParen, cst.RightSquareBracket, cst.RightCurlyBrace), ("whitespace_before", 1)),
    # Expressions
    **dict.fromkeys((cst.Name, cst.Integer, cst.Float, cst.SimpleString), _WORD),
    cst.Ellipsis: _expression(3),
    cst.Attribute: _expression("value", "dot", "attr"),
    cst.Call: _expression("func", "whitespace_after_func", 1, "whitespace_before_args", "args", 1),
    cst.Arg: (
        *(_BEGIN, "star", "whitespace_after_star", "keyword", "equal", "value", _END),
        *("comma", "whitespace_after_arg"),
    ),
    cst.Subscript: _expression("value", "whitespace_after_value", "lbracket", "slice", "rbracket"),
    cst.SubscriptElement: _item("slice"),
    cst.Index: ("star", "whitespace_after_star", "value"),
    cst.List: _expression("lbracket", "elements", "rbracket"),
    cst.Tuple: _expression("elements"),
    cst.Element: _item("value"),
    **dict.fromkeys((cst.Dict, cst.Set), _expression("lbrace", "elements", "rbrace")),
    cst.DictElement: _item("key", "whitespace_before_colon", 1, "whitespace_after_colon", "value"),
    cst.StarredDictElement: _item(2, "whitespace_before_value", "value"),
    **dict.fromkeys((cst.BinaryOperation, cst.BooleanOperation), _expression("left", "operator", "right")),
    cst.UnaryOperation: _expression("operator", "expression"),
    cst.Comparison: _expression("left", "comparisons"),
    cst.ComparisonTarget: ("operator", "comparator"),
    cst.ConcatenatedString: _expression("left", "whitespace_between", "right"),
    cst.FormattedString: _expression("start", "parts", "end"),
    cst.FormattedStringText: ("value",),
    cst.FormattedStringExpression: (
        *(1, "whitespace_before_expression", "expression", "equal", "whitespace_after_expression"),
        *(_conversion, 1),
    ),
    cst.IfExp: _expression(
        *("body", "whitespace_before_if", 2, "whitespace_after_if", "test"),
        *("whitespace_before_else", 4, "whitespace_after_else", "orelse"),
    ),
    # Simple statements
    cst.SimpleStatementLine: ("leading_lines", _INDENT, _BEGIN, ("body",), "trailing_whitespace"),
    cst.SimpleStatementSuite: ("leading_whitespace", _BEGIN, ("body",), "trailing_whitespace"),
    cst.Expr: _small("value"),
    cst.Assign: _small("targets", "value"),
    cst.AssignTarget: (_BEGIN, "target", _END, "whitespace_before_equal", 1, "whitespace_after_equal"),
    cst.AnnAssign: _small("target", _colon, "equal", "value"),
    cst.AugAssign: _small("target", "operator", "value"),
    cst.Return: _small(6, "whitespace_after_return", "value"),
    cst.Pass: _small(4),
    cst.Assert: _small(6, "whitespace_after_assert", "test", "comma", "msg"),
    cst.Raise: _small(5, "whitespace_after_raise", "exc", "cause"),
    cst.Import: _small(6, "whitespace_after_import", "names"),
    cst.ImportFrom: (
        *(_BEGIN, 4, "whitespace_after_from", "relative", "module", "whitespace_before_import", 6),
        *("whitespace_after_import", "lpar", ("names",), ("rpar",), "semicolon"),
    ),
    cst.ImportAlias: _item("name", "asname"),
    cst.AsName: ("whitespace_before_as", 2, "whitespace_after_as", "name"),
    # Compound statements
    cst.Module: ("header", "body", "footer"),
    cst.IndentedBlock: ("header", _deeper, ("body",), _FIRST, "footer", _back),
    cst.If: _compound(
        *(_if, "whitespace_before_test", "test", "whitespace_after_test", 1, ("body",), ("orelse",))
    ),
    cst.Else: _compound(4, *_SUITE),
    cst.For: _compound(
        *("asynchronous", 3, "whitespace_after_for", "target", "whitespace_before_in", 2),
        *("whitespace_after_in", "iter", *_SUITE, ("orelse",)),
    ),
    cst.While: _compound(5, "whitespace_after_while", "test", *_SUITE, ("orelse",)),
    cst.With: _compound("asynchronous", 4, "whitespace_after_with", "lpar", "items", "rpar", *_SUITE),
    cst.WithItem: _item("item", "asname"),
    cst.Try: _compound(3, *_SUITE, ("handlers",), ("orelse",), ("finalbody",)),
    cst.ExceptHandler: _compound(6, "whitespace_after_except", "type", "name", *_SUITE),
    cst.Finally: _compound(7, *_SUITE),
    cst.Decorator: (
        "leading_lines",
        _INDENT,
        _BEGIN,
        1,
        "whitespace_after_at",
        "decorator",
        _END,
        "trailing_whitespace",
    ),
    cst.ClassDef: _definition(
        *(5, "whitespace_after_class", *_NAMED, "lpar", "bases", "keywords", "rpar", *_SUITE)
    ),
    cst.FunctionDef: _definition(
        *("asynchronous", 3, "whitespace_after_def", *_NAMED, 1, "whitespace_before_params", "params", 1),
        *(_arrow, *_SUITE),
    ),
    cst.Parameters: ("posonly_params", "posonly_ind", "params", "star_arg", "kwonly_params", "star_kwarg"),
    cst.Param: (
        *(_BEGIN, "star", "whitespace_after_star", "name", _END, _colon, "equal", "default"),
        *("comma", "whitespace_after_param"),
    ),
}


def locate(module: cst.Module, plain: bool, start: int) -> dict[int, tuple[int, int]]:
    """The places of a module's nodes. `plain`: all of it is ASCII; `start`: where the module itself begins."""
    with deep_recursion():
        places = _Places(module, plain, start)
        try:
            places.place(module)
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
