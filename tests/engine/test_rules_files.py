"""Rule files: what an author writes, what is refused and how, and the compiled form."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.diagnostics import Diagnostic
from preflight.engine.compiled import read_compiled, write_compiled
from preflight.engine.load import RuleFileError, load_rules
from preflight.engine.run import Outcome, Subject, run_rules
from preflight.facts.model import Blocker, Evidence, Fact
from preflight.source import Source
from preflight.values import Assumption, Unknown

TYPES = {"heads": "int", "tp": "int", "sp": "bool"}
GOOD = """
summary = "heads do not divide"
severity = "error"
fails_at = "start"
when = "tp > 1"
require = "heads % tp == 0"
message = "{heads} heads over {tp} ranks"
help = "use one of {divisors(heads)}"
point_at = ["heads", "tp"]
why = "it fails"
[[example]]
expect = "fail"
script = "x"
[[example]]
expect = "pass"
script = "x"
"""


def write_rule(folder: Path, text: str, name: str = "heads-not-divisible") -> Path:
    (folder / "family").mkdir(parents=True, exist_ok=True)
    path = folder / "family" / f"{name}.toml"
    path.write_text(text)
    return path


def load_one_error(folder: Path, text: str) -> RuleFileError:
    write_rule(folder, text)
    _, errors = load_rules([folder], TYPES)
    assert len(errors) == 1
    return errors[0]


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ('when = "tp > 1"', 'whenn = "tp > 1"', "unknown key 'whenn'; did you mean 'when'", 5),
        ("heads % tp", "headz % tp", "no fact named 'headz'; did you mean 'heads'", 6),
        ("{heads} heads", "{headz} heads", "no fact named 'headz'", 7),
        ('"tp > 1"', '"tp"', "of type int", 5),
        ('severity = "error"', 'severity = "fatal"', "severity is one of", 3),
        ('fails_at = "start"', "", "an error says when it shows", 1),
        ('point_at = ["heads", "tp"]', 'point_at = ["head"]', "no fact named 'head'", 9),
        ('why = "it fails"', "", "needs a why", 1),
        ('expect = "pass"', 'expect = "maybe"', "expect = fail, pass or undecided", 11),
        ('expect = "pass"', 'expect = "fail"', "no example that should pass", 2),
        ('message = "{heads}', 'message = "{heads', "never closed", 7),
        ('message = "{heads}', 'message = "}{heads}', "a single '}'", 7),
        ('severity = "error"', 'severity = "error"\ntargets = "0.8"', "is not a range term", 4),
        ('summary = "heads do not divide"', 'summary = "heads', "not TOML", 2),
        ('require = "heads % tp == 0"', 'require = "9**9**9 > heads"', "exponent", 6),
    ],
)
def test_a_mistake_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, message: str, line: int
) -> None:
    assert old in GOOD
    error = load_one_error(tmp_path, GOOD.replace(old, new, 1))
    assert message in str(error)
    assert error.line == line


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("when = 5", "when is text in quotes"),
        ("help = true", "help is text in quotes"),
        ("point_at = 'heads'", "point_at is a list of texts in quotes"),
        ("references = [1]", "references is a list of texts in quotes"),
        ("fix = 'x'", "fix is a table"),
        ("fix = { title = 'x', safety = 'safe', replace = 'tp' }", "replace is a table of texts in quotes"),
        ("fix = { title = 'x', safety = 'safe', remove = 'tpp' }", "no fact named 'tpp'; did you mean 'tp'"),
        ("fix = { title = 'x', safety = 'safe', replace = { tpp = '1' } }", "no fact named 'tpp'"),
        ("fix = { title = 'x', safety = 'safe', edits = 'remark' }", "in a rule about one"),
        ("form = { targets = '>=0.8' }", "form is tables, each under a heading in double brackets"),
        ("example = [5]", "example is tables"),
        ("[[case]]\nname = 'one'\nvalues = ['x']", "values is a table of texts or numbers"),
        ("[[example]]\nexpect = 'pass'\nscript = 'x'\nnodes = 'two'", "nodes is a whole number"),
        ("[[example]]\nexpect = 'pass'\nscript = 'x'\nbase = 1", "base is true or false"),
    ],
    ids=lambda text: text.splitlines()[-1],
)
def test_a_value_of_another_kind_is_a_mistake_of_the_file(tmp_path: Path, line: str, message: str) -> None:
    key = line.partition(" ")[0]
    others = "\n".join(each for each in GOOD.splitlines() if not each.startswith(f"{key} ="))
    if key == "example":
        others = others.partition("[[example]]")[0]
    written = f"{others}\n{line}\n" if line.startswith("[[") else f"{line}\n{others}\n"
    assert message in str(load_one_error(tmp_path, written))


def test_a_caret_stands_under_the_mistake(tmp_path: Path) -> None:
    error = load_one_error(tmp_path, GOOD.replace("heads % tp", "heads % tpp"))
    code, caret = error.frame.splitlines()
    assert code[caret.index("^") :].startswith("tpp")


def test_one_mistake_leaves_the_other_rules(tmp_path: Path) -> None:
    write_rule(tmp_path, GOOD)
    write_rule(tmp_path, GOOD.replace("why", "whi"), "second")
    rules, errors = load_rules([tmp_path], TYPES)
    assert [rule.name for rule in rules.rules] == ["heads-not-divisible"]
    assert len(errors) == 1


def test_a_name_belongs_to_one_rule(tmp_path: Path) -> None:
    write_rule(tmp_path / "one", GOOD)
    write_rule(tmp_path / "two", GOOD)
    _, errors = load_rules([tmp_path / "one", tmp_path / "two"], TYPES)
    assert "is the name of" in str(errors[0])


CASES = (
    GOOD.replace('when = "tp > 1"\n', "").replace("why =", "when = '@{least} < tp'\nwhy =")
    + """
[[case]]
name = "heads-two"
values = { least = 1 }
[[case]]
name = "heads-four"
values = { least = 3 }
severity = "warning"
"""
)


def test_each_case_is_a_rule(tmp_path: Path) -> None:
    write_rule(tmp_path, CASES)
    rules, errors = load_rules([tmp_path], TYPES)
    assert not errors
    assert [(rule.name, rule.forms[0].severity) for rule in rules.rules] == [
        ("heads-four", "warning"),
        ("heads-two", "error"),
    ]
    assert rules.prose("heads-four").conditions == (("3 < tp", "heads % tp == 0"),)


def test_a_case_without_a_value_is_named(tmp_path: Path) -> None:
    error = load_one_error(tmp_path, CASES.replace("values = { least = 3 }", "values = { most = 3 }"))
    assert "the case heads-four has no value for @{least}" in str(error)


FORMS = GOOD.replace('require = "heads % tp == 0"', "").replace("[[example]]", """
[[form]]
targets = "<0.10"
severity = "warning"
require = "heads >= tp"
[[form]]
targets = ">=0.10"
require = "heads % tp == 0"
[[example]]""", 1)  # fmt: skip


def run(folder: Path, release: str, heads: Fact, tp: Fact) -> Outcome:
    rules, errors = load_rules([folder], TYPES)
    assert not errors
    return run_rules(rules, Subject({"heads": heads, "tp": tp}, (), release, "train.sh", None))


def make_fact(name: str, value: int) -> Fact:
    source = Source("train.sh", b"--heads 30 --tp 8\n")
    start = source.data.index(name.encode()) - 2
    return Fact(
        name, value, "flag", (Evidence(source.span(start, start + len(f"--{name} {value}")), f"is {value}"),)
    )


def test_the_form_of_the_release_is_used(tmp_path: Path) -> None:
    write_rule(tmp_path, FORMS)
    heads, tp = make_fact("heads", 30), make_fact("tp", 8)
    assert run(tmp_path, "core_v0.9.0", heads, tp).findings == ()
    (finding,) = run(tmp_path, "core_v0.12.0", heads, tp).findings
    assert (finding.severity, finding.message) == ("error", "30 heads over 8 ranks")
    assert finding.help == "use one of 1, 2, 3, 5, 6, 10, 15, 30"
    assert [label.span.text for label in finding.labels] == ["--heads 30", "--tp 8"]
    assert [label.primary for label in finding.labels] == [True, False]
    assert finding.facts == {"tp": 8, "heads": 30}


def test_an_unknown_is_undecided_and_says_what_would_decide(tmp_path: Path) -> None:
    write_rule(tmp_path, GOOD)
    unknown = Fact("tp", None, "flag", blocked_by=(Blocker("tp", Unknown("environment", "$TP", "TP")),))
    outcome = run(tmp_path, "core_v0.12.0", make_fact("heads", 30), unknown)
    assert outcome.findings == ()
    assert outcome.undecided[0].blocked_by == (("tp", "environment", "$TP", "--env TP=..."),)


@pytest.mark.parametrize(
    ("text", "fork", "severity"),
    [
        (GOOD, "", "error"),
        (GOOD, "the script speaks of mindspeed", "error"),
        (FORMS, "", "error"),
        (FORMS, "the script speaks of mindspeed", "warning"),
    ],
    ids=["megatron", "every release refuses", "some releases refuse", "a fork may not refuse"],
)
def test_a_fork_is_excused_from_what_only_some_releases_refuse(
    tmp_path: Path, text: str, fork: str, severity: str
) -> None:
    write_rule(tmp_path, text)
    rules, _ = load_rules([tmp_path], TYPES)
    facts = {"heads": make_fact("heads", 30), "tp": make_fact("tp", 8)}
    (finding,) = run_rules(rules, Subject(facts, (), "main", "train.sh", None, fork=fork)).findings
    assert finding.severity == severity
    assert (fork in "".join(finding.notes)) if severity == "warning" else not finding.notes


@pytest.mark.parametrize(
    ("elder", "severity"),
    [("core_v0.11.0", "error"), ("core_v0.9.0", "warning")],
    ids=["refused before too", "not refused before"],
)
def test_on_the_way_to_a_release_its_own_refusals_are_warnings(
    tmp_path: Path, elder: str, severity: str
) -> None:
    write_rule(tmp_path, FORMS)
    rules, _ = load_rules([tmp_path], TYPES)
    facts = {"heads": make_fact("heads", 30), "tp": make_fact("tp", 8)}
    subject = Subject(facts, (), "core_v0.12.0", "train.sh", None, elder=elder)
    (finding,) = run_rules(rules, subject).findings
    assert finding.severity == severity
    assert bool(finding.notes) == (severity == "warning")


@pytest.mark.parametrize(("elder", "count"), [("core_v0.11.0", 1), ("core_v0.9.0", 0)])
def test_on_the_way_to_a_release_what_it_gave_up_may_still_be_there(
    tmp_path: Path, elder: str, count: int
) -> None:
    write_rule(tmp_path, FORMS)
    (tmp_path / "family" / "family.toml").write_text('title = "Old"\nsummary = "Given up."\nforks = false\n')
    rules, _ = load_rules([tmp_path], TYPES)
    facts = {"heads": make_fact("heads", 30), "tp": make_fact("tp", 8)}
    subject = Subject(facts, (), "core_v0.12.0", "train.sh", None, elder=elder)
    assert len(run_rules(rules, subject).findings) == count


def test_what_megatron_gave_up_is_not_said_of_a_fork(tmp_path: Path) -> None:
    write_rule(tmp_path, GOOD)
    (tmp_path / "family" / "family.toml").write_text('title = "Old"\nsummary = "Given up."\nforks = false\n')
    rules, _ = load_rules([tmp_path], TYPES)
    facts = {"heads": make_fact("heads", 30), "tp": make_fact("tp", 8)}
    assert run_rules(rules, Subject(facts, (), "main", "train.sh", None)).findings
    assert not run_rules(
        rules, Subject(facts, (), "main", "train.sh", None, fork="deepspeed starts it")
    ).findings


@pytest.mark.parametrize(("severity", "undecided"), [("error", True), ("warning", False)])
def test_an_error_never_rests_on_an_absence_that_is_only_assumed(
    tmp_path: Path, severity: str, undecided: bool
) -> None:
    write_rule(
        tmp_path, GOOD.replace("heads % tp == 0", "heads is not None").replace('"error"', f'"{severity}"')
    )
    rest = Source("train.sh", b"$EXTRA").span(0, 6)
    heads = Fact("heads", None, "default", assumptions=(Assumption("--heads", "none", rest),))
    outcome = run(tmp_path, "main", heads, make_fact("tp", 8))
    assert bool(outcome.undecided) is undecided
    assert bool(outcome.findings) is not undecided
    if undecided:
        assert outcome.undecided[0].blocked_by == (("heads", "rest", "$EXTRA", None),)


@pytest.mark.parametrize("text", [GOOD, CASES, FORMS], ids=["plain", "cases", "forms"])
def test_compiled_rules_are_the_rules(tmp_path: Path, text: str) -> None:
    write_rule(tmp_path, text)
    rules, _ = load_rules([tmp_path], TYPES)
    write_compiled(rules, tmp_path)
    again = read_compiled(tmp_path)
    assert again is not None
    assert [rule._replace(path="", line=0) for rule in rules.rules] == list(again.rules)
    assert [rules.prose(rule.name) for rule in rules.rules] == [
        again.prose(rule.name) for rule in again.rules
    ]
    assert dict(rules.families) == dict(again.families)


def test_findings_are_diagnostics(tmp_path: Path) -> None:
    write_rule(tmp_path, GOOD)
    (finding,) = run(tmp_path, "main", make_fact("heads", 30), make_fact("tp", 8)).findings
    assert isinstance(finding, Diagnostic)
    assert (finding.path, finding.family, finding.releases) == ("train.sh", "family", "main")
