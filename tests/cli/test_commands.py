"""The commands beside `check`: trace, verify, explain, rules, files, targets, completions, and the front door."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import preflight as package
from preflight.cli import completions
from preflight.cli.main import COMMANDS
from preflight.plan import TopologyError

from .conftest import BASE, Command

ROOT = Path(__file__).parents[2]
AT = ("--target", "core_v0.19.0")
PLAN = {"tp": 8, "pp": 4, "dp": 4, "world_size": 128, "layers": 80, "hidden_size": 8192, "num_heads": 64}


# -- the front door


def test_version_and_help(preflight: Command) -> None:
    assert preflight("--version").out == f"preflight {package.__version__}\n"
    shown = preflight("--help")
    assert shown.status == 0
    assert all(command in shown.out for command in COMMANDS)
    assert preflight().status == 2


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "completions"])
def test_every_command_has_help_and_refuses_a_wrong_option(preflight: Command, command: str) -> None:
    shown = preflight(command, "--help")
    assert shown.status == 0 and shown.out.startswith("usage: preflight")
    wrong = preflight(command, "--no-such-option")
    assert wrong.status == 2 and wrong.out == ""


def test_a_file_needs_no_command_and_a_slip_is_named(scripts: Path, preflight: Command) -> None:
    assert preflight("bad.sh", *AT).status == 1
    done = preflight("chekc")
    assert done.status == 2 and "did you mean check?" in done.err
    assert "did you mean --output?" in preflight("check", "--outptu").err


def test_a_closed_pipe_is_no_fault(scripts: Path) -> None:
    command = f"{sys.executable} -m preflight trace good.sh | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


# -- trace


def test_trace_json_follows_the_contract(scripts: Path, preflight: Command) -> None:
    Path("t.sh").write_text(
        "#!/bin/bash\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\nTP=2\nif [ $SIZE = 7B ]; then L=8; else L=16; fi\n"
        "torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers $L \\\n"
        "    --tensor-model-parallel-size $TP --load /ckpt/${DATE}\n"
    )
    document = json.loads(preflight("trace", "t.sh", "--output", "json", *AT).out)
    assert document["schema"] == 1
    first, second = document["files"][0]["launches"]
    assert [w["taken"] for w in first["when"]] == [True] and [w["taken"] for w in second["when"]] == [False]
    assert first["when"][0]["line"] == 4
    assert first["launcher"] == {"kind": "torchrun", "nodes": 2, "processes_per_node": 8, "world_size": 16}
    assert first["program"] == "pretrain_gpt.py"
    assert first["command"][0] == {"text": "torchrun", "known": True, "line": 5, "column": 1}
    words = {w["text"]: w for w in first["argv"]}
    assert words["--num-layers"]["line"] == 5
    assert words["/ckpt/${DATE}"]["known"] is False and words["/ckpt/${DATE}"]["reason"] == "environment"
    assert first["env"]["CUDA_DEVICE_MAX_CONNECTIONS"] == {"text": "1", "known": True}
    assert first["facts"]["tensor_model_parallel_size"]["value"] == 2
    assert first["facts"]["tensor_model_parallel_size"]["origin"] == "flag"
    assert first["facts"]["world_size"] == {"value": 16, "origin": "derived"}
    assert [f["facts"]["num_layers"]["value"] for f in (first, second)] == [8, 16]
    known = json.loads(
        preflight("trace", "t.sh", "--output", "json", "--env", "SIZE=7B", "--env", "DATE=x").out
    )
    (launch,) = known["files"][0]["launches"]
    assert launch["when"] == [] and all(word["known"] for word in launch["argv"])


def test_trace_says_where_and_why(scripts: Path, preflight: Command) -> None:
    Path("t.sh").write_text(
        f"TP=${{TP:-8}}\ntorchrun pretrain_gpt.py {BASE} --tensor-model-parallel-size $TP --load $X\n"
    )
    shown = preflight("trace", "t.sh")
    assert shown.status == 0
    assert "assumes TP=8" in shown.out and "give --env X=..." in shown.out
    only = preflight("trace", "t.sh", "--flag", "tensor_model_parallel_size").out
    assert "--tensor-model-parallel-size 8" in only and "--num-layers" not in only
    assert preflight("trace", "absent.sh").status == 3
    assert "no launch found" in preflight("trace", "nothing.sh").out


# -- verify and the public API


def words_of(plan: dict[str, int]) -> list[str]:
    names = {"num_heads": "heads"}
    return [w for k, v in plan.items() for w in (f"--{names.get(k, k).replace('_', '-')}", str(v))]


def test_verify_says_the_plan(preflight: Command) -> None:
    done = preflight("verify", *words_of(PLAN), *AT)
    assert done.status == 0, done
    for words in ("128 = TP 8 x PP 4 x DP 4", "layers per stage  20", "heads per rank    8", "is valid"):
        assert words in done.out
    document = json.loads(preflight("verify", *words_of(PLAN), *AT, "--output", "json").out)
    assert document["valid"] is True and document["world_size"] == 128 and document["layers_per_stage"] == 20


@pytest.mark.parametrize(
    ("changes", "numbers"),
    [
        ({"world_size": 120}, ["128", "120"]),
        ({"layers": 81}, ["81", "4"]),
        ({"num_heads": 60}, ["60", "8"]),
        ({"hidden_size": 8190}, ["8190"]),
        ({"tp": 0}, ["tp is 0"]),
        ({"cp": 0}, ["cp is 0"]),
        ({"micro_batch_size": 0}, ["micro_batch_size is 0"]),
        ({"gpus_per_node": 0}, ["gpus_per_node is 0"]),
        ({"nodes": 8}, ["16 nodes", "8"]),
        ({"num_query_groups": 12}, ["12", "8"]),
        ({"num_experts": 6, "ep": 4}, ["6", "4"]),
        ({"global_batch_size": 30}, ["30"]),
        ({"layers": 81, "num_heads": 60}, ["81", "60"]),
        ({"num_layers_per_virtual_pipeline_stage": 7}, ["7"]),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else None,
)
def test_the_api_lists_all_violations_with_their_numbers(changes: dict[str, int], numbers: list[str]) -> None:
    with pytest.raises(TopologyError) as caught:
        package.verify_megatron_topology(**{**PLAN, **changes}, target="core_v0.19.0")
    words = "\n".join(caught.value.violations)
    assert all(number in words for number in numbers), words
    assert isinstance(caught.value, ValueError)
    assert all(violation in str(caught.value) for violation in caught.value.violations)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"cp": 1},
        {"num_query_groups": 8},
        {"seq_length": 8192},
        {"gpu": "h100"},
        {"target": "0.15.3"},
        {"te": "2.9"},
        {"nodes": 16},
    ],
    ids=str,
)
def test_the_api_returns_the_plan(more: dict[str, object]) -> None:
    plan = package.verify_megatron_topology(**PLAN, **more)  # type: ignore[arg-type]
    assert (plan.world_size, plan.layers_per_stage, plan.heads_per_rank) == (128, 20, 8)


@pytest.mark.parametrize(
    "changes",
    [
        {"tp": 3, "dp": 8, "pp": 1, "world_size": 24},
        {"tp": 6, "dp": 4, "pp": 1, "world_size": 24},
        {"tp": 2, "dp": 4, "pp": 1, "cp": 3, "world_size": 24},
    ],
    ids=str,
)
def test_what_the_plan_does_not_speak_of_is_no_reason_to_refuse_it(changes: dict[str, int]) -> None:
    plan = {**PLAN, "hidden_size": 9216, "num_heads": 48, **changes}
    assert package.verify_megatron_topology(**plan).world_size == 24


@pytest.mark.parametrize("text", ["it's", "$HOME", "a b", "`id`"])
def test_a_text_reaches_the_rules_as_it_is(text: str) -> None:
    assert package.verify_megatron_topology(**PLAN, wandb_project=text).release  # type: ignore[arg-type]
    with pytest.raises(TopologyError) as caught:
        package.verify_megatron_topology(**PLAN, lr_decay_style=text)  # type: ignore[arg-type]
    assert text in str(caught.value)


def test_the_api_takes_each_setting_once() -> None:
    with pytest.raises(TypeError, match="num_layers is given twice"):
        package.verify_megatron_topology(**PLAN, num_layers=9)


def test_the_api_refuses_a_version_that_is_none() -> None:
    with pytest.raises(ValueError, match="no version of TransformerEngine"):
        package.verify_megatron_topology(**PLAN, te="newest")  # type: ignore[arg-type]


def test_the_api_refuses_unknown_settings() -> None:
    with pytest.raises(TypeError, match="did you mean num_query_groups"):
        package.verify_megatron_topology(**PLAN, num_query_group=8)


def test_api_check_and_trace_are_the_json_reports(scripts: Path, preflight: Command) -> None:
    assert package.check("bad.sh", target="core_v0.19.0") == json.loads(
        preflight("check", "bad.sh", *AT, "--output", "json").out
    )
    assert package.trace(["good.sh"], env={"A": "1"})["files"][0]["launches"]


# -- explain, rules, files, targets


def test_explain(preflight: Command) -> None:
    done = preflight("explain", "wrong-type")
    assert done.status == 0 and done.out.startswith("wrong-type: ")
    document = json.loads(preflight("explain", "wrong-type", "--output", "json").out)
    (rule,) = document["rules"]
    assert rule["name"] == "wrong-type" and rule["family"] == "flags" and rule["why"] and rule["examples"]
    assert len(json.loads(preflight("explain", "comments", "--output", "json").out)["rules"]) == 2
    wrong = preflight("explain", "wrong-typ")
    assert wrong.status == 2 and "did you mean wrong-type?" in wrong.err


def test_rules_are_listed(preflight: Command) -> None:
    done = preflight("rules")
    assert done.status == 0 and "wrong-type" in done.out
    rows = json.loads(preflight("rules", "list", "comments", "--output", "json").out)["rules"]
    assert {row["name"] for row in rows} == {"unused-ignore", "invalid-ignore"}
    assert preflight("rules", "list", "nope").status == 2


def test_a_new_rule_holds_is_used_and_breaks_with_a_message(scripts: Path, preflight: Command) -> None:
    assert preflight("rules", "new", "our-tp-size").status == 0
    assert preflight("rules", "new", "our-tp-size").status == 2
    assert preflight("rules", "new", "Bad Name").status == 2
    tried = preflight("rules", "test", "preflight-rules", "--target", "0.19")
    assert tried.status == 0, tried
    assert "3 examples of 1 rule tried, 0 failed" in tried.out
    Path("preflight.toml").write_text('rules = ["preflight-rules/"]\n')
    found = json.loads(preflight("check", "good.sh", *AT, "--output", "json").out)["findings"]
    assert "our-tp-size" in {f["rule"] for f in found}
    rule = Path("preflight-rules/site/our-tp-size.toml")
    text = rule.read_text()
    rule.write_text(text.replace("tensor_model_parallel_size == 8 and", "tensor_model_parallel_siz == 8 and"))
    broken = preflight("check", "good.sh")
    assert broken.status == 2
    assert "our-tp-size.toml:" in broken.err and "tensor_model_parallel_size" in broken.err
    rule.write_text(text.replace("parallel-size 8 --seq", "parallel-size 4 --seq"))
    failing = preflight("rules", "test", "--target", "0.19")
    assert failing.status == 1 and "fires although it should pass" in failing.out


UNTRIED = {
    "gpu": ('gpu = "abacus"', "no GPU profile named 'abacus'"),
    "node": ('node = "abacus"', "shipped profiles are"),
    "target": ('target = "abacus"', "no target named 'abacus'"),
    "file": ('files = { "../outside" = "x" }', "lies outside of its folder"),
}


@pytest.mark.parametrize("line, words", UNTRIED.values(), ids=UNTRIED)
def test_an_example_that_cannot_be_tried_is_a_complaint(
    scripts: Path, preflight: Command, line: str, words: str
) -> None:
    assert preflight("rules", "new", "our-tp-size").status == 0
    rule = Path("preflight-rules/site/our-tp-size.toml")
    rule.write_text(rule.read_text().replace('expect = "fail"', f'expect = "fail"\n{line}'))
    tried = preflight("rules", "test", "preflight-rules", "--target", "0.19")
    assert tried.status == 1 and tried.err == ""
    assert words in tried.out and "3 examples of 1 rule tried, 1 failed" in tried.out


def test_a_rule_that_cannot_be_worked_out_is_a_complaint(scripts: Path, preflight: Command) -> None:
    assert preflight("rules", "new", "our-tp-size").status == 0
    rule = Path("preflight-rules/site/our-tp-size.toml")
    large = " * ".join(["num_layers ** 64"] * 30)
    rule.write_text(rule.read_text().replace('"world_size >= 8"', f'"{large} > 1"'))
    tried = preflight("rules", "test", "preflight-rules", "--target", "0.19")
    assert tried.status == 1 and "a number grew too large" in tried.out


def test_files(scripts: Path, preflight: Command) -> None:
    rows = json.loads(preflight("files", ".", "--output", "json").out)["files"]
    by_path = {row["path"]: row for row in rows}
    assert by_path["good.sh"]["launches"] == 1 and by_path["nothing.sh"]["launches"] == 0
    assert "binary" in by_path["binary.sh"]["error"]
    assert "good.sh: 1 launch (ends in .sh)" in preflight("files", ".").out


@pytest.mark.parametrize("text", ["{", "[]", "{}"])
@pytest.mark.parametrize("how", ["option", "config"])
def test_a_table_that_cannot_be_used_is_the_users_fault(
    scripts: Path, preflight: Command, text: str, how: str
) -> None:
    folder = Path(".preflight/targets")
    folder.mkdir(parents=True)
    (folder / "ours.json").write_text(text)
    if how == "config":
        Path("preflight.toml").write_text('target = "ours"\n')
    for command in ("check", "trace"):
        done = preflight(command, "good.sh", *(("--target", "ours") if how == "option" else ()))
        assert done.status == 2 and done.out == ""
        assert "ours.json is no flag table" in done.err and "internal" not in done.err


@pytest.mark.parametrize(
    "words",
    [["--name", "a/b"], ["--name", "../../up"], ["--name", "main"], ["--based-on", "abacus"]],
    ids=" ".join,
)
def test_a_target_with_an_impossible_name_is_misuse(
    scripts: Path, preflight: Command, words: list[str]
) -> None:
    core = Path("fork/megatron/core")
    core.mkdir(parents=True)
    (core / "package_info.py").write_text("MAJOR = 0\nMINOR = 15\nPATCH = 3\n")
    (Path("fork/megatron") / "arguments.py").write_text(
        "import argparse\ndef parse_args():\n    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--num-layers', type=int)\n    return parser.parse_args()\n"
    )
    assert preflight("targets", "add", "fork", *words).status == 2
    assert not Path(".preflight").exists()
    assert preflight("targets", "add", "fork", "--name", "ours").status == 0


def test_targets(scripts: Path, preflight: Command) -> None:
    assert "core_v0.19.0" in preflight("targets").out
    assert preflight("targets", "add").status == 2
    refused = preflight("targets", "add", ".", "--name", "x")
    assert refused.status == 3 and "Traceback" not in refused.err


# -- completions


FILES = {"bash": "preflight.bash", "zsh": "_preflight", "fish": "preflight.fish"}


@pytest.mark.parametrize("shell", completions.SHELLS)
def test_completions_are_current_and_name_every_option(preflight: Command, shell: str) -> None:
    text = preflight("completions", shell).out
    assert (ROOT / "completions" / FILES[shell]).read_text() == text
    flags = {name for command in COMMANDS for flag in completions.list_flags(command) for name in flag.names}
    assert len(flags) > 40
    for flag in flags:
        assert (flag.lstrip("-") if shell == "fish" else flag) in text


def complete(words: list[str], folder: Path) -> list[str]:
    line = " ".join(f"'{word}'" for word in words)
    script = (
        f"source {ROOT}/completions/preflight.bash; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
        '_preflight; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=folder)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["preflight", "che"], "check"),
        (["preflight", "check", "--outp"], "--output"),
        (["preflight", "check", "--gpu", "gb2"], "gb200"),
        (["preflight", "check", "--output", "sar"], "sarif"),
        (["preflight", "rules", "te"], "test"),
    ],
)
def test_bash_completes(tmp_path: Path, words: list[str], found: str) -> None:
    assert complete(words, tmp_path) == [found]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_theirs(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n", str(ROOT / "completions" / FILES[shell])], check=True)


@pytest.mark.parametrize(
    ("redirection", "status"), [(">&-", 1), ("2>&-", 1), (">&- 2>&-", 1), (">/dev/full", 3)]
)
def test_streams_that_are_closed_or_full(scripts: Path, redirection: str, status: int) -> None:
    command = f"{sys.executable} -m preflight check bad.sh --output json {redirection}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr
    if redirection == "2>&-":
        assert json.loads(done.stdout)["findings"]
