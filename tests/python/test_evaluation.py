"""What the evaluator makes of single idioms: known values, unknowns with their reasons, branches, merging."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.values import PLACEHOLDER, Piece, Unknown
from tests.python.reading import lines, read_text

HEAD = "import os, sys, subprocess\n"


def commands(text: str, **options: object) -> list[str]:
    return lines(read_text(HEAD + text, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "tp = int(os.environ['TP'])\nsubprocess.run(['torchrun', '--tp', str(tp)])",
            ["torchrun --tp <int(os.environ['TP'])>"],
        ),
        ("subprocess.run(['torchrun', f'--tp={os.environ[\"TP\"]}'])", ['torchrun <--tp=os.environ["TP"]>']),
        (
            "import cluster\nsubprocess.run(['torchrun', f'--n={cluster.size()}'])",
            ["torchrun <--n=cluster.size()>"],
        ),
        ("subprocess.run(['torchrun', *sys.argv[1:]])", ["torchrun <sys.argv[1:]>"]),
        ("a = ['torchrun']\nfor x in unknown:\n    a.append(x)\nsubprocess.run(a)", ["torchrun <a>"]),
        ("a = 'torchrun --x'\nfor x in unknown:\n    a += x\nos.system(a)", ["sh -c <torchrun --xa>"]),
        (
            "d = {'a': 1}\nd[unknown] = 2\nsubprocess.run(['torchrun', f\"{d['a']}\"])",
            ["torchrun <d[unknown]>"],
        ),
        ("n = 4\nwhile unknown:\n    n += 1\nsubprocess.run(['torchrun', f'{n}'])", ["torchrun <n>"]),
        ("subprocess.run(['torchrun'] + unknown)", ["torchrun <unknown>"]),
        (
            "import a\nsizes = {9: '1'}\nn = sizes.get(a.device().major, '8')\nsubprocess.run(['torchrun', n])",
            ["torchrun <sizes.get(a.device().major, '8')>"],
        ),
        (
            "import a\nsizes = {9: '1'}\nn = sizes[a.MAJOR]\nsubprocess.run(['torchrun', n])",
            ["torchrun <sizes[a.MAJOR]>"],
        ),
        ("subprocess.run(unknown)", []),
    ],
    ids=[
        "a variable of the environment",
        "inside a word",
        "code of another package",
        "arguments of the file",
        "a list that a loop of unknown length extends",
        "a text that a loop of unknown length extends",
        "a dictionary written under an unknown key",
        "a number that a loop changes",
        "a list added from elsewhere",
        "an entry under an unknown key, with a default",
        "an entry under a name of another package",
        "nothing is known",
    ],
)
def test_unknown_stays_unknown(text: str, expected: list[str]) -> None:
    assert commands(text, closed=False) == expected


@pytest.mark.parametrize(
    ("text", "reason", "name"),
    [
        ("subprocess.run(['torchrun', os.environ['NNODES']])", "environment", "NNODES"),
        ("subprocess.run(['torchrun', str(int(os.getenv('NNODES')) * 8)])", "environment", "NNODES"),
        ("import cluster\nsubprocess.run(['torchrun', str(cluster.nodes)])", "code", None),
        ("n = subprocess.check_output(['nvidia-smi'])\nsubprocess.run(['torchrun', n])", "command", None),
        ("import torch\nsubprocess.run(['torchrun', str(torch.cuda.device_count())])", "node", None),
        ("subprocess.run(['torchrun', open('x').read()])", "file", None),
        ("subprocess.run(['torchrun', sys.argv[1]])", "positional", None),
    ],
    ids=["environment", "through arithmetic", "code", "output", "devices", "a file", "an argument"],
)
def test_an_unknown_says_why(text: str, reason: str, name: str | None) -> None:
    script = read_text(HEAD + text, closed=False)
    unknown = script.executions[-1].words[-1].text.unknowns[0]
    assert (unknown.reason, unknown.name) == (reason, name)


def test_a_default_of_the_environment_is_an_assumption() -> None:
    text = HEAD + "tp = int(os.environ.get('TP', '8'))\nsubprocess.run(['torchrun', f'--tp={tp}'])"
    word = read_text(text, closed=False).executions[0].words[1]
    assert word.text.value == "--tp=8"
    assert [(a.name, a.value) for a in word.text.assumptions] == [("TP", "8")]
    strict = read_text(text, closed=False, strict=True).executions[0].words[1]
    assert not strict.text.known
    assert not read_text(text, closed=True).executions[0].words[1].text.assumptions


def test_an_option_of_the_launcher_is_an_assumption() -> None:
    text = HEAD + (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--tp', type=int, default=4)\n"
        "p.add_argument('--data', required=True)\na = p.parse_args()\n"
        "subprocess.run(['torchrun', f'--tp={a.tp}', a.data])"
    )
    execution = read_text(text, closed=False).executions[0]
    assert [(a.name, a.value) for a in execution.words[1].text.assumptions] == [("--tp", "4")]
    assert execution.words[2].text.unknowns[0].reason == "positional"
    given = read_text(text, arguments={0: "launch.py", 1: "--tp", 2: "2", 3: "--data", 4: "/d"}).executions[0]
    assert [w.text.value for w in given.words] == ["torchrun", "--tp=2", "/d"]
    assert not given.words[1].text.assumptions


MENU = """
import argparse
SIZES = {"small": 1, "large": 8}
parser = argparse.ArgumentParser()
parser.add_argument("--size", choices=list(SIZES))
parser.add_argument("--name")
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
if not args.size:
    parser.error("which?")
subprocess.run(["torchrun", "--tp", str(SIZES[args.size]), "--steps", str(args.steps), f"--name={args.name}"])
"""


def test_options_that_the_caller_must_give_are_tried_one_by_one() -> None:
    script = read_text(HEAD + MENU, closed=False)
    assert lines(script) == [
        "torchrun --tp 1 --steps 100 <--name=--name>",
        "torchrun --tp 8 --steps 100 <--name=--name>",
    ]
    assert [e.conditions[-1].text for e in script.executions] == ["--size small", "--size large"]
    assert [e.conditions[-1].span.text for e in script.executions] == ["small", "large"]
    given = read_text(HEAD + MENU, arguments={1: "--size", 2: "large"}, closed=False)
    assert lines(given) == ["torchrun --tp 8 --steps 100 --name=None"]


TYPER = """
import typer
from dataclasses import dataclass
from typing import Annotated
app = typer.Typer()

@dataclass
class Options:
    layers: int = 12
    name: str = "x"

@app.command()
def train(options: Options, tp: int = 2, seed: Annotated[int, typer.Option()] = 7, bf16: bool = typer.Option(True)):
    words = ["torchrun", str(options.layers), str(tp), str(seed)]
    if bf16:
        words.append("--bf16")
    subprocess.run(words)

if __name__ == "__main__":
    app()
"""

CLICK = """
import click

@click.command()
@click.option("--tp", "-t", default=4, type=int)
@click.option("--fp8", is_flag=True)
@click.option("--num-layers", "layers", default=16)
def main(tp, fp8, layers):
    subprocess.run(["torchrun", str(tp), str(layers)] + (["--fp8"] if fp8 else []))

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        (TYPER, {}, ["torchrun 12 2 7 --bf16"]),
        (TYPER, {1: "--tp", 2: "8", 3: "--layers=24"}, ["torchrun 24 8 7 --bf16"]),
    ],
    ids=["typer with a dataclass", "options given"],
)
def test_typer_commands(text: str, arguments: dict[int, str], expected: list[str]) -> None:
    assert commands(text, arguments=arguments) == expected


def test_click_options() -> None:
    assert commands(CLICK.replace("\n    main()", "\n    main.main()").replace("main.main", "main")) == [
        "torchrun 4 16"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "import c\nw = ['torchrun']\nif c.fast:\n    w.append('--fast')\nelse:\n    w.append('--slow')\n"
            "subprocess.run(w)",
            {("torchrun --fast", "c.fast", True), ("torchrun --slow", "c.fast", False)},
        ),
        (
            "import c\nif c.size == '7b':\n    n = 32\nelif c.size == '70b':\n    n = 80\nelse:\n    raise SystemExit\n"
            "subprocess.run(['torchrun', c.size, str(n)])",
            {("torchrun 7b 32", "c.size == '7b'", True), ("torchrun 70b 80", "c.size == '70b'", True)},
        ),
        (
            "import c\nmatch c.size:\n    case 'a':\n        n = 1\n    case 'b':\n        n = 2\n"
            "    case _:\n        n = 3\n"
            "subprocess.run(['torchrun', str(n)])",
            {
                ("torchrun 1", "c.size matches 'a'", True),
                ("torchrun 2", "c.size matches 'b'", True),
                ("torchrun 3", "c.size matches 'b'", False),
            },
        ),
        (
            "import c\nn = 1\nd = c.device(0)\nif d.major == 9:\n    n = 2\nsubprocess.run(['torchrun', str(n)])",
            {("torchrun 2", "d.major == 9", True), ("torchrun 1", "d.major == 9", False)},
        ),
        (
            "import c\nn = 1\nd = c.device(0)\nif d.major in (9, 10):\n    n = 2\n"
            "subprocess.run(['torchrun', str(n)])",
            {("torchrun 2", "d.major in (9, 10)", True), ("torchrun 1", "d.major in (9, 10)", False)},
        ),
    ],
    ids=[
        "both ways",
        "knowledge from the test",
        "cases",
        "a property of something unknown",
        "one of several",
    ],
)
def test_undecided_branches_are_taken_both_ways(text: str, expected: set[tuple[str, str, bool]]) -> None:
    script = read_text(HEAD + text)
    found = {
        (line, execution.conditions[-1].text, execution.conditions[-1].taken)
        for line, execution in zip(lines(script), script.executions, strict=True)
    }
    assert found == expected


@pytest.mark.parametrize(
    "text",
    [
        "import c\nif c.debug:\n    print('debug')\nsubprocess.run(['torchrun', 'x'])",
        "import c\nif not c.ready:\n    raise RuntimeError('no')\nsubprocess.run(['torchrun', 'x'])",
        "import c\nif c.ready:\n    pass\nelse:\n    sys.exit(1)\nsubprocess.run(['torchrun', 'x'])",
        "import c\nx = 1 if c.a else 2\nsubprocess.run(['torchrun', 'x'])",
        "r = subprocess.run(['git', 'status'])\nif r.returncode != 0:\n    sys.exit(r.returncode)\n"
        "subprocess.run(['torchrun', 'x'])",
    ],
    ids=["only speaks", "only refuses", "the other way refuses", "the same on both", "success is taken"],
)
def test_branches_that_make_no_difference_leave_no_condition(text: str) -> None:
    script = read_text(HEAD + text)
    last = script.executions[-1]
    assert [w.text.value for w in last.words] == ["torchrun", "x"]
    assert all(not c.taken or "ready" in c.text for c in last.conditions) or not last.conditions
    assert sum(line == "torchrun x" for line in lines(script)) == 1


def test_an_assertion_that_fails_ends_the_program() -> None:
    text = "import c\nn = 0\nx = 1\nif c.many:\n    assert n > 0, 'how many?'\n    x = 2\n"
    (execution,) = read_text(HEAD + text + "subprocess.run(['torchrun', str(x)])").executions
    assert [(c.text, c.taken) for c in execution.conditions] == [("c.many", False)]


def test_too_many_branches_are_merged_and_said() -> None:
    tests = "".join(f"if c.o{n}:\n    w.append('--o{n}')\n" for n in range(14))
    script = read_text(HEAD + f"import c\nw = ['torchrun']\n{tests}subprocess.run(w)")
    assert script.truncated
    assert len(script.executions) <= 128
    for execution in script.executions:
        assert execution.words[-1].many


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("subprocess.run(['torchrun', '--tp', '8'])", "'--tp'", "'--tp'"),
        ("TP = 8\nsubprocess.run(['torchrun', TP, str(TP)])", "str(TP)", "str(TP)"),
    ],
    ids=["a literal", "a name: the use"],
)
def test_words_stand_where_they_are_used(text: str, start: str, end: str) -> None:
    script = read_text(HEAD + text)
    assert any(w.span.text == start for w in script.executions[0].words)
    assert end


def test_pieces_point_into_the_literal() -> None:
    text = HEAD + 'a = "--num-layers 8 " \\\n    "--x \\t y"\nos.system("torchrun " + a)\n'
    execution = read_text(text).executions[0]
    derived = execution.span.source
    for at, byte in enumerate(derived.data):
        place = derived.span(at, at + 1).resolve().text
        assert place == chr(byte) or (chr(byte), place) == ("\t", "\\t")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "import cloud\n"
            "cloud.execute(train_args=f'--num-layers {4 * 8} --hidden-size 64 --bf16 {cloud.more}')",
            "cloud.execute",
        ),
        (
            "import cloud\ncloud.launch(['--num-layers', '32', '--hidden-size', '64', '--bf16'])",
            "cloud.launch",
        ),
    ],
    ids=["a string of flags", "a list of flags"],
)
def test_flags_handed_to_a_function_that_is_not_followed(text: str, name: str) -> None:
    execution = read_text(text).executions[0]
    assert execution.handed_to == name
    values = [w.text.value for w in execution.words]
    assert values[:6] == ["python", None, "--num-layers", "32", "--hidden-size", "64"]
    assert execution.words[-1].many


@pytest.mark.parametrize(
    "text",
    [
        "print('--num-layers 32 --hidden-size 64 --bf16')",
        "import logging\nlogging.info('--num-layers 32 --hidden-size 64 --bf16')",
        "import cloud\ncloud.execute('--num-layers 32')",
        "import cloud\ncloud.execute('--verbose --color --x')",
    ],
    ids=["printed", "logged", "too few flags", "no flags of Megatron's"],
)
def test_flags_that_are_no_launch(text: str) -> None:
    assert read_text(text + "\n# torchrun").executions == ()


def test_other_ways_to_launch() -> None:
    text = """
import submitit
from ray.job_submission import JobSubmissionClient
from torch.distributed.run import main as torch_main
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

client = JobSubmissionClient("http://x")
client.submit_job(entrypoint=f"python train.py --tp {2 * 2}", runtime_env={"env_vars": {"A": "1"}})
torch_main(["--nproc-per-node", "8", "train.py", "--num-layers", "4"])
elastic_launch(LaunchConfig(min_nodes=1, max_nodes=2, nproc_per_node=8), "train.py")("--bf16")
executor = submitit.AutoExecutor(folder="x")
executor.update_parameters(nodes=2, tasks_per_node=8, gpus_per_node=8)
executor.submit(submitit.helpers.CommandFunction(["python", "train.py", "--seed", "1"]))
"""
    script = read_text(HEAD + text)
    assert lines(script) == [
        "sh -c python train.py --tp 4",
        "torchrun --nproc-per-node 8 train.py --num-layers 4",
        "torchrun --nnodes=1:2 --nproc-per-node=8 train.py --bf16",
        "srun --nodes=2 --ntasks-per-node=8 --gpus-per-node=8 python train.py --seed 1",
    ]
    variables = script.executions[0].environment
    assert variables["A"] is not None
    assert variables["A"].value == "1"


def test_functions_that_nothing_calls_are_followed_with_unknown_parameters() -> None:
    text = """
import pytest

def build(size, layers=12):
    return ["torchrun", "train.py", "--num-layers", str(layers), size]

class TestRun:
    @pytest.mark.parametrize("tp,pp", [(2, 1), (1, 2)])
    def test_it(self, tp, pp, tmp_path):
        subprocess.run(build(str(tmp_path)) + ["--tp", str(tp), "--pp", str(pp)], check=True)

def launch(nodes, gpus=8):
    subprocess.run(["torchrun", f"--nnodes={nodes}", f"--nproc-per-node={gpus}", "train.py"])
"""
    script = read_text(HEAD + text, closed=False)
    assert lines(script) == [
        "torchrun train.py --num-layers 12 <tmp_path> --tp 2 --pp 1",
        "torchrun train.py --num-layers 12 <tmp_path> --tp 1 --pp 2",
        "torchrun <--nnodes=nodes> --nproc-per-node=8 train.py",
    ]
    assumed = script.executions[2].words[2].text.assumptions
    assert [(a.name, a.value) for a in assumed] == [("gpus", "8")]


def test_text_of_a_shell_with_placeholders() -> None:
    data = (HEAD + f"subprocess.run(['torchrun', '--tp', '{PLACEHOLDER}', str({PLACEHOLDER})])").encode()
    holes = [at for at in range(len(data)) if data.startswith(PLACEHOLDER.encode(), at)]
    from preflight.source import Source, Span

    outer = Source("run.sh", b"$TP $PP")
    unknowns = {
        holes[0]: Piece("$TP", Span(outer, 0, 3), Unknown("environment", "$TP", "TP")),
        holes[1]: Piece("$PP", Span(outer, 4, 7), Unknown("environment", "$PP", "PP")),
    }
    words = read_text(data, unknowns=unknowns).executions[0].words
    assert words[2].text.unknowns[0].name == "TP"
    assert words[3].text.unknowns[0].name == "PP"
    assert words[2].text.pieces[0].span.path == "run.sh"


def test_the_environment_that_a_shell_hands_on(tmp_path: Path) -> None:
    from preflight.execution import Context
    from preflight.python import read_script
    from preflight.source import Files, Source
    from preflight.values import Text
    from tests.python.reading import keep_text

    source = Source(
        "x.py", (HEAD + "subprocess.run(['torchrun', os.environ['TP'], os.getenv('NO', 'd')])").encode()
    )
    context = Context(Files(str(tmp_path), (str(tmp_path),)))
    exported = {"TP": Text.literal("4", source.span(0, 1)), "NO": None}
    script = read_script(source, context, read_shell=keep_text, exported=exported)
    assert lines(script) == ["torchrun 4 d"]


def test_an_option_without_default_that_is_written_out_has_to_be_given() -> None:
    text = HEAD + (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--nodes', type=int)\na = p.parse_args()\n"
        "subprocess.run(['torchrun', f'--nnodes={a.nodes}', '%s' % a.nodes, str(a.nodes), f'{a.nodes!r}'])"
    )
    words = read_text(text, closed=False).executions[0].words
    assert [w.text.unknowns[0].reason for w in words[1:]] == ["positional"] * 4
    assert [w.text.value for w in read_text(text).executions[0].words[1:]] == ["--nnodes=None", *["None"] * 3]


def test_an_error_past_a_branch_that_may_have_returned_is_not_certain() -> None:
    """Ten servers are waited for: more decisions than a path takes; that none of them ever answers is not known."""
    text = (
        "def wait(port):\n    while unknown:\n        if answers(port).status == 200:\n            return port\n"
        "    raise RuntimeError('no answer')\n"
        "for port in range(10):\n    wait(port)\nsubprocess.run(['torchrun', 'pretrain_gpt.py'])\n"
    )
    assert commands(text) == ["torchrun pretrain_gpt.py"]


def test_an_error_that_is_certain_ends_the_path() -> None:
    text = "def check():\n    raise RuntimeError\ncheck()\nsubprocess.run(['torchrun', 'pretrain_gpt.py'])\n"
    assert commands(text) == []


@pytest.mark.parametrize(
    ("setting", "call", "expected"),
    [
        ("sys.argv += ['--num-layers', '4']", "initialize_megatron()", ["python <{}> --num-layers 4 <{}>"]),
        ("sys.argv = ['x.py', '--bf16']", "initialize_megatron()", ["python <{}> --bf16 <{}>"]),
        ("sys.argv.extend(['--bf16'])", "pretrain(a, b)", ["python <{}> --bf16 <{}>"]),
        ("sys.argv.append('file')", "initialize_megatron()", []),
        ("pass", "initialize_megatron()", []),
        ("sys.argv += ['--bf16']", "get_args()", []),
    ],
    ids=["added", "replaced", "extended", "no flag", "untouched", "not a start"],
)
def test_a_program_that_gives_itself_flags_is_a_launch(setting: str, call: str, expected: list[str]) -> None:
    function = call.partition("(")[0]
    text = f"from megatron.training.initialize import {function}\n{setting}\n{call}\nNOTE = '--num-layers'\n"
    shown = f"megatron.training.initialize.{function}"
    assert commands(text) == [each.format(shown, shown) for each in expected]


def test_a_test_that_skips_itself_ends_there() -> None:
    text = (
        "class Case:\n    def test(self):\n        if sys.platform == 'linux':\n            self.skipTest('no')\n"
        "        subprocess.run(['torchrun', 'pretrain_gpt.py'])\n"
    )
    assert commands(text) == []
    assert commands(text.replace("== 'linux'", "!= 'linux'")) == ["torchrun pretrain_gpt.py"]


def test_the_third_command_of_a_program_is_followed_on_a_first_look() -> None:
    text = (
        "def main():\n    command = sys.argv[1]\n    if command == 'list':\n        return print('a')\n"
        "    if command == 'prepare':\n        return prepare()\n"
        "    if command == 'run':\n        subprocess.run(['torchrun', 'pretrain_gpt.py'])\nmain()\n"
    )
    assert commands(text, closed=False) == ["torchrun pretrain_gpt.py"]


def test_an_object_is_one_of_the_class_that_made_it_wherever_that_comes_from() -> None:
    text = (
        "from library import Model, Other\nmodel = Model(layers=2)\n"
        "if isinstance(model, (Other, Model)):\n    flags = ['--known']\nelse:\n    raise ValueError\n"
        "if isinstance(model, Other):\n    flags.append('--other')\n"
        "subprocess.run(['torchrun', 'pretrain_gpt.py', *flags])\n"
    )
    assert commands(text) == [
        "torchrun pretrain_gpt.py --known --other",
        "torchrun pretrain_gpt.py --known",
    ]
