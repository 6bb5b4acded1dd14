"""What the layout of a script shows: each mistake once, at its place, and none where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shell.evaluation import evaluate


def remarks(text: str, folder: Path | None = None, **options: object) -> list[tuple[str, str]]:
    """The kinds of remarks and the text that they point at."""
    script = evaluate(text, folder, **options)  # type: ignore[arg-type]
    return [(remark.kind, remark.span.text) for remark in script.remarks]


FOUND = [
    ("torchrun a \\\n  --b 1\n  --c 2 \\\n  --d\n", [("orphaned-flags", "--c 2 \\\n  --d")]),
    ("torchrun a \\\n\n  --b 1\n", [("orphaned-flags", "--b 1")]),
    ("torchrun a 2>&1 | tee log\n  --b 1\n", [("orphaned-flags", "--b 1")]),
    ("f() {\n torchrun a\n --b\n}\nf\n", [("orphaned-flags", "--b")]),
    ("torchrun a \\\n  # --x 1 \\\n  --b 1\n", [("comment-in-command", "# --x 1 \\")]),
    ("torchrun a # note \\\n  --b 1\n", [("comment-in-command", "# note \\")]),
    ("torchrun a \\ \n  --b 1\n", [("blank-after-backslash", "\\ ")]),
    ("torchrun a \\\t \n  b\n", [("blank-after-backslash", "\\\t ")]),
    ('A=(--a \\ \n --b)\ntorchrun "${A[@]}"\n', [("blank-after-backslash", "\\ ")]),
    ("A=$((B * 0.1))\ntorchrun $A\n", [("fraction-in-arithmetic", "$((B * 0.1))")]),
    ("A=$((B / .5))\ntorchrun $A\n", [("fraction-in-arithmetic", "$((B / .5))")]),
    ("A=$(($(echo '3 * 0.5' | bc -l | cut -d. -f1) + 1))\ntorchrun $A\n", []),
    ("A=$((${B%.5} + 1))\ntorchrun $A\n", []),
    ("# A=$((B * 0.1))\ntorchrun a.py\n", []),
    ("TP = 8\ntorchrun $TP\n", [("assignment-slip", "TP = 8")]),
    ("TP= 8\ntorchrun $TP\n", [("assignment-slip", "TP= 8")]),
    ("$TP=8\ntorchrun $TP\n", [("assignment-slip", "$TP=8")]),
    ('A=(--n "a b")\ntorchrun ${A[@]}\n', [("element-falls-apart", '"a b"')]),
    ("A=\"--n 'a b' c\"\ntorchrun $A\n", [("literal-quotes", "'a")]),
    ('torchrun --save "<your path>"\n', [("placeholder", "<your path>")]),
    ("P=<path to data>\ntorchrun --save $P\n", [("placeholder", "<path to data>")]),
    ('torchrun "${X_ARGS[@]}" a\n', [("unset-variable", "${X_ARGS[@]}")]),
    ('MOE_ARGS=(--moe)\ntorchrun "${MOE_ARG[@]}"\n', [("misspelt-variable", "${MOE_ARG[@]}")]),
    ('A=(--a 1)\nB=(--b 2)\ntorchrun "${A[@]}"\n', [("unused-options", "B")]),
    ('A="--a 1 --c"\ntorchrun x\n', [("unused-options", "A")]),
    ('A=(--a 1, --b 2)\ntorchrun "${A[@]}"\n', [("comma-after-value", "1,")]),
    ("torchrun a\r\ntorchrun b\r\n", [("carriage-return", "\r")]),
]


@pytest.mark.parametrize(("text", "expected"), FOUND, ids=[text for text, _ in FOUND])
def test_a_mistake_is_found_at_its_place(text: str, expected: list[tuple[str, str]]) -> None:
    assert remarks(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "torchrun a \\\n  --b 1 \\\n  --c\n",
        'A=(\n --a 1\n # --b 2\n --c\n)\ntorchrun "${A[@]}"\n',
        'A=(--n "a b")\ntorchrun "${A[@]}"\n',
        'A=("--tp 2" "--pp 4")\ntorchrun ${A[@]}\n',
        "A=\"--n 'a b'\"\neval torchrun $A\n",
        'A="--n \'a b\'"\nCMD="torchrun $A"\neval "$CMD"\n',
        "torchrun --token '<image>' '<|endoftext|>' \"<s>\"\n",
        'torchrun --json \'{"a": "b"}\'\n',
        'A=(--a 1)\nA+=(--b 2)\ntorchrun "${A[@]}"\n',
        'export A="--a 1"\nbash other.sh\n',
        'A=(--a)\nname=A\ntorchrun "${!name}"\n',
        "torchrun $EXTRA_ARGS ${MASTER_ADDR}\n",
        "X=1 torchrun a\n",
        'A="--a" torchrun a\n',
        "EMPTY= torchrun a\n",
        "torchrun --list 1,2,3 --x\n",
        "test x = x\n[ a = b ]\n",
        'source other.sh\ntorchrun "${X_ARGS[@]}"\nA=(--unused)\n',
        '# EVAL_ARGS=(--e)\ntorchrun "${EVAL_ARGS[@]}"\n',
        "DATA_PATH1=/a\ntorchrun $DATA_PATH2\n",
        "cat <<E\n--a <path to x>\n  --b\nE\n",
    ],
)
def test_what_is_right_is_left_alone(text: str) -> None:
    assert remarks(text) == []


def test_an_unset_variable_counts_where_the_environment_is_closed() -> None:
    script = evaluate("torchrun --tp $TP --x\n", closed=True)
    (remark,) = script.remarks
    assert (remark.kind, remark.values["name"], remark.values["flag"]) == ("unset-variable", "TP", "--tp")


def test_options_used_by_a_sourced_file_are_used(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text('torchrun "${A[@]}"\n')
    assert remarks("A=(--a 1)\nsource run.sh\n", tmp_path) == []


def test_a_mistake_in_a_sourced_file_is_found_there(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("torchrun a\n  --b 1\n")
    script = evaluate("source run.sh\nsource run.sh\n", tmp_path)
    assert [(r.kind, r.span.path) for r in script.remarks] == [("orphaned-flags", "run.sh")]


EDITS = [
    ("torchrun a\n  --b 1\n", "torchrun a \\\n  --b 1\n"),
    ("torchrun a \\\n  # x \\\n  --b 1\n", "torchrun a \\\n  --b 1\n"),
    ("torchrun a \\  \n  --b\n", "torchrun a \\\n  --b\n"),
    ("TP = 8\ntorchrun $TP\n", "TP=8\ntorchrun $TP\n"),
    ('A=(--n "a b")\ntorchrun ${A[@]}\n', 'A=(--n "a b")\ntorchrun "${A[@]}"\n'),
    ('A=(--a 1, --b 2)\ntorchrun "${A[@]}"\n', 'A=(--a 1 --b 2)\ntorchrun "${A[@]}"\n'),
]


@pytest.mark.parametrize(("text", "mended"), EDITS, ids=[text for text, _ in EDITS])
def test_an_edit_mends_it(text: str, mended: str) -> None:
    (remark,) = evaluate(text).remarks
    data = text.encode()
    for span, by in reversed(remark.edits):
        data = data[: span.start] + by.encode() + data[span.end :]
    assert data.decode() == mended
    assert remarks(mended) == []
