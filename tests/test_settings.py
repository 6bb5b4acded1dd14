"""The config: what is read, from where, and how faults are shown."""

from __future__ import annotations

import json
import string
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.schema import make_schema, write_schema
from preflight.settings import CLUSTER, KEYS, SettingsError, find_config, load_settings, locate, matches

ROOT = Path(__file__).parent.parent


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def test_every_key_reaches_the_settings(tmp_path: Path) -> None:
    path = write(
        tmp_path / "preflight.toml",
        """
target = "0.15"
te = "2.9"
root = "."
select = ["all"]
ignore = ["notes"]
fail-on = "warning"
show = "error"
strict = true
require_launch = true
require-reason = true
exclude = ["old/*"]
force-exclude = true
source-path = ["lib"]
closed-env = true
strict-env = false
baseline = "known.json"
output = ["json"]
rules = ["site/"]
[severity]
some-rule = "note"
[per-file-ignores]
"*.sh" = ["some-rule"]
[env]
TP = 4
[env."big_*.sh"]
TP = "8"
[arguments]
"train.sh" = ["7B"]
[cluster]
nodes = 2
gpus_per_node = 8
gpu = "h100"
nvlink-domain = 8
node = "node.json"
""",
    )
    settings = load_settings(path)
    assert settings.target == "0.15"
    assert settings.fail_on == "warning"
    assert settings.require_launch is True
    assert settings.strict_env is False
    assert settings.rules == (f"{tmp_path}/site/",)
    assert settings.baseline == str(tmp_path / "known.json")
    assert settings.env == {"TP": "4"}
    assert settings.env_by_script == {"big_*.sh": {"TP": "8"}}
    assert settings.arguments == {"train.sh": ("7B",)}
    assert (settings.nodes, settings.gpus_per_node, settings.gpu, settings.nvlink_domain) == (2, 8, "h100", 8)
    unread = [f for f in settings._fields if getattr(settings, f) in (None, (), {})]
    assert unread == []


def test_the_nearest_config_counts_alone(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.preflight]\ntarget = "0.12"\nte = "2.9"\n')
    inner = write(tmp_path / "a" / "preflight.toml", 'target = "0.15"\n')
    (tmp_path / "a" / "b").mkdir()
    (tmp_path / "a" / "b" / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert find_config(str(tmp_path / "a" / "b")) == inner
    assert find_config(str(tmp_path)) == str(tmp_path / "pyproject.toml")
    assert load_settings(inner).te is None
    assert load_settings(str(tmp_path / "pyproject.toml")).te == "2.9"


def test_extend_underlies_and_the_site_underlies_that(tmp_path: Path) -> None:
    site = write(tmp_path / "site.toml", 'te = "2.1"\n[cluster]\ngpu = "a100"\nnodes = 4\n')
    write(tmp_path / "shared.toml", 'target = "0.12"\nfail-on = "note"\n[cluster]\ngpu = "h100"\n')
    path = write(tmp_path / "preflight.toml", 'extend = "shared.toml"\ntarget = "0.15"\n')
    settings = load_settings(path, site)
    assert (settings.target, settings.fail_on, settings.te) == ("0.15", "note", "2.1")
    assert (settings.gpu, settings.nodes) == ("h100", 4)


def test_a_config_that_extends_itself_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "b.toml", 'extend = "preflight.toml"\n')
    path = write(tmp_path / "preflight.toml", 'extend = "b.toml"\n')
    with pytest.raises(SettingsError, match="extends itself"):
        load_settings(path)


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ('targt = "0.15"\n', 1, 1, "did you mean target?"),
        ('target = "0.15"\n[cluster]\ngpus_pr_node = 8\n', 3, 1, "did you mean gpus-per-node?"),
        ("strict = 1\n", 1, 1, "strict: must be true or false"),
        ("\n  nodes = 4\n", 2, 3, "unknown key nodes"),
        ("[cluster]\nnodes = 0\n", 2, 1, "nodes: must be a whole number above 0"),
        ('fail-on = "fatal"\n', 1, 1, "must be one of error, warning, note"),
        ('[severity]\nx = "bad"\n', 1, 2, "x: must be one of"),
        ("select = [1]\n", 1, 1, "must be a list of strings"),
        ("a = [\n", 1, 1, "not TOML"),
        ('extend = "absent.toml"\n', 1, 1, "no such file"),
        ('megatron = "/m"\n', 1, 1, "unknown key megatron"),
    ],
    ids=[
        "a misspelt key", "a misspelt key of a table", "a number for a flag", "a key of a table at the top",
        "no nodes at all", "an unknown level", "an unknown level of a rule", "numbers in a list", "broken syntax",
        "an absent base", "an option that runs code is no key",
    ],
)  # fmt: skip
def test_faults_come_with_a_frame(tmp_path: Path, text: str, line: int, column: int, says: str) -> None:
    path = write(tmp_path / "preflight.toml", text)
    with pytest.raises(SettingsError) as caught:
        load_settings(path)
    words = str(caught.value)
    assert f"preflight.toml:{line}:{column}" in words
    assert says in words
    assert "^" in words


def test_the_site_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no such file"):
        load_settings(None, str(tmp_path / "absent.toml"))


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*.sh", "a/b/train.sh", True),
        ("a/*.sh", "a/train.sh", True),
        ("a/*.sh", "b/train.sh", False),
        ("old", "x/old/train.sh", True),
        ("old/", "old/train.sh", True),
        ("a/b", "a/b/c/train.sh", True),
        ("train", "a/train.sh", False),
    ],
)
def test_globs(glob: str, path: str, expected: bool) -> None:
    assert matches(glob, path, str(Path.cwd())) is expected


def test_the_schema_is_current_and_names_every_key() -> None:
    assert (ROOT / "docs" / "preflight.schema.json").read_text() == write_schema()
    schema = make_schema()
    jsonschema.Draft7Validator.check_schema(schema)
    assert set(KEYS) <= set(schema["properties"])
    assert set(CLUSTER) <= set(schema["properties"]["cluster"]["properties"])


def test_the_schema_agrees_with_the_reader() -> None:
    schema = make_schema()
    jsonschema.validate(
        {"fail-on": "error", "cluster": {"gpus_per_node": 8}, "env": {"a*": {"X": "1"}}}, schema
    )
    for bad in ({"targt": "x"}, {"fail-on": "fatal"}, {"cluster": {"nodes": 0}}, {"select": "all"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)


names = st.text(string.ascii_lowercase + "-_", min_size=1, max_size=12)


@given(
    st.dictionaries(
        names, st.one_of(st.integers(), st.text(max_size=5), st.booleans(), st.lists(st.integers()))
    )
)
def test_any_table_is_read_or_refused_with_a_frame(table: dict[str, object]) -> None:
    import tempfile

    lines = "".join(f"{json.dumps(k)} = {json.dumps(v)}\n" for k, v in table.items())
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "preflight.toml", lines)
        try:
            load_settings(path)
        except SettingsError as error:
            assert "preflight.toml:" in str(error) or "no such file" in str(error)


@given(st.lists(names, unique=True, min_size=1, max_size=6), st.data())
def test_a_key_is_found_where_it_is_written(keys: list[str], data: st.DataObject) -> None:
    lines = [f"{'  ' * data.draw(st.integers(0, 2))}{key} = 1" for key in keys]
    text = "\n".join(lines)
    for number, key in enumerate(keys, 1):
        assert locate(text, "", key) == (number, lines[number - 1].index(key) + 1)
