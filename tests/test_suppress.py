"""Ignore comments are bound to syntax: which ones cover a finding, and what is said of the others."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.chain import Request
from preflight.cli.session import fact_types
from preflight.diagnostics import Diagnostic
from preflight.engine.rule import RuleSet
from preflight.engine.shipped import read_rules
from preflight.ruling import check_source
from preflight.source import Source
from preflight.suppress import Place, read_ignores

REST = (
    "--hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 "
    "--micro-batch-size 1 --bf16 --train-iters 100 --lr 1e-4 --tokenizer-type NullTokenizer "
    "--vocab-size 32000 --mock-data"
)
RULE = "wrong-type"


@pytest.fixture(scope="module")
def rules() -> RuleSet:
    return read_rules(fact_types)


def check(
    rules: RuleSet, script: str, name: str = "train.sh", **more: object
) -> tuple[list[Diagnostic], list[str]]:
    """The findings of the rule, and the rules that speak of comments."""
    script = textwrap.dedent(script).replace("@REST@", REST).lstrip("\n")
    request = Request(rules=rules, target="core_v0.19.0")._replace(**more)  # type: ignore[arg-type]
    outcome = check_source(Source(name, script.encode()), request)
    found = [d for d in outcome.diagnostics if d.rule == RULE]
    assert found, [d.message for d in outcome.diagnostics]
    return found, [d.rule for d in outcome.diagnostics if d.family == "comments"]


ARRAY = """
export CUDA_DEVICE_MAX_CONNECTIONS=1
{above}ARGS=(
    {inside}
    --num-layers many{behind}
    --bf16{other}
)
{launch}torchrun --nproc-per-node 8 pretrain_gpt.py "${{ARGS[@]}}" @REST@{last}
"""
IGNORE = "# preflight: ignore[wrong-type] known"


def array(**parts: str) -> str:
    return ARRAY.format(
        **{**dict.fromkeys(("above", "inside", "behind", "other", "launch", "last"), ""), **parts}
    )


@pytest.mark.parametrize(
    "script",
    [
        array(behind=f"  {IGNORE}"),
        array(inside=IGNORE),
        array(above=f"{IGNORE}\n"),
        array(above=f"{IGNORE}\n# another comment\n"),
        array(launch=f"{IGNORE}\n"),
        array(last=f"  {IGNORE}"),
        array(behind="  # preflight: ignore[flags]"),
        array(behind="  # preflight: ignore[all]"),
        array(behind="  # preflight: ignore[unknown-flag, wrong-type]"),
        array(last=f" || exit 1  {IGNORE}"),
        array(last=f" | tee log;  {IGNORE}"),
        "# preflight: file-ignore[wrong-type] all of it\n" + array(),
        array() + "# preflight: file-ignore[wrong-type]\n",
        """
        X="--num-layers many"  # preflight: ignore[wrong-type]
        torchrun --nproc-per-node 8 pretrain_gpt.py $X @REST@
        """,
        """
        torchrun --nproc-per-node 8 pretrain_gpt.py \\
            --num-layers many \\
            @REST@  # preflight: ignore[wrong-type]
        """,
        """
        train() {
            # preflight: ignore[wrong-type]
            torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers many @REST@
        }
        train
        """,
    ],
    ids=[
        "behind the element", "above the element", "above the assignment", "above it, with another comment between",
        "above the launch", "behind the launch", "by family", "all rules", "one of a list", "behind a list of commands",
        "behind a pipeline", "a file comment at the top", "a file comment at the end", "behind an assignment",
        "behind the last line of a continued command", "inside a function",
    ],
)  # fmt: skip
def test_a_comment_at_the_node_covers_the_finding(rules: RuleSet, script: str) -> None:
    found, comments = check(rules, script)
    assert all(d.ignored for d in found)
    assert [c for c in comments if c != "unused-ignore"] == []
    assert "unused-ignore" not in comments or "unknown-flag" in script
    found, _ = check(rules, script, use_ignores=False)
    assert not any(d.ignored for d in found)


@pytest.mark.parametrize(
    "script",
    [
        array(other=f"  {IGNORE}"),
        array(above=f"{IGNORE}\n\n"),
        array(behind="  # preflight: ignore[unknown-flag]"),
        array(launch=f"{IGNORE}\nif true; then echo; fi\n"),
        array(launch=f"if true; then echo; fi {IGNORE}\n"),
    ],
    ids=[
        "behind another element", "a blank line between", "another rule", "above a compound statement",
        "behind a compound statement",
    ],
)  # fmt: skip
def test_a_comment_elsewhere_does_not_and_is_reported(rules: RuleSet, script: str) -> None:
    found, comments = check(rules, script)
    assert not any(d.ignored for d in found)
    assert comments == ["unused-ignore"]


def test_a_comment_in_a_text_is_none(rules: RuleSet) -> None:
    script = array() + f"cat <<EOF\n{IGNORE}\nEOF\necho '\n{IGNORE}\n'\n"
    found, comments = check(rules, script)
    assert not any(d.ignored for d in found)
    assert comments == []


@pytest.mark.parametrize(
    "comment",
    [
        "# preflight: ignore",
        "# preflight: ignore[]",
        "# preflight: ignore[ , ]",
        "# preflight: ignore[wrong-type",
        "# preflight: ignore[wrong-typ]",
        "# preflight: ignores[wrong-type]",
        "# preflight: file-ignore",
    ],
)
def test_a_comment_that_cannot_be_read_is_reported_and_covers_nothing(rules: RuleSet, comment: str) -> None:
    found, comments = check(rules, array(behind=f"  {comment}"))
    assert not any(d.ignored for d in found)
    assert comments == ["invalid-ignore"]


def test_a_reason_can_be_required(rules: RuleSet) -> None:
    bare = array(behind="  # preflight: ignore[wrong-type]")
    assert check(rules, bare, require_reason=True)[1] == ["invalid-ignore"]
    assert check(rules, array(behind=f"  {IGNORE}"), require_reason=True)[1] == []


def test_a_comment_for_a_rule_that_is_switched_off_is_not_called_unused(rules: RuleSet) -> None:
    script = array(other="  # preflight: ignore[missing-value]")
    assert check(rules, script)[1] == ["unused-ignore"]
    assert check(rules, script, ignore=("missing-value",))[1] == []


PYTHON = """
import os, subprocess
os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = "1"
{above}command = [
    "torchrun", "--nproc-per-node", "8", "pretrain_gpt.py",
    {inside}
    "--num-layers", "many",{behind}
    "--bf16",{other}
    *"@REST@".split(),
]
{launch}subprocess.run(command, check=True){last}
"""


@pytest.mark.parametrize(
    ("parts", "covered"),
    [
        ({"behind": f"  {IGNORE}"}, True),
        ({"inside": IGNORE}, True),
        ({"above": f"{IGNORE}\n"}, True),
        ({"launch": f"{IGNORE}\n"}, True),
        ({"last": f"  {IGNORE}"}, True),
        ({"launch": "# preflight: file-ignore[wrong-type]\n"}, True),
        ({"other": f"  {IGNORE}"}, False),
        ({"above": f"{IGNORE}\n\n"}, False),
    ],
    ids=[
        "behind",
        "above",
        "assignment",
        "launch",
        "behind the launch",
        "file",
        "another element",
        "blank line",
    ],
)
def test_python(rules: RuleSet, parts: dict[str, str], covered: bool) -> None:
    script = PYTHON.format(
        **{**dict.fromkeys(("above", "inside", "behind", "other", "launch", "last"), ""), **parts}
    )
    found, comments = check(rules, script, "train.py")
    assert all(bool(d.ignored) is covered for d in found)
    assert comments == ([] if covered else ["unused-ignore"])


@given(st.text(max_size=60))
def test_any_comment_is_read_or_refused(text: str) -> None:
    source = Source("x.sh", f"# preflight: {text}".encode())
    ignores, remarks = read_ignores([Place(source.span(0, len(source.data)))], lambda name: None)
    assert len(ignores) + len(remarks) <= 1
    for ignore in ignores:
        assert ignore.names
