"""`preflight check`, end to end: exit statuses, formats, selection, baseline, stdin."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from preflight.cli.options import FORMATS

from .conftest import BAD, GOOD, Command

AT = ("--target", "core_v0.19.0")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["good.sh"], 0),
        (["bad.sh"], 1),
        (["good.sh", "bad.sh"], 1),
        (["warned.sh"], 0),
        (["warned.sh", "--fail-on", "warning"], 1),
        (["warned.sh", "--fail-on", "note"], 1),
        (["open.sh"], 0),
        (["open.sh", "--strict"], 1),
        (["bad.sh", "--exit-zero"], 0),
        (["bad.sh", "--ignore", "wrong-type"], 0),
        (["bad.sh", "--ignore", "flags"], 0),
        (["bad.sh", "--ignore", "all"], 0),
        (["bad.sh", "--select", "flags"], 1),
        (["bad.sh", "--select", "comments"], 0),
        (["absent.sh"], 3),
        (["absent.sh", "bad.sh"], 3),
        (["absent.sh", "--exit-zero"], 3),
        (["binary.sh"], 3),
        (["nothing.sh"], 0),
        (["nothing.sh", "--require-launch"], 3),
        (["good.sh", "--require-launch"], 0),
        (["."], 3),
        (["bad.sh", "--select", "no-such-rule"], 2),
        (["bad.sh", "--no-such-option"], 2),
        (["bad.sh", "--fail-on", "fatal"], 2),
        (["bad.sh", "--output", "yaml"], 2),
        (["bad.sh", "--output", "json", "--output", "sarif"], 2),
        (["bad.sh", "--gpu", "abacus"], 2),
        (["bad.sh", "--te", "newest"], 2),
        (["bad.sh", "--root", "absent"], 2),
        (["bad.sh", "--target", "megatron"], 2),
        (["bad.sh", "--env", "1X=2"], 2),
        (["bad.sh", "--arg", "x=2"], 2),
        (["bad.sh", "--nodes", "0"], 2),
        (["bad.sh", "--config", "absent.toml"], 2),
        (["bad.sh", "--config", "x", "--isolated"], 2),
        (["bad.sh", "--baseline", "absent.json"], 2),
        (["absent.sh", "--select", "no-such-rule"], 2),
        (["-", "--fix"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_exit_status(scripts: Path, preflight: Command, words: list[str], status: int) -> None:
    done = preflight("check", *AT, *words) if "--target" not in words else preflight("check", *words)
    assert done.status == status, done
    assert "Traceback" not in done.err
    if status == 2:
        assert done.out == ""
        assert done.err.startswith(("preflight check: ", "error: "))


@pytest.mark.parametrize("form", FORMATS)
def test_no_format_changes_the_status_and_machine_formats_are_alone_on_stdout(
    scripts: Path, preflight: Command, form: str
) -> None:
    for name, status in (("good.sh", 0), ("bad.sh", 1), ("absent.sh", 3)):
        done = preflight("check", name, "--output", form)
        assert done.status == status
        if form in ("json", "sarif", "gitlab"):
            json.loads(done.out)
        if form == "junit":
            assert done.out.startswith("<?xml")
        if form == "github":
            assert all(line.startswith("::") for line in done.out.splitlines())


def test_several_formats_at_once(scripts: Path, preflight: Command) -> None:
    done = preflight(
        "check", "bad.sh", "--output", "text", "--output", "json=a.json", "--output", "sarif=b.sarif"
    )
    assert done.status == 1
    assert "error[wrong-type]" in done.out
    assert json.loads(Path("a.json").read_text())["summary"]["errors"] == 1
    assert json.loads(Path("b.sarif").read_text())["runs"][0]["results"][0]["ruleId"] == "wrong-type"


def test_output_by_variable_and_by_config(
    scripts: Path, preflight: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFLIGHT_OUTPUT", "json")
    assert json.loads(preflight("check", "good.sh").out)["schema"] == 1
    assert preflight("check", "good.sh", "--isolated").out.startswith("0 errors")
    monkeypatch.delenv("PREFLIGHT_OUTPUT")
    Path("preflight.toml").write_text('output = ["github"]\n')
    assert preflight("check", "bad.sh").out.startswith("::error file=bad.sh")


def test_a_report_that_cannot_be_written_is_said(scripts: Path, preflight: Command) -> None:
    done = preflight("check", "good.sh", "--output", "json=absent/folder/a.json")
    assert done.status == 3
    assert "no such file" in done.err and "Traceback" not in done.err


def test_the_finding_is_where_it_is_written(scripts: Path, preflight: Command) -> None:
    found = json.loads(preflight("check", "bad.sh", "--output", "json", *AT).out)["findings"]
    (finding,) = [each for each in found if each["rule"] == "wrong-type"]
    line = BAD.splitlines()[finding["line"] - 1]
    assert line[finding["column"] - 1 : finding["end_column"] - 1] in ("--num-layers many", "many")
    assert finding["labels"][0]["primary"] is True
    assert finding["launch"] == 0


def test_show_hides_and_does_not_change_the_status(scripts: Path, preflight: Command) -> None:
    done = preflight("check", "warned.sh", "--show", "error", "--fail-on", "warning")
    assert done.status == 1
    assert "warning[" not in done.out and "1 warning" in done.out


def test_standard_input(scripts: Path, preflight: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(BAD.encode())))
    done = preflight("check", "-", "--stdin-filename", "jobs/run.sh", "--output", "concise")
    assert done.status == 1
    assert done.out.startswith("jobs/run.sh:4:")


def test_undecided_says_what_would_decide(scripts: Path, preflight: Command) -> None:
    done = preflight("check", "open.sh", *AT)
    assert "--env NNODES=..." in done.out or "--env TP=..." in done.out
    listed = preflight("check", "open.sh", *AT, "-v").out
    assert "undecided[" in listed
    document = json.loads(preflight("check", "open.sh", *AT, "--output", "json").out)
    reasons = {blocker["reason"] for each in document["undecided"] for blocker in each["blocked_by"]}
    assert "environment" in reasons
    fewer = json.loads(
        preflight("check", "open.sh", *AT, "--output", "json", "--env", "NNODES=1", "--env", "TP=2").out
    )
    assert len(fewer["undecided"]) < len(document["undecided"])


@pytest.mark.parametrize("name", ["WORLD_SIZE", "SLURM_NNODES", "NNODES"])
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], True),
        (["--closed-env"], True),
        (["--strict-env"], False),
        (["--env", "{name}=4"], False),
        (["--env", "{name}=3"], True),
    ],
    ids=["left to its default", "nobody sets it", "defaults do not count", "nodes enough", "too few nodes"],
)
def test_nodes_that_the_caller_says_are_as_many_as_the_script_falls_back_to(
    scripts: Path, preflight: Command, name: str, words: list[str], found: bool
) -> None:
    """As published the script starts on one node, and cannot; how many it has elsewhere is for the caller to say."""
    sizes = "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4"
    launch = GOOD.replace(
        "torchrun --nproc-per-node 8", f"torchrun --nnodes ${{{name}:-1}} --nproc-per-node 8"
    )
    assert launch != GOOD
    Path("nodes.sh").write_text(f"{launch.rstrip()} {sizes} --master-addr $HEAD --node-rank $RANK\n")
    given = [word.format(name=name) for word in words]
    document = json.loads(preflight("check", "nodes.sh", *AT, "--output", "json", *given).out)
    errors = [each for each in document["findings"] if each["rule"] == "world-size-not-divisible"]
    assert [each["severity"] for each in errors] == (["error"] if found else [])
    if found and "--env" not in words and "--closed-env" not in words:
        assert {"name": name, "value": "1"}.items() <= errors[0]["assumptions"][0].items()


@pytest.mark.parametrize("output", ["text", "concise", "github", "junit"])
def test_undecided_rules_count_where_the_check_is_strict(
    scripts: Path, preflight: Command, output: str
) -> None:
    assert preflight("check", "open.sh", *AT, "--output", output).status == 0
    assert preflight("check", "open.sh", *AT, "--output", output, "--strict").status == 1
    Path("preflight.toml").write_text("strict = true\n")
    assert preflight("check", "open.sh", *AT, "--output", output).status == 1


def test_undecided_rules_are_told_beside_a_format_that_does_not(scripts: Path, preflight: Command) -> None:
    done = preflight("check", "open.sh", *AT, "--output", "concise", "--output", "json=all.json")
    assert "undecided" not in done.out
    assert json.loads(Path("all.json").read_text())["undecided"]


def test_baseline(scripts: Path, preflight: Command) -> None:
    written = preflight("check", "bad.sh", "good.sh", "--write-baseline", "known.json")
    assert written.status == 0 and "wrote 1 finding to known.json" in written.err
    assert preflight("check", "bad.sh", "--baseline", "known.json").status == 0
    Path("bad.sh").write_text(BAD.replace("export", "# moved\n\n\nexport"))
    again = preflight("check", "bad.sh", "--baseline", "known.json")
    assert again.status == 0 and "1 ignored" in again.out
    Path("bad.sh").write_text(BAD.replace("many", "few"))
    assert preflight("check", "bad.sh", "--baseline", "known.json").status == 1
    Path("bad.sh").write_text(GOOD)
    stale = preflight("check", "bad.sh", "--baseline", "known.json")
    assert stale.status == 0 and "matches nothing any more" in stale.err
    others = preflight("check", "good.sh", "--baseline", "known.json")
    assert "matches nothing" not in others.err
    preflight("check", "bad.sh", "--write-baseline", "known.json")
    assert json.loads(Path("known.json").read_text())["findings"] == []


def test_baseline_is_the_same_from_another_folder(
    scripts: Path, preflight: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(".git").mkdir()
    preflight("check", "bad.sh", "--write-baseline", "known.json")
    Path("deep").mkdir()
    monkeypatch.chdir("deep")
    assert preflight("check", "../bad.sh", "--baseline", "../known.json").status == 0


def test_config_severity_and_per_file_ignores(scripts: Path, preflight: Command) -> None:
    Path("preflight.toml").write_text('[severity]\nwrong-type = "warning"\n')
    done = preflight("check", "bad.sh")
    assert done.status == 0 and "warning[wrong-type]" in done.out
    Path("preflight.toml").write_text('[per-file-ignores]\n"b*.sh" = ["flags"]\n')
    assert preflight("check", "bad.sh").status == 0
    Path("preflight.toml").write_text('[per-file-ignores]\n"g*.sh" = ["flags"]\n')
    assert preflight("check", "bad.sh").status == 1
    assert preflight("check", "bad.sh", "--isolated").status == 1
    Path("preflight.toml").write_text('ignore = ["wrong-typ"]\n')
    done = preflight("check", "bad.sh")
    assert done.status == 2 and "did you mean wrong-type?" in done.err


def test_config_faults_have_a_frame(scripts: Path, preflight: Command) -> None:
    Path("preflight.toml").write_text('targt = "0.15"\n')
    done = preflight("check", "good.sh")
    assert done.status == 2
    assert "preflight.toml:1:1" in done.err and "did you mean target?" in done.err


def test_the_sites_file_underlies(scripts: Path, preflight: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("site.toml").write_text('target = "core_v0.15.3"\n')
    monkeypatch.setenv("PREFLIGHT_CONFIG", str(scripts / "site.toml"))
    assert json.loads(preflight("check", "good.sh", "--output", "json").out)["target"] == "core_v0.15.3"
    Path("preflight.toml").write_text('target = "core_v0.17.1"\n')
    assert json.loads(preflight("check", "good.sh", "--output", "json").out)["target"] == "core_v0.17.1"
    done = preflight("check", "good.sh", "--output", "json", "--isolated", "--target", "0.16")
    assert json.loads(done.out)["target"] == "core_v0.16.1"


def test_config_gives_variables_arguments_and_machines(scripts: Path, preflight: Command) -> None:
    Path("args.sh").write_text(GOOD.replace("--nproc-per-node 8", "--nproc-per-node $1 --nnodes $N"))
    Path("preflight.toml").write_text('[env."a*.sh"]\nN = 2\n[arguments]\n"args.sh" = ["4"]\n')
    launcher = json.loads(preflight("trace", "args.sh", "--output", "json").out)["files"][0]["launches"][0][
        "launcher"
    ]
    assert (launcher["nodes"], launcher["processes_per_node"], launcher["world_size"]) == (2, 4, 8)
    done = preflight("trace", "args.sh", "--output", "json", "--env", "N=1", "--", "8")
    launcher = json.loads(done.out)["files"][0]["launches"][0]["launcher"]
    assert (launcher["nodes"], launcher["processes_per_node"]) == (1, 8)


def test_one_crash_does_not_stop_the_others(
    scripts: Path, preflight: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from preflight.cli import session

    real = session.check_source

    def crash(source: object, request: object) -> object:
        if "good" in str(source):
            raise ZeroDivisionError("oh no")
        return real(source, request)  # type: ignore[arg-type]

    monkeypatch.setattr(session, "check_source", crash)
    done = preflight("check", "bad.sh", "good.sh", "--output", "json")
    document = json.loads(done.out)
    assert done.status == 3
    assert "internal error" in document["files"][1]["error"] and document["findings"]
    assert "Traceback" not in done.err


def test_secrets_are_masked_in_every_format(scripts: Path, preflight: Command) -> None:
    text = BAD.replace("export", "export WANDB_API_KEY=abcdef123456\nexport", 1).replace(
        "many", "abcdef123456"
    )
    Path("bad.sh").write_text(text)
    for form in FORMATS:
        done = preflight("check", "bad.sh", "--output", form)
        assert done.status == 1
        assert "abcdef123456" not in done.out + done.err, form
    for form in ("text", "json"):
        done = preflight("trace", "bad.sh", "--output", form)
        assert "abcdef123456" not in done.out and "WANDB_API_KEY" in done.out


def test_two_runs_are_the_same_byte_by_byte(scripts: Path, preflight: Command) -> None:
    for form in ("text", "json", "sarif"):
        words = ("check", "good.sh", "bad.sh", "warned.sh", "open.sh", "--output", form)
        assert preflight(*words) == preflight(*words)
