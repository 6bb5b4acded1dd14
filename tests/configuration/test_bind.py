"""From a launch to settings: defaults, open lines, settings that come from elsewhere, forks."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.configuration.bind import bind_launch
from preflight.configuration.model import Configuration
from preflight.source import Files, Source
from preflight.targets.table import load_table
from tests.configuration.launches import make_launch

FLAGS = Path(__file__).parents[2] / "fixtures" / "flags"


def bind(
    line: str,
    program: str = "pretrain_gpt.py",
    release: str = "core_v0.19.0",
    folder: Path | None = None,
    **more: str,
) -> Configuration:
    files = Files(str(folder), (str(folder),)) if folder else None
    (configuration,) = bind_launch(make_launch(line.split(), program, **more), load_table(release), files)
    return configuration


def test_every_destination_has_a_value() -> None:
    configuration = bind("--num-layers 8")
    wanted = {option.destination for option in load_table("core_v0.19.0").options if option.action != "help"}
    assert set(configuration.values) >= wanted
    assert configuration.values["num_layers"].value == 8
    assert configuration.values["num_layers"].origin == "flag"
    assert configuration.values["hidden_size"].origin == "default"


def test_a_program_s_defaults_fill_what_is_absent_and_no_more() -> None:
    assert bind("").values["tokenizer_type"].value == "GPT2BPETokenizer"
    assert bind("--tokenizer-type NullTokenizer").values["tokenizer_type"].value == "NullTokenizer"
    assert bind("", "examples/t5/pretrain_t5.py").values["tokenizer_type"].value == "BertWordPieceLowerCase"


def test_the_span_goes_from_the_flag_to_its_last_value() -> None:
    span = bind("--rampup-batch-size 8 8 1000 --bf16").values["rampup_batch_size"].span
    assert span is not None
    assert span.text == "--rampup-batch-size 8 8 1000"


def test_an_unknown_value_stays_unknown() -> None:
    bound = bind("--num-layers $LAYERS").values["num_layers"]
    assert bound.unknown is not None
    assert (bound.unknown.reason, bound.unknown.name) == ("environment", "LAYERS")


def test_an_unquoted_unknown_is_the_value_of_the_flag_before_it() -> None:
    configuration = bind("--num-layers $*LAYERS --bf16")
    assert configuration.values["num_layers"].unknown is not None
    assert configuration.values["sequence_parallel"].unknown is None


def test_an_open_line_leaves_switches_unknown_and_assumes_values() -> None:
    configuration = bind("--num-layers 8 $*EXTRA")
    switch = configuration.values["sequence_parallel"]
    assert switch.unknown is not None
    assert switch.unknown.reason == "rest"
    size = configuration.values["context_parallel_size"]
    assert (size.unknown, size.value) == (None, 1)
    assert [(a.name, a.value, a.span.text) for a in size.assumptions] == [
        ("--context-parallel-size", "1", "$*EXTRA")
    ]
    assert configuration.values["num_layers"].assumptions == ()


@pytest.mark.parametrize("line", ["$*EXTRA stray", "--lr $*LR 1e-4", "--bf16 $*X true", "--bf16 $X 1"])
def test_words_behind_unknown_text_are_not_judged(line: str) -> None:
    assert bind(line).problems == ()


def test_settings_from_yaml_are_unknown() -> None:
    bound = bind("--yaml-cfg a.yaml --num-layers 4").values["num_layers"]
    assert bound.unknown is not None
    assert bound.unknown.reason == "file"


def test_settings_that_the_checkpoint_gives_are_unknown() -> None:
    values = bind("--use-checkpoint-args --num-layers 4 --swiglu --load x").values
    assert values["num_layers"].unknown is None, "the checkpoint only fills it in"
    assert values["hidden_size"].unknown is not None
    assert values["swiglu"].unknown is not None, "the checkpoint overrides it"
    assert values["tensor_model_parallel_size"].unknown is None
    values = bind(
        "--use-checkpoint-args --use-mp-args-from-checkpoint-args --tensor-model-parallel-size 2"
    ).values
    assert values["tensor_model_parallel_size"].unknown is not None


def test_another_program_may_fill_in_what_has_no_default() -> None:
    values = bind("--tensor-model-parallel-size 2", "finetune_ours.py").values
    assert values["num_layers"].unknown is not None
    assert values["num_layers"].unknown.reason == "program"
    assert values["sequence_parallel"].unknown is not None, "it may turn a switch on"
    assert (values["pipeline_model_parallel_size"].value, values["pipeline_model_parallel_size"].unknown) == (
        1,
        None,
    )


def test_a_program_without_megatron_s_flags_is_not_recognised() -> None:
    configuration = bind("--lr 1e-4 --bf16 --unheard-of", "train.py")
    assert not configuration.recognised
    assert configuration.problems == ()


def kinds(configuration: Configuration) -> list[str]:
    return [problem.kind for problem in configuration.problems]


PROBLEMS = {
    "--num-layer 8": "unknown-flag",
    "--lr-scheduler cosine": "unknown-flag",
    "--use-custom-fsdp": "removed-flag",
    "--overlap-p2p-communication": "flag-of-the-default",
    "–num-layers 8": "flag-with-wrong-dash",
    "--lr --bf16": "missing-value",
    "--min-lr -1e-5": "negative-exponent",
    "--num-layers 8 9": "extra-word",
    "stray": "extra-word",
    "trainer.devices=8": "key-value-word",
    "--num-layers 8.0": "wrong-type",
    "--normalization rmsnorm": "wrong-choice",
    "--bf16 true": "value-for-switch",
    "--bf16=1": "value-for-switch",
    "-h": "help-flag",
    "--num-layers 8 --num-layers 9": "repeated-flag",
    "-num-layers 8": "unknown-flag",
    "--": "extra-word",
}


@pytest.mark.parametrize(("line", "kind"), PROBLEMS.items())
def test_each_fault_has_its_kind(line: str, kind: str) -> None:
    assert kinds(bind(line)) == [kind]


@pytest.mark.parametrize(
    ("line", "fixed"),
    [
        ("--num-layer 8", "--num-layers 8"),
        ("--tensor_model_parallel_size=8", "--tensor-model-parallel-size=8"),
        ("--tensor-parallel-size 8", "--tensor-model-parallel-size 8"),
        ("--s3-cache-path x", "--object-storage-cache-path x"),
        ("–num-layers 8", "--num-layers 8"),
        ("--num-layers 8 --overlap-p2p-communication", "--num-layers 8"),
        ("--bf16 true", "--bf16"),
        ("--bf16=true", "--bf16"),
        ("--bf16 false", "--bf16 false"),
        ("--normalization rmsnorm", "--normalization RMSNorm"),
        ("--Num-Layers 8", "--num-layers 8"),
    ],
)
def test_an_edit_mends_the_line(line: str, fixed: str) -> None:
    (problem,) = bind(line).problems
    data = problem.span.source.data
    for span, text in sorted(problem.edits, key=lambda edit: edit[0].start, reverse=True):
        data = data[: span.start] + text.encode() + data[span.end :]
    assert data.decode() == f"torchrun pretrain_gpt.py {fixed}"


def test_a_flag_that_came_later_names_the_release_that_brought_it() -> None:
    (problem,) = bind("--sft", release="core_v0.12.0").problems
    assert (problem.kind, problem.values["first"]) == ("later-flag", "core_v0.13.1")


def test_a_removed_flag_names_the_last_release_and_what_took_its_place() -> None:
    (problem,) = bind("--use-custom-fsdp").problems
    assert (problem.values["last"], problem.values["instead"]) == ("core_v0.13.1", "--use-megatron-fsdp")


def test_flags_that_the_entry_point_adds_are_known() -> None:
    assert kinds(bind("--export-kd-teacher-load x")) == []
    needed = "--language-model-type a --vision-model-type b --prompt-path x --dataset-config y"
    more = "--tokenizer-prompt-format mistral --freeze-LM"
    assert kinds(bind(f"{needed} {more}", "examples/multimodal/train.py")) == []
    assert "required-flag" in kinds(bind(more, "examples/multimodal/train.py"))


def test_one_strange_flag_is_wrong_and_several_speak_of_a_fork() -> None:
    assert kinds(bind("--our-mixer-kind 1")) == ["unknown-flag"]
    assert kinds(bind("--our-mixer-kind 1 --use-npu-kernels")) == ["unchecked-flags"]


def test_a_fork_s_launcher_explains_strange_flags() -> None:
    assert kinds(bind("--our-mixer-kind 1", kind="msrun")) == ["unchecked-flags"]
    assert kinds(bind("--num-experts 8 16", kind="deepspeed")) == []


@pytest.mark.parametrize(
    ("program", "sign", "known", "fork"),
    [
        ("pretrain_gpt.py", b"export HCCL_CONNECT_TIMEOUT=1", {"beside": True}, True),
        ("train.py", b"export HCCL_CONNECT_TIMEOUT=1", {"beside": True}, True),
        ("pretrain_gpt.py", b"", {"beside": True}, False),
        ("train.py", b"", {"beside": True}, False),
        ("train.py", b"", {"assumed": True}, True),
        ("pretrain_gpt.py", b"export HCCL_CONNECT_TIMEOUT=1", {}, False),
    ],
    ids=[
        "patched",
        "patched, own program",
        "plain",
        "own program",
        "own program, no checkout",
        "named by the user",
    ],
)
def test_a_checkout_beside_a_fork_that_patches_it_says_not_all(
    program: str, sign: bytes, known: dict[str, bool], fork: bool
) -> None:
    launch = make_launch(["--tensor-model-parallel-size", "2", "--num-layers", "8"], program)
    launch = launch._replace(source=Source("train.sh", launch.source.data + b"\n" + sign))
    (configuration,) = bind_launch(launch, load_table("core_r0.8.0"), **known)
    assert bool(configuration.fork) == fork


def test_a_flag_that_ends_in_a_carriage_return_is_left_to_the_line_ends() -> None:
    launch = make_launch(["--num-layers", "8", "--log-throughput\r"])
    (configuration,) = bind_launch(launch, load_table("core_v0.19.0"))
    assert kinds(configuration) == []


def test_a_fork_s_flag_may_share_the_layers_out() -> None:
    for more, known in (
        ("", True),
        ("--num-layer-list 5,6", False),
        ("--noop-layers 3", False),
    ):
        values = bind(f"--num-layers 11 --use-npu-kernels {more}", kind="msrun").values
        assert (values["pipeline_model_parallel_layout"].unknown is None) is known
        assert values["pipeline_model_parallel_size"].unknown is None


def test_in_another_program_only_a_slip_of_a_letter_is_told() -> None:
    line = "--tensor-model-parallel-size 2 "
    assert kinds(bind(line + "--our-mixer 1", "ours.py")) == ["unchecked-flags"]
    assert kinds(bind(line + "--use-distributed-optimiser", "ours.py")) == ["misspelt-flag"]
    assert kinds(bind(line + "--num-attention-head 8", "ours.py")) == ["unchecked-flags"]
    assert kinds(bind(line + "--tokenizer-type OurTokenizer --bf16 x", "ours.py")) == []
    assert kinds(bind(line + "--num-layers x", "ours.py")) == ["wrong-type"]


def test_the_program_s_own_code_explains_its_flags() -> None:
    line = "--tensor-model-parallel-size 2 --our-mixer a --rollout-engines 2"
    assert kinds(bind(line, "train.py", folder=FLAGS / "fork")) == []
    assert kinds(bind(line, "train.py")) == ["unchecked-flags"]


def test_what_a_program_requires_is_told_only_where_its_parser_is_known(tmp_path: Path) -> None:
    launch = make_launch(["--freeze-LM"], "examples/multimodal/train.py")
    table = load_table("core_v0.19.0")
    (known,) = bind_launch(launch, table)
    (assumed,) = bind_launch(launch, table, assumed=True)
    assert set(kinds(known)) == {"required-flag"}
    assert kinds(assumed) == []
    program = tmp_path / "examples" / "multimodal" / "train.py"
    program.parent.mkdir(parents=True)
    program.write_text(
        "from megatron.training import pretrain\n"
        "def add(parser):\n"
        "    parser.add_argument('--freeze-LM', action='store_true')\n"
        "    return parser\n"
        "pretrain(None, None, None, None, extra_args_provider=add)\n"
    )
    (own,) = bind_launch(launch, table, Files(str(tmp_path), (str(tmp_path),)))
    assert kinds(own) == []


def test_a_checkout_from_before_megatron_core_counts_as_a_fork(tmp_path: Path) -> None:
    launch = make_launch(["--checkpoint-activations"], "pretrain_gpt.py")
    files = Files(str(tmp_path), (str(tmp_path),))
    (plain,) = bind_launch(launch, load_table("core_v0.19.0"), files, assumed=True)
    assert not plain.fork
    old = tmp_path / "older"
    (old / "megatron").mkdir(parents=True)
    (old / "megatron" / "arguments.py").write_text("")
    files = Files(str(old), (str(old),))
    (excused,) = bind_launch(launch, load_table("core_v0.19.0"), files, assumed=True)
    (told,) = bind_launch(launch, load_table("core_v0.19.0"), files)
    assert "older than Megatron core" in excused.fork
    assert not told.fork
    (old / "megatron" / "core").mkdir()
    (old / "megatron" / "core" / "__init__.py").write_text("MAJOR = 0\nMINOR = 2\nPATCH = 0\n")
    (excused,) = bind_launch(launch, load_table("core_v0.5.0"), files, assumed=True)
    assert excused.fork


def test_a_word_too_many_does_not_make_a_checkout_a_fork(tmp_path: Path) -> None:
    (tmp_path / "megatron" / "core").mkdir(parents=True)
    (tmp_path / "megatron" / "core" / "__init__.py").write_text("")
    (tmp_path / "megatron" / "training").mkdir()
    (tmp_path / "megatron" / "training" / "arguments.py").write_text(
        "import argparse\n"
        "def parse_args(extra_args_provider=None, ignore_unknown_args=False):\n"
        "    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--eval-iters', type=int)\n"
        "    return parser.parse_args()\n"
    )
    configuration = bind("--eval-iters 1 2", folder=tmp_path)
    assert (kinds(configuration), configuration.fork) == (["extra-word"], "")


def test_a_program_that_cannot_be_followed_keeps_the_shipped_flags(tmp_path: Path) -> None:
    (tmp_path / "pretrain_gpt.py").write_text(
        "from megatron.training import pretrain\n"
        "from megatron.post_training.arguments import add_modelopt_args\n"
        "pretrain(None, None, None, None, extra_args_provider=add_modelopt_args)\n"
    )
    assert kinds(bind("--export-kd-teacher-load x --lr-scheduler cosine", folder=tmp_path)) == [
        "unknown-flag"
    ]


def test_a_setting_that_the_program_s_code_sets_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "convert.py").write_text(
        "from megatron.training import get_args, initialize_megatron\n"
        "def add(parser):\n"
        "    parser.add_argument('--source')\n"
        "    return parser\n"
        "def fill(config):\n"
        "    args = get_args()\n"
        "    args.num_layers, args.hidden_size = config.layers, config.width\n"
        "    print(args.seq_length)\n"
        "initialize_megatron(extra_args_provider=add)\n"
    )
    line = "--tensor-model-parallel-size 2 --source x --num-layers 1 --hidden-size 1 --seq-length 1"
    values = bind(line, "convert.py", folder=tmp_path).values
    assert [values[name].unknown is None for name in ("num_layers", "hidden_size", "seq_length")] == [
        False,
        False,
        True,
    ]


def test_a_strange_flag_may_be_a_fork_s_where_nobody_names_the_release() -> None:
    launch = make_launch(["--our-mixer-kind", "1"])
    (assumed,) = bind_launch(launch, load_table("core_v0.19.0"), assumed=True)
    assert kinds(assumed) == ["unheard-of-flag"]
    (slip,) = bind_launch(make_launch(["--num-layer", "1"]), load_table("core_v0.19.0"), assumed=True)
    assert kinds(slip) == ["unknown-flag"]


def test_a_flag_from_before_megatron_core_speaks_of_an_older_megatron() -> None:
    line = ["--data-impl", "mmap", "--checkpoint-activations"]
    (older,) = bind_launch(make_launch(line), load_table("core_v0.19.0"), assumed=True)
    assert kinds(older) == ["unchecked-flags"] and "--data-impl" in older.fork
    (named,) = bind_launch(make_launch(line), load_table("core_v0.19.0"))
    assert not named.fork and "unknown-flag" in kinds(named)
    (later,) = bind_launch(make_launch([*line, "--sft"]), load_table("core_v0.19.0"), assumed=True)
    assert not later.fork


def test_a_fork_s_flag_may_let_sizes_not_divide() -> None:
    line = "--num-attention-heads 25 --tensor-model-parallel-size 2"
    for more, known in (("", True), ("--unaligned-linear", False)):
        values = bind(f"{line} --use-npu-kernels {more}", kind="msrun").values
        assert (values["num_attention_heads"].unknown is None) is known


def test_a_fork_s_flag_may_give_nodes_parts_of_unequal_size() -> None:
    line = "--num-layers 8 --tensor-model-parallel-size 2 --use-npu-kernels --pipeline-model-parallel-size 2"
    for more, known in (("", True), ("--layerwise-disaggregated-training", False)):
        values = bind(f"{line} {more}", kind="msrun").values
        assert (values["pipeline_model_parallel_size"].unknown is None) is known
        assert values["num_layers"].unknown is None


def test_deepspeed_shares_layers_out_in_its_own_way() -> None:
    line = "--num-layers 30 --hidden-size 64 --pipeline-model-parallel-size 4"
    for more, known in (("", True), ("--deepspeed", False), ("--pp-partition-method parameters", False)):
        values = bind(f"{line} --use-npu-kernels {more}", kind="deepspeed").values
        assert (values["num_layers"].unknown is None) is known
        assert values["hidden_size"].unknown is None


def test_another_program_may_find_out_what_is_minus_one() -> None:
    line = "--num-layers -1 --hidden-size 64 --tensor-model-parallel-size 2"
    for program, known in (("pretrain_gpt.py", True), ("evaluate_ours.py", False)):
        values = bind(line, program).values
        assert (values["num_layers"].unknown is None) is known
        assert values["hidden_size"].unknown is None


def test_another_program_may_take_a_fraction_where_megatron_wants_a_whole_number() -> None:
    line = "--tensor-model-parallel-size 2 "
    assert kinds(bind(line + "--warmup 0.01", "ours.py")) == []
    assert kinds(bind(line + "--warmup x", "ours.py")) == ["wrong-type"]
    assert kinds(bind("--warmup 0.01")) == ["wrong-type"]


def test_a_checkout_may_take_other_values_than_its_release(tmp_path: Path) -> None:
    place = tmp_path / "megatron" / "training" / "arguments.py"
    place.parent.mkdir(parents=True)
    place.write_text(
        "import argparse\n"
        "def parse_args(extra_args_provider=None, ignore_unknown_args=False):\n"
        "    parser = argparse.ArgumentParser(allow_abbrev=False)\n"
        "    parser.add_argument('--normalization', choices=['LayerNorm', 'OurNorm'])\n"
        "    return parser.parse_args()\n"
    )
    files = Files(str(tmp_path), (str(tmp_path),))
    for value, expected in (("OurNorm", []), ("NoNorm", ["wrong-choice"])):
        launch = make_launch(["--normalization", value])
        (found,) = bind_launch(launch, load_table("core_v0.9.0"), files)
        assert kinds(found) == expected


@pytest.mark.parametrize(
    ("flag", "kind"),
    [
        ("--use-mpi", "unheard-of-flag"),
        ("--num-attention-head", "unknown-flag"),
        ("--num_layers", "unknown-flag"),
    ],
    ids=["another short word", "a letter left out", "underscores"],
)
def test_where_release_and_file_are_a_guess_only_a_slip_is_certain(flag: str, kind: str) -> None:
    launch, table = make_launch([flag, "8"], "pretrain_gpt.py"), load_table("core_v0.19.0")
    assert kinds(bind_launch(launch, table, assumed=True)[0])[0] == kind
    assert kinds(bind_launch(launch, table)[0])[0] == "unknown-flag"


def test_a_remark_about_the_program_stands_in_the_script() -> None:
    launch = make_launch(["--freeze-LM"], "examples/multimodal/train.py")
    assert launch.program is not None
    given = Source("<directory>", b"/data/examples/multimodal/train.py")
    program = launch.program._replace(span=given.span(0, len(given.data)))
    (configuration,) = bind_launch(launch._replace(program=program), load_table("core_v0.19.0"))
    assert {problem.span for problem in configuration.problems} == {launch.span}


REWRITING = """
import argparse
import sys


def add_megatron_arguments(parser):
    parser.add_argument("--num-layers", type=int)
    parser.add_argument("--hidden-size", type=int)
    return parser


def parse_args(extra_args_provider=None, ignore_unknown_args=False):
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument("--recipe", type=str)
    chosen, rest = first.parse_known_args()
    sys.argv = [sys.argv[0]] + read_recipe(chosen.recipe) + rest
    return add_megatron_arguments(argparse.ArgumentParser()).parse_args()
"""


@pytest.mark.parametrize("rewrites", [True, False], ids=["it takes the line from a file", "it only looks"])
def test_a_checkout_may_take_the_command_line_from_a_file(tmp_path: Path, rewrites: bool) -> None:
    folder = tmp_path / "megatron" / "training"
    folder.mkdir(parents=True)
    text = REWRITING if rewrites else REWRITING.replace("sys.argv =", "argv =")
    (folder / "arguments.py").write_text(text)
    configuration = bind("--recipe small.yaml", folder=tmp_path)
    assert ("unknown-flag" in kinds(configuration)) != rewrites
    assert (configuration.values["num_layers"].unknown is not None) == rewrites
