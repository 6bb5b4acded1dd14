"""What is not known stays unknown, with its reason, and what is assumed is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.execution import Execution
from preflight.values import Unknown
from tests.shell.evaluation import evaluate, launches, shown


def only(text: str, **options: object) -> Execution:
    (execution,) = launches(evaluate(text, **options))  # type: ignore[arg-type]
    return execution


REASONS = [
    ("torchrun $TP", "?*$TP", Unknown("environment", "$TP", "TP")),
    ("torchrun ${TP}", "?*$TP", Unknown("environment", "$TP", "TP")),
    ('torchrun "$TP"', "?$TP", Unknown("environment", "$TP", "TP")),
    ("torchrun --x=$TP", "?--x=$TP", Unknown("environment", "$TP", "TP")),
    ("TP=$N; torchrun $TP", "?*$N", Unknown("environment", "$N", "N")),
    ("torchrun $((N*8))", "?$((N*8))", Unknown("environment", "$((N*8))", "N")),
    ("torchrun $1", "?*$1", Unknown("positional", "$1", "1")),
    ("shift 2; torchrun $1", "?*$3", Unknown("positional", "$3", "3")),
    ('torchrun "$@"', "?*$@", Unknown("positional", "$@")),
    ("torchrun $#", "?$#", Unknown("positional", "$#", "#")),
    ("torchrun $(nvidia-smi -L | wc -l)", "?*$(nvidia-smi -L | wc -l)", None),
    ("torchrun $(hostname)", "?*$(hostname)", None),
    ("torchrun $RANDOM", "?*$RANDOM", Unknown("command", "$RANDOM")),
    ("source missing.sh; torchrun $TP", "?*$TP", Unknown("file", "$TP", "TP")),
    ('eval "$(conf.py)"; torchrun $TP', "?*$TP", Unknown("command", "$TP", "TP")),
    ("torchrun ${X%/*}", "?*${X%/*}", Unknown("environment", "${X%/*}", "X")),
    ("torchrun ${X:+--flag}", "?*${X:+--flag}", Unknown("environment", "${X:+--flag}", "X")),
    ("A=(a $X b); torchrun ${#A[@]}", "?${#A[@]}", None),
    ("A=(a $X b); torchrun ${A[2]}", "?*${A[2]}", Unknown("environment", "${A[2]}", "X")),
    ("read X; torchrun $X", "?*read X", Unknown("command", "read X")),
    ("torchrun /data/*.json", "?*/data/*.json", Unknown("file", "/data/*.json")),
    ("cd $D; torchrun $PWD", "?*$D", Unknown("environment", "$D")),
]


@pytest.mark.parametrize(("text", "word", "unknown"), REASONS, ids=[text for text, _, _ in REASONS])
def test_an_unknown_says_why(text: str, word: str, unknown: Unknown | None) -> None:
    execution = only(text)
    assert shown(execution)[1:] == [word]
    if unknown is not None:
        assert execution.words[1].text.unknowns == (unknown,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("X=/data/$R/ckpt.pt; torchrun $(basename $X)", ["ckpt.pt"]),
        ("X=$R/a/b.sh; torchrun ${X%.sh}", ["?$R/a/b"]),
        ("X=$R/a/b; torchrun $(dirname $X)", ["?$R/a"]),
        ("X='a b'$R; torchrun $X", ["a", "?b$R"]),
        ('A=(a $X b); torchrun ${A[0]} "${A[@]}"', ["a", "a", "?*$X", "b"]),
        ('X=a$R; [ "$X" = b ] && torchrun no; torchrun yes', ["yes"]),
        ("[[ -n a$R ]] && torchrun yes", ["yes"]),
        ("torchrun $((N*0+1)) $((0 && N)) $((1 || N))", ["?$((N*0+1))", "0", "1"]),
        ('read -ra A <<< "$X"; torchrun "${A[0]}" "${A[1]}:1"', ["?${A[0]}", "?${A[1]}:1"]),
        ('CMD="torchrun a $X"; $CMD b', ["a", "?*$X", "b"]),
        ("eval \"torchrun a $X 'b c'\"", ["a", "?*$X", "b c"]),
    ],
)
def test_what_is_known_of_it_stays_known(text: str, words: list[str]) -> None:
    assert shown(only(text))[1:] == words


def test_a_default_is_an_assumption() -> None:
    word = only("TP=${TP:-8}\ntorchrun $TP").words[1]
    assert word.text.value == "8"
    ((name, value, span),) = word.text.assumptions
    assert (name, value, span.text) == ("TP", "8", "8")


@pytest.mark.parametrize(
    "text", ["${TP:-8}", "${TP-8}", "${TP:=8}", "${1:-8}", "$((${TP:-8}))", "${A:-${TP:-8}}"]
)
def test_defaults_of_every_kind_are_assumed(text: str) -> None:
    word = only(f"torchrun {text}").words[1]
    assert word.text.value == "8"
    assert word.text.assumptions


def test_an_assumption_goes_through_what_is_computed_from_it() -> None:
    word = only("TP=${TP:-8}; N=$((TP*2)); torchrun ${N%6}x").words[1]
    assert word.text.value == "1x"
    assert [a.name for a in word.text.assumptions] == ["TP"]


def test_an_empty_default_is_no_word_and_decides_tests() -> None:
    (execution,) = launches(evaluate('X=${X:-}; [ -z "$X" ] && torchrun a $X b'))
    assert shown(execution) == ["torchrun", "a", "b"]
    assert not execution.conditions


def test_given_variables_replace_assumptions() -> None:
    word = only("torchrun ${TP:-8}", environment={"TP": "4"}).words[1]
    assert (word.text.value, word.text.assumptions) == ("4", ())


def test_strict_environments_assume_nothing() -> None:
    word = only("torchrun ${TP:-8}", strict=True).words[1]
    assert word.text.unknowns == (Unknown("environment", "${TP:-8}", "TP"),)


def test_a_closed_environment_assumes_nothing_and_knows() -> None:
    execution = only("torchrun ${TP:-8} $U x", closed=True)
    assert shown(execution) == ["torchrun", "8", "x"]
    assert not execution.words[1].text.assumptions


def test_arguments_that_are_given_are_closed() -> None:
    execution = only('torchrun $1 "$2" $3 $# "$@"', arguments=["a", "b c"])
    assert shown(execution) == ["torchrun", "a", "b c", "2", "a", "b c"]


def test_exported_variables_reach_the_command() -> None:
    execution = only("export A=1; B=2; unset C; D=3 torchrun x; export E=4")
    assert {n: t.value if t else None for n, t in execution.environment.items() if n in "ABCDE"} == {
        "A": "1",
        "B": None,
        "C": None,
        "D": "3",
    }
    assert execution.variables["B"].value == "2"


def test_a_source_directive_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "conf.sh").write_text("TP=4\n")
    text = "# preflight: source=conf.sh\nsource $CONFIG\ntorchrun $TP"
    assert shown(only(text, folder=tmp_path)) == ["torchrun", "4"]


def test_source_paths_find_a_file_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "conf.sh").write_text("TP=4\n")
    text = "source /elsewhere/conf.sh\ntorchrun $TP"
    assert shown(only(text, folder=tmp_path, source_paths=(str(tmp_path / "lib"),))) == ["torchrun", "4"]


def test_an_associative_array_that_a_loop_may_have_filled_is_unknown() -> None:
    text = """declare -A A
fill() { local -n result=$1; for key in $KEYS; do result["$key"]=1; done; }
fill A
A[x]="${A[x]:-none}"
torchrun "${A[x]}" "${!A[@]}"
"""
    found = [shown(execution)[1:] for execution in launches(evaluate(text))]
    assert found == [["none", "x"], ["?${A[x]}", "?${!A[@]}"]]


def test_an_export_behind_broken_syntax_is_not_taken_for_absent() -> None:
    execution = only("A=<Path (a)>\nB=<Path (b)>\n\nexport C=1\n\ntorchrun x")
    assert "C" in execution.environment


def test_broken_syntax_is_unknown_and_the_rest_is_read() -> None:
    script = evaluate("A=1\nB=(x & y)\ntorchrun $A $B")
    assert any(unknown.reason == "syntax" for unknown in script.truncated)
    (execution,) = launches(script)
    assert execution.words[1].text.value == "1"
    assert not execution.words[2].text.known


def test_a_here_document_is_standard_input() -> None:
    (execution,) = evaluate("N=2\nsbatch <<E\nsrun -N $N x\nE\n").executions
    assert execution.standard_input is not None
    assert execution.standard_input.value == "srun -N 2 x\n"


def test_what_is_echoed_into_a_shell_is_standard_input() -> None:
    (execution,) = evaluate("echo torchrun x | bash").executions
    assert execution.standard_input is not None
    assert execution.standard_input.value == "torchrun x\n"


def test_a_background_command_is_marked() -> None:
    first, second = launches(evaluate("torchrun a &\ntorchrun b"))
    assert (first.background, second.background) == (True, False)


def test_the_directory_is_known_while_it_exists(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    script = evaluate("cd sub\ntorchrun a\ncd $X\ntorchrun b", tmp_path)
    first, second = launches(script)
    assert first.directory is not None and first.directory.value == str(tmp_path / "sub")
    assert second.directory is not None and not second.directory.known


def test_a_list_from_a_file_that_is_not_there_may_have_any_length() -> None:
    text = 'source ours.sh\nKEPT=()\nfor a in "${ALL[@]}"; do [ "$a" = -x ] && continue; KEPT+=("$a"); done\n'
    script = evaluate(text + 'torchrun "${ALL[@]}"\ntorchrun "${KEPT[@]}"')
    assert [shown(e)[1:] for e in launches(script)] == [["?*$ALL"], ["?*${KEPT[@]}"]]


@pytest.mark.parametrize(
    ("test", "variable"),
    [
        ("[ ${M%%-*} = llama ]", "$M"),
        ('[ "${1#--}" = x ]', "$1"),
        ("[ $((N / 8)) = 4 ]", "$N"),
        ("[ $((N % 8)) -eq 0 ]", "$N"),
        ("[[ ${D:0:3} == abc ]]", "$D"),
        ("[ ${#L} = 3 ]", "$L"),
        ("(( N == 3 ))", "$N"),
        ("[ x$P = xy ]", "$P"),
    ],
)
def test_a_test_of_something_worked_out_from_a_variable_does_not_give_its_value(
    test: str, variable: str
) -> None:
    script = evaluate(f'if {test}; then torchrun "{variable}"; fi')
    assert [shown(e)[1:] for e in launches(script)] == [[f"?{variable}"]]
