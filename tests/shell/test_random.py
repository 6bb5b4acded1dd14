"""Scripts made at random, under the evaluator and under GNU bash: what is known is what bash does."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import bashlex
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shell.bash import run_bash
from tests.shell.evaluation import agrees, evaluate, launches

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")

STEADY = os.environ.get("HYPOTHESIS_PROFILE") != "thorough"
"""The same scripts every time, unless more are asked for."""

NAMES = ("A", "B", "L", "U", "M")
name = st.sampled_from(NAMES)
word = st.sampled_from(
    [
        "a",
        "--tp",
        "8",
        "x=1",
        "a b",
        " ",
        "*",
        "[0]*3",
        "/d/e.f",
        "",
        "-n",
        "{a,b}",
        "{1..3}",
        "~",
        "é",
        "a,b",
        "\\",
        '"',
    ]
)
quoted = word.map(lambda text: "'" + text.replace("'", "'\\''") + "'")
double = word.map(lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"')
bare = st.sampled_from(
    ["a", "--tp", "8", "x=1", "{a,b}", "{1..3}", "[0]*3", "a\\ b", "b", "/d/e.f", "$'t\\tu'", "1,2"]
)
operator = st.sampled_from(
    [
        "",
        ":-d",
        "-d",
        ":+s t",
        "+s",
        "#*/",
        "##*/",
        "%.*",
        "%%.*",
        "/a/Z",
        "//[ab]/_",
        "^^",
        ",",
        ":1",
        ": -2",
        ":0:2",
        ":-$A",
        "/#/p",
        "/%b",
    ]
)
subscript = st.sampled_from(["", "", "[@]", "[*]", "[0]", "[1]"])


EXPRESSIONS = ("1", "2+3", "7/2", "-7%3", "2**5", "1<<3", "5>3?1:0", "3&&0", "~4", "0x1f")
LIST = '(p "q r")'
EVALUATED = ("$A", "x", '"$B"', "${L[@]}")


@st.composite
def expansion(draw: st.DrawFn) -> str:
    chosen, index, op = draw(name), draw(subscript), draw(operator)
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return f"${chosen}"
    if kind == 1:
        return f"${{#{chosen}{index}}}"
    if kind == 2:
        return f"$(( {draw(st.sampled_from(EXPRESSIONS))} ))"
    if kind == 3:
        return draw(st.sampled_from(["$@", "$*", "$1", "$#", "${@:2}", "${2:-z}"]))
    if kind == 4:
        return f"$(echo {draw(bare)} {draw(quoted)})"
    return f"${{{chosen}{index}{op}}}"


@st.composite
def argument(draw: st.DrawFn) -> str:
    pieces = draw(
        st.lists(
            st.one_of(bare, quoted, double, expansion(), expansion().map(lambda e: f'"{e}"')),
            min_size=1,
            max_size=3,
        )
    )
    return "".join(pieces)


def safe(text: str) -> bool:
    return "\0" not in text


@st.composite
def statement(draw: st.DrawFn, depth: int = 0) -> str:
    kind = draw(st.integers(0, 13 if depth < 2 else 6))
    if kind <= 1:
        return "torchrun " + " ".join(draw(st.lists(argument(), max_size=4)))
    if kind == 2:
        return f"{draw(name)}={draw(argument())}"
    if kind == 3:
        return f"{draw(name)}+={draw(st.one_of(argument(), st.just(LIST)))}"
    if kind == 4:
        return f"{draw(name)}=({' '.join(draw(st.lists(argument(), max_size=3)))})"
    if kind == 5:
        return draw(
            st.sampled_from(
                [
                    "shift",
                    "set -- m 'n o'",
                    "unset A",
                    "unset L",
                    "IFS=,",
                    "unset IFS",
                    "set -f",
                    "set +f",
                    "export A",
                    "shopt -s extglob",
                ]
            )
        )
    if kind == 6:
        return f"eval torchrun {draw(st.sampled_from(EVALUATED))}"
    inner = draw(st.lists(statement(depth + 1), min_size=1, max_size=2))
    body = "; ".join(inner)
    if kind == 7:
        return f"if {draw(condition())}; then {body}; else torchrun else; fi"
    if kind == 8:
        return f"for {draw(name)} in {' '.join(draw(st.lists(argument(), max_size=3)))}; do {body}; done"
    if kind == 9:
        return f"case {draw(argument())} in a|8) {body};; *b*) torchrun star;; *) torchrun any;; esac"
    if kind == 10:
        return f"( {body} )"
    if kind == 11:
        return f"f() {{ local A=1; {body}; }}; f {draw(argument())}"
    if kind == 12:
        return f"{draw(condition())} && {{ {body}; }} || torchrun or"
    return f"torchrun $( {body} ; echo {draw(bare)})"


@st.composite
def condition(draw: st.DrawFn) -> str:
    left, right = draw(argument()), draw(argument())
    return draw(
        st.sampled_from(
            [
                f"[ {left} = {right} ]",
                f"[[ {left} == {right} ]]",
                f"[[ {left} != a* ]]",
                f'[ -z "{draw(expansion())}" ]',
                f"[ -n {left} ]",
                f"(( {draw(st.sampled_from(['1', '0', '2>1', 'A']))} ))",
                "true",
                "! false",
                f"[[ -n {left} && a == a ]]",
                f"test {left}",
            ]
        )
    )


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


ENVIRONMENT = {"HOME": "/home/user", "LC_ALL": "C.UTF-8"}


@settings(max_examples=150, derandomize=STEADY)
@given(lines=st.lists(statement(), min_size=1, max_size=6))
def test_known_words_are_those_of_bash(folder: Path, lines: list[str]) -> None:
    arguments = ["one", "two words", "3"]
    script = "\n".join(lines) + "\n"
    case = folder / "case"
    case.mkdir(exist_ok=True)
    truth = run_bash(script, case, arguments=arguments, environment=ENVIRONMENT)
    mine = launches(evaluate(script, case, arguments=arguments, environment=ENVIRONMENT, closed=True))
    patterns = [[(word.text.value, word.many) for word in execution.words] for execution in mine]
    for words in truth:
        assert any(agrees(pattern, words) for pattern in patterns), (words, patterns)
    for pattern, execution in zip(patterns, mine, strict=True):
        if not execution.conditions and all(value is not None for value, _ in pattern):
            assert [value for value, _ in pattern] in truth, (pattern, truth)


@settings(max_examples=300, derandomize=STEADY)
@given(
    words=st.lists(
        st.one_of(bare, quoted, double, st.tuples(bare, quoted, double).map("".join)), min_size=1, max_size=6
    )
)
def test_bashlex_reads_the_same_words(words: list[str]) -> None:
    """Another reader of bash, on what it can read: simple commands."""
    command = "torchrun " + " ".join(words)
    try:
        (tree,) = bashlex.parse(command)
    except Exception:
        return
    if any(c in command for c in "{}~*[$\\") or ("'" in command and '"' in command):
        return
    expected = [part.word for part in tree.parts if part.kind == "word"]
    (execution,) = launches(evaluate(command, closed=True))
    assert [w.text.value for w in execution.words] == expected
