"""Secrets are hidden, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preflight.report.mask import (
    MASK,
    Mask,
    _matches,
    _named,
    _patterns,
    collect_secrets,
    find_secrets,
    is_secret,
)


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("WANDB_API_KEY", True),
        ("HF_TOKEN", True),
        ("TOKEN", True),
        ("APIKEY", True),
        ("db_password", True),
        ("SECRET_VALUE", True),
        ("wandb-api-key", True),
        ("TOKENIZER_MODEL", False),
        ("TRAIN_TOKENS", False),
        ("KEYS", False),
        ("MONKEYS", False),
        ("MASTER_ADDR", False),
        ("key", False),
        ("sort_key", False),
        ("next_token", False),
        ("hf_token", True),
        ("apiKey", True),
        ("--api-key", True),
        ("--password", True),
    ],
)
def test_names_that_say_secret(name: str, secret: bool) -> None:
    assert is_secret(name) is secret


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("export WANDB_API_KEY=abc123 x", "export WANDB_API_KEY=****** x"),
        ('WANDB_KEY="two words" y', 'WANDB_KEY="*********" y'),
        ("TOKEN=abcd", "TOKEN=****"),
        ('os.environ["API_KEY"] = "qwerty"', 'os.environ["API_KEY"] = "******"'),
        ("python t.py --hf-token abcdef --lr 1", "python t.py --hf-token ****** --lr 1"),
        ("echo ${MY_SECRET:-hushhush}", "echo ${MY_SECRET:-********}"),
        ("-H 'Authorization: Bearer abcdefghijk'", "-H 'Authorization: Bearer ***********'"),
        ("--tokenizer-type GPT2BPETokenizer", "--tokenizer-type GPT2BPETokenizer"),
        ("TRAIN_TOKENS=300000", "TRAIN_TOKENS=300000"),
        ("KEY=$1 TOKEN=$(cat f)", "KEY=$1 TOKEN=$(cat f)"),
        ("--add-bos-token --lr 1", "--add-bos-token --lr 1"),
        ("--json-keys text", "--json-keys text"),
        ("rows.sort(key=name, token: str)", "rows.sort(key=name, token: str)"),
        ('d = {"key": "value", "next_token": \'eos\'}', 'd = {"key": "value", "next_token": \'eos\'}'),
        ("SORT_KEY = value", "SORT_KEY = value"),
        ('{"api_key": "abcdef"}', '{"api_key": "******"}'),
    ],
    ids=lambda text: text.split("=")[0][:30],
)
def test_a_line_of_source_keeps_its_width(line: str, shown: str) -> None:
    assert Mask().line(line) == shown
    assert len(shown) == len(line)


def test_values_are_hidden_wherever_they_occur() -> None:
    secrets = collect_secrets({"HF_TOKEN": "hf_abcdef", "TP": "8", "KEY": "text"}) | find_secrets(
        "DB_PASSWORD='pass wd'"
    )
    mask = Mask(secrets)
    document = {"a": ["x hf_abcdef y", {"b": "--p=pass wd"}], "hf_abcdef": 8, "n": None}
    assert mask.all(document) == {"a": [f"x {MASK} y", {"b": f"--p={MASK}"}], "hf_abcdef": 8, "n": None}
    assert mask.text("hf_abcdefg stays: another word") == "hf_abcdefg stays: another word"


@given(
    st.text(alphabet="abcdefghij0123456789_-", min_size=6, max_size=20),
    st.text(max_size=30),
    st.text(max_size=30),
)
def test_no_collected_value_survives(value: str, before: str, after: str) -> None:
    secrets = collect_secrets({"X_TOKEN": value})
    masked = Mask(secrets).text(f"{before} {value} {after}")
    if secrets:
        assert f" {value} " not in masked


@given(st.text(max_size=200))
def test_masking_a_line_never_changes_its_length(text: str) -> None:
    assert len(Mask().line(text)) == len(text)


PIECES = (
    "API_KEY", "hf-token", "--wandb-key", "SECRET", "${", "}", ":-", "=", " ", "\n", '"', "'", "a1b2c3d4", "tokens",
    "key", "Bearer ", "export ", "x", "-", "_", "[", "]", ":", ",", "PASSWORD", "é", "İ", "0", "credentials",
    "passphrase",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_looking_where_names_begin_finds_all_assignments(text: str) -> None:
    plain = [m for pattern in _patterns(text) for m in pattern.finditer(text) if is_secret(_named(m))]
    assert [match.span() for match in _matches(text)] == [match.span() for match in plain]


def test_a_long_run_of_names_takes_no_time() -> None:
    assert find_secrets("key" * 100_000 + " token=" + "token" * 3) == frozenset()
