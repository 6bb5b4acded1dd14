"""A file in stretches: together they are the file, and each node stands where it stands in the file."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
import pytest

from preflight.python import syntax
from preflight.python.outline import children_of, functions_of, outline
from preflight.source import Source
from tests.python.reading import lines, read_text

FILES = [
    pytest.param(
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nimport os; import sys\n\n# About first.\n@cache\n"
        "@other(1)\ndef first(a, b=(1,\n 2)):\n    # inside\n    return a\n  # indented\nx = 1\n\n\n"
        "class Second(object):\n\tone = 1\n\tdef two(self):\n\t\treturn self.one\n"
        "async def third(): pass\nif x:\n    def fourth(): pass\n",
        id="plain",
    ),
    pytest.param("text = 'größe'\ndef größe(ä):\n    return ä  # ∑\nlast = größe\n", id="beyond ASCII"),
    pytest.param("a = 1\r\ndef f():\r\n    return a\r\n\r\nb = f\r\n", id="carriage returns"),
    pytest.param("\ufeffa = 1\ndef f():\n    return a\n", id="a byte order mark"),
    pytest.param('def f():\n    return """\ndef g():\n    pass\n"""\nb = f', id="a definition in a text"),
    pytest.param("", id="empty"),
    pytest.param("# nothing but this", id="a comment"),
]


def parse(text: str) -> syntax.Tree:
    tree = syntax.parse(Source("launch.py", text.encode()))
    assert isinstance(tree, syntax.Tree)
    return tree


def nodes_of(tree: syntax.Tree) -> Iterator[cst.CSTNode]:
    stack: list[cst.CSTNode] = []
    for stretch in tree.stretches:
        stack += tree.statements(stretch)
    while stack:
        node = stack.pop()
        yield node
        stack += children_of(node)


@pytest.mark.parametrize("text", FILES)
def test_stretches_are_the_whole_file(text: str) -> None:
    stretches = parse(text).stretches
    assert not stretches or "".join(stretch.text for stretch in stretches) == text.removeprefix("\ufeff")


@pytest.mark.parametrize("text", FILES)
def test_every_name_stands_where_it_is_written(text: str) -> None:
    tree = parse(text)
    names = [node for node in nodes_of(tree) if isinstance(node, cst.Name)]
    assert [tree.span(node).text for node in names] == [node.value for node in names]


@pytest.mark.parametrize("text", FILES)
def test_functions_are_the_same_in_both_readings(text: str) -> None:
    tree = parse(text)
    for definition in outline(tree).definitions:
        node = definition.node(tree)
        assert node is not None
        assert node.name.value == definition.name


def test_definitions_and_rows_alternate() -> None:
    tree = parse("a = 1\nb = 2\ndef f(): pass\nclass C: pass\nc = 3\n")
    assert [(s.kind, s.name) for s in tree.stretches] == [
        ("other", ""),
        ("function", "f"),
        ("class", "C"),
        ("other", ""),
    ]


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("def f(): pass", True),
        ("def f(a=1): pass", True),
        ("def f(a=g()): pass", False),
        ("@app.command()\ndef f(): pass", False),
        ("@pytest.fixture\ndef f(): pass", True),
        ("class C:\n    a = 1\n    b: int = field(default=2)\n    def f(self): g()", True),
        ("class C:\n    a = g()", False),
        ("class C(metaclass=M): pass", False),
        ("@register\nclass C: pass", False),
        ("@dataclass(frozen=True)\nclass C: pass", True),
    ],
)
def test_a_definition_waits_where_it_does_nothing_yet(text: str, waits: bool) -> None:
    (stretch,) = parse(text).stretches
    assert (stretch.idle if stretch.kind == "class" else stretch.waits) is waits


def test_syntax_that_only_libcst_knows_is_read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syntax, "_read", syntax._read_whole)
    text = "import subprocess\ndef main():\n    subprocess.run(['torchrun', 'pretrain_gpt.py'])\n"
    assert lines(read_text(text)) == ["torchrun pretrain_gpt.py"]
    tree = parse(text)
    assert [node.name.value for node in functions_of(tree.stretches[0], tree)] == ["main"]


def test_a_stretch_that_is_not_understood_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    understand = syntax._parse
    monkeypatch.setattr(syntax, "_parse", lambda text: None if "def odd" in text else understand(text))
    text = (
        "import subprocess\ndef odd():\n    pass\nodd()\n"
        "def main():\n    subprocess.run(['torchrun', 'pretrain_gpt.py'])\nmain()\n"
    )
    assert "syntax" in [unknown.reason for unknown in read_text(text).truncated]
