"""Insides of methods that are parsed later: the class is the same, and all of it stands where it stands."""

from __future__ import annotations

import ast

import libcst as cst
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.python import insides, syntax
from preflight.python.outline import children_of, functions_of
from preflight.source import Source
from tests.python.reading import lines, read_text

LONG = "value = 'a text that is long enough to be left out, with its like below it, and that says so once more'\n"

CLASSES = [
    pytest.param(
        f"class A:\n    def f(self):\n        {LONG}        other = 'and more'\n        return value\n",
        id="plain",
    ),
    pytest.param(
        f"class A:\n\tx = 1\n\t@property\n\tdef f(self):\n\t\t# first\n\t\t{LONG}\n # deep\n# deeper\n"
        "\t\treturn value  # last\n\t\t# end\n\n\ty = 2\n",
        id="comments and tabs",
    ),
    pytest.param(
        f"class A:\r\n    async def f(self):\r\n        {LONG[:-1]}\r\n        return value; \r\n"
        "    def g(self): return 1\r\n",
        id="carriage returns",
    ),
    pytest.param(
        "class Größe:\n    ä = 'ö'\n    def f(self):\n        größe = '∑' * 7 + 'größer als alles andere, das hier'\n"
        "        größe += 'steht, und noch etwas größer'\n"
        "        return größe + 'größer'\n    after = 'ü'\n    def g(self): return self.f\n",
        id="beyond ASCII",
    ),
    pytest.param(
        f"class A:\n    class B:\n        def f(self):\n            {LONG}            return value + 'and so on'\n"
        f"    def g(self):\n        @cache\n        def h():\n            {LONG}        return h\n",
        id="inside another",
    ),
    pytest.param(
        f'class A:\n    def f(self):\n        """About it.\nfrom the left\n   or not  """\n        {LONG}'
        '        return """\nend"""\n    b = 1\n',
        id="texts over lines",
    ),
    pytest.param(f"class A:\n    def f(self): {LONG}    def g(self): pass\n", id="on one line"),
    pytest.param(
        f"class A:\n    def f(self,\n          b=1):\n        if b:\n            {LONG}        return \\\n  value",
        id="no line end",
    ),
]


def parse(text: str) -> syntax.Tree:
    tree = syntax.parse(Source("launch.py", text.encode()))
    assert isinstance(tree, syntax.Tree)
    return tree


def bodies(tree: syntax.Tree) -> list[str]:
    """The functions' bodies as code without remarks; the names and texts in it stand where the source has them."""
    found = []
    for stretch in tree.stretches:
        for node in functions_of(stretch, tree):
            body = tree.body(node)
            code = cst.Module(body=()).code_for_node(body).splitlines()
            found.append(
                "\n".join(
                    [node.name.value, *(each.strip() for each in code if not each.strip().startswith("#"))]
                )
            )
            for inner in below(body):
                if isinstance(inner, cst.Name):
                    assert tree.span(inner).text == inner.value
                if isinstance(inner, cst.SimpleString) and not inner.lpar:
                    assert tree.span(inner).text == inner.value
            assert tree.span(node.name).text == node.name.value
    return found


def below(node: cst.CSTNode) -> list[cst.CSTNode]:
    found = [node]
    for each in found:
        found += children_of(each)
    return found


def is_shorter(text: str) -> bool:
    return any(stretch.hollow()[1] for stretch in parse(text).stretches)


@pytest.mark.parametrize("text", CLASSES)
def test_a_method_is_the_same_with_its_inside_parsed_later(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = bodies(parse(text))
    monkeypatch.setattr(insides, "SMALLEST", 100_000)
    assert not is_shorter(text)
    assert later == bodies(parse(text))


@pytest.mark.parametrize("text", CLASSES[:-2])
def test_a_long_inside_is_left_out(text: str) -> None:
    assert is_shorter(text)


@pytest.mark.parametrize("text", CLASSES)
def test_the_rest_stays_in_its_place(text: str) -> None:
    for stretch in parse(text).stretches:
        shorter, left_out = stretch.hollow()
        assert len(shorter.encode()) == len(stretch.text.encode())
        for inside in left_out:
            at = text.encode()[inside.number :]
            assert at.decode().startswith(inside.text.removeprefix("class _:\n"))


statement = st.sampled_from(
    [
        "first = 1",
        "return a_value",
        "size = 'größe' * other",
        "x = '''\n at\n from the left'''",
        "# a note",
        "if first:\n  pass",
        "def inner():\n  return 2",
        "pass; pass",
    ]
)


@given(
    st.lists(st.lists(statement, min_size=1, max_size=5), min_size=1, max_size=4),
    st.sampled_from([" ", "    ", "\t"]),
)
def test_any_class_is_the_same(methods: list[list[str]], indent: str) -> None:
    text = "class A:\n"
    for number, body in enumerate(methods):
        text += f"{indent}def f{number}(self, b={number}):\n"
        for each in [*body, "pass"]:
            text += (
                f"{indent * 2}{each}\n"
                if "'''" in each
                else "".join(f"{indent * 2}{line}\n" for line in each.split("\n"))
            )
    ast.parse(text)
    smallest, insides.SMALLEST = insides.SMALLEST, 30
    try:
        later = bodies(parse(text))
        insides.SMALLEST = 100_000
        assert later == bodies(parse(text))
    finally:
        insides.SMALLEST = smallest


def test_a_method_is_not_parsed_before_it_is_run() -> None:
    text = f"class A:\n    def f(self):\n        {LONG * 1}        return value + 'and so on, and so on'\n"
    tree = parse(text)
    (function,) = functions_of(tree.stretches[0], tree)
    before = tree.parsed
    assert before < len(text) / 2
    tree.body(function)
    assert tree.parsed > before


def test_what_a_user_writes_is_no_mark() -> None:
    text = (
        "import subprocess\nclass A:\n    def f(self):\n        ...#inside10---\n    def g(self):\n"
        "        subprocess.run(['torchrun', 'pretrain_gpt.py', '--num-layers', '2', '--hidden-size', '8'])\n"
        "A().f()\nA().g()\n"
    )
    assert lines(read_text(text)) == ["torchrun pretrain_gpt.py --num-layers 2 --hidden-size 8"]


def test_a_launch_in_a_method_stands_where_it_is_written() -> None:
    text = (
        "# größe\nimport subprocess\nclass A:\n    def f(self):\n"
        "        flags = ['--num-layers', '2', '--hidden-size', '8']\n"
        "        subprocess.run(['torchrun', 'pretrain_gpt.py', *flags, '--seq-length', '4096'])\n"
        "A().f()\n"
    )
    script = read_text(text)
    assert is_shorter(text)
    assert [word.span.text for word in script.executions[0].words][:4] == [
        "'torchrun'", "'pretrain_gpt.py'", "'--num-layers'", "'2'"
    ]  # fmt: skip
