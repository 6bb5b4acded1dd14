"""Places of nodes, against those that LibCST's own provider works out."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

from preflight.python.places import locate

ROOT = Path(__file__).parents[2]
FILES = [
    *sorted(ROOT.glob("preflight/python/*.py")),
    *sorted(ROOT.glob("fixtures/python/**/*.py")),
    Path(__file__),
]

ODD = {
    "every statement": (
        "async def f(a, /, b: int = 1, *args: str, c, d=2, **more) -> 'größe':\n"
        "    async with a as b, (c):\n        async for x, *y in z:\n            await x\n        else : pass\n"
        "    while a : a -= 1; continue\n    else:\n        break\n"
        "    try:\n        yield a\n    except (A, B) as e:\n        raise E from e\n    except: raise\n"
        "    else:\n        yield from b\n    finally:\n        del a, b[0], c.d\n"
        "    global g, h ; nonlocal_ = 1\n    assert a , 'text'\n    x: int\n    y : 'int' = 2\n    return\n"
    ),
    "every expression": (
        "a = (b) + ( - c ) ** d // e % f @ g << 1 >> 2 & 3 | 4 ^ ~ 5\n"
        "not a or b and c is not d in e not in f != g <= h\n"
        "[x for x in y if x if not y for z in x], {k: v for k, v in w}, {s for s in t}, (u async for u in v)\n"
        "lambda *a, b=1, **c: (yield)\nlambda: 0\na[1:2, ::3, :, ..., *b]\n{**a, 'b': c, }\n{1, *a}\n(1,)\n()\n[]\n{}\n"
        "f'{a!r:>{width}} {{}} {b = } {c:%Y}' 'and' \"so\" rf'{d}'\n"
        "(n := 5)\na if b else c\n1.5e3, 2j, 0x1f\n"
        "f(*a, b, c = 1, **d , )\nf ( a ) . b [ c ]\n"
    ),
    "every definition": (
        "@a.b(c)\n# between\n\n@d\nclass C(B, *more, metaclass = M):\n  '''text'''\n  # größe ∑\n"
        "  a = 'ß' ; b = a\n\n  class D : x = 1\n    # deeper\n  @property\n  def e(self): return 1\n"
        "# to the left\n  def f(self,\n    a, # first\n    b\n  ) -> int : ...\n"
    ),
    "branches": (
        "if a : b\nelif ( c ) :\n    d\n# between\nelif e:\n  if f:\n   pass\n  else:\n    g\n"
        "else  :\n    h # last\n\n# end"
    ),
    "a match": (
        "match a:\n    case [1, *b] if c: d\n    case {'k': v, **rest} | C(x=1) as e:\n        f\n    case _: pass\n"
    ),
    "imports": (
        "from . a import (b as c, d ,)\nfrom .. import *\nimport a . b as c , d\nfrom __future__ import x; import y\n"
    ),
    "lines that go on": "a = b + \\\n   c\nf(\n\n  # remark\n  a,\n\n  b)\nx = [\n]\nwith (\n  a as b,\n  c\n): pass\n",
    "carriage returns": "# one\r\nif a:\r\n\tb\r\n\r\n\tc\r\nd",
    "nothing": "",
    "only a remark": "# nothing but this\n",
}


def assert_places_are_those_of_libcst(text: str) -> None:
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    spans = wrapper.resolve(ByteSpanPositionProvider)
    found = locate(wrapper.module, text.isascii(), 0)
    differing = [
        (type(node).__name__, found.get(id(node)), (span.start, span.start + span.length))
        for node, span in spans.items()
        if not isinstance(node, cst.SimpleWhitespace | cst.Module)
        and found.get(id(node)) != (span.start, span.start + span.length)
    ]
    assert not differing


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_every_kind_of_node_stands_where_libcst_has_it(text: str) -> None:
    assert_places_are_those_of_libcst(text)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nodes_of_real_files_stand_where_libcst_has_them(path: Path) -> None:
    assert_places_are_those_of_libcst(path.read_bytes().decode("utf-8"))
