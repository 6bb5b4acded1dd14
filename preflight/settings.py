"""The tool's own settings, from `preflight.toml` or `[tool.preflight]` in `pyproject.toml`.

In: the folder of a script (the nearest config above it counts, nothing is merged except what `extend` names), a site's
file (`PREFLIGHT_CONFIG`, which underlies the project's) and an explicit `--config`.  Out: `Settings`.  Refused, with
a frame and the nearest valid key: a key that is not known, a value of the wrong type, a file that is no TOML.
Flag and key have the same name and meaning; options that run code are no keys.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from preflight.diagnostics import Severity
from preflight.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Kind = Literal["text", "list", "flag", "count", "level", "lists", "levels", "environment", "cluster"]
else:
    Kind = str


class Key(NamedTuple):
    """One key: its kind and what it means, in the words that the schema and the docs use."""

    kind: Kind
    meaning: str


KEYS: Mapping[str, Key] = {
    "extend": Key("text", "another config that underlies this one, relative to this file"),
    "target": Key("text", "the Megatron release to check against: 0.15.3, core_r0.8.0, main, all"),
    "te": Key("text", "the TransformerEngine version, where it is not the one that the release pins"),
    "root": Key("text", "the project root: files below it may be read"),
    "select": Key("list", "rules or families to use; all is every rule"),
    "ignore": Key("list", "rules or families to leave out"),
    "fail-on": Key("level", "the mildest severity that makes the exit status 1"),
    "show": Key("level", "the mildest severity that the text format shows"),
    "strict": Key("flag", "undecided rules count as findings"),
    "require-launch": Key("flag", "finding no launch at all is exit status 3"),
    "require-reason": Key("flag", "an ignore comment without a reason is a finding"),
    "exclude": Key("list", "globs of files that are not checked when a folder is walked"),
    "force-exclude": Key("flag", "exclude also counts for files that are named on the command line"),
    "source-path": Key("list", "folders in which sourced files are looked for"),
    "closed-env": Key("flag", "a variable that nobody sets is known to be unset"),
    "strict-env": Key("flag", "defaults such as ${TP:-8} are not assumed"),
    "baseline": Key("text", "a file of findings that are known and accepted"),
    "output": Key("list", "report formats, each FORMAT or FORMAT=FILE"),
    "rules": Key("list", "folders of your own rules, relative to this file"),
    "severity": Key("levels", "another severity for a rule"),
    "per-file-ignores": Key("lists", "rules or families to leave out, by glob of the script's path"),
    "env": Key(
        "environment", "variables that the caller sets; a table under a glob holds for these scripts only"
    ),
    "arguments": Key("lists", "positional arguments, by glob of the script's path"),
    "cluster": Key("cluster", "the machines: what --nodes, --gpus-per-node, --gpu and --nvlink-domain say"),
}

CLUSTER: Mapping[str, Key] = {
    "nodes": Key("count", "number of nodes of a job"),
    "gpus-per-node": Key("count", "GPUs of a node"),
    "gpu": Key("text", "a GPU profile: v100, a100, h100, h200, l40s, b200, gb200"),
    "nvlink-domain": Key("count", "GPUs that one NVLink domain connects"),
    "node": Key("text", "a recorded probe of a node (preflight node --record FILE), relative to this file"),
}

LEVELS: tuple[Severity, ...] = ("error", "warning", "note")
PATHS = frozenset({"root", "baseline", "node"})
PATH_LISTS = frozenset({"rules", "source-path"})


class Settings(NamedTuple):
    """What the configs say; None where they say nothing."""

    path: str | None = None
    target: str | None = None
    te: str | None = None
    root: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: Severity | None = None
    show: Severity | None = None
    strict: bool | None = None
    require_launch: bool | None = None
    require_reason: bool | None = None
    exclude: tuple[str, ...] = ()
    force_exclude: bool | None = None
    source_path: tuple[str, ...] = ()
    closed_env: bool | None = None
    strict_env: bool | None = None
    baseline: str | None = None
    output: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = {}
    per_file_ignores: Mapping[str, tuple[str, ...]] = {}
    env: Mapping[str, str] = {}
    env_by_script: Mapping[str, Mapping[str, str]] = {}
    arguments: Mapping[str, tuple[str, ...]] = {}
    nodes: int | None = None
    gpus_per_node: int | None = None
    gpu: str | None = None
    nvlink_domain: int | None = None
    node: str | None = None

    @property
    def folder(self) -> str:
        """Where the globs of this config start."""
        return os.path.dirname(os.path.abspath(self.path)) if self.path else os.getcwd()


class SettingsError(Exception):
    """A config that cannot be used; its words are a frame for the user."""


def find_config(folder: str) -> str | None:
    """The nearest config at or above a folder."""
    at = os.path.abspath(folder)
    while True:
        own = os.path.join(at, "preflight.toml")
        if os.path.isfile(own):
            return own
        shared = os.path.join(at, "pyproject.toml")
        if os.path.isfile(shared) and _has_section(shared):
            return shared
        above = os.path.dirname(at)
        if above == at:
            return None
        at = above


def load_settings(path: str | None, site: str | None = None) -> Settings:
    """The settings of a config, over those of the site's."""
    table: dict[str, Any] = _read_chain(site, ()) if site else {}
    if path is not None:
        table = _merge(table, _read_chain(path, ()))
    return _build(table, path or site)


def matches(glob: str, path: str, folder: str) -> bool:
    """Whether a script's path matches a config's glob: relative to the config, or by name alone without a slash."""
    from fnmatch import fnmatchcase

    relative = os.path.relpath(os.path.abspath(path), folder)
    if "/" not in glob.rstrip("/"):
        parts = relative.split("/")
        return any(fnmatchcase(part, glob.rstrip("/")) for part in parts)
    pattern = glob.rstrip("/").removeprefix("./")
    return fnmatchcase(relative, pattern) or fnmatchcase(relative, pattern + "/*")


def _has_section(path: str) -> bool:
    try:
        with open(path, "rb") as stream:
            return re.search(rb"^\s*\[+\s*tool\s*\.\s*preflight\b", stream.read(), re.M) is not None
    except OSError:
        return False


def _read_chain(path: str, seen: tuple[str, ...]) -> dict[str, Any]:
    real = os.path.realpath(path)
    if real in seen:
        raise SettingsError(
            f"error: {_shown(path)} extends itself: {' -> '.join(map(_shown, (*seen, real)))}"
        )
    table, text = _read(path)
    prefix = "tool.preflight" if os.path.basename(path) == "pyproject.toml" else ""
    table = _check(table, text, path, prefix)
    above = table.pop("extend", None)
    if above is None:
        return table
    base = os.path.join(os.path.dirname(os.path.abspath(path)), above)
    if not os.path.isfile(base):
        raise _complain(text, path, prefix, "extend", f"no such file: {above}")
    return _merge(_read_chain(base, (*seen, real)), table)


def _read(path: str) -> tuple[dict[str, Any], str]:
    import tomllib

    try:
        with open(path, "rb") as stream:
            text = stream.read().decode("utf-8")
        table: dict[str, Any] = tomllib.loads(text)
    except OSError as error:
        raise SettingsError(f"error: {_shown(path)}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"error: {_shown(path)}: not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line, column = (int(where[1]), int(where[2])) if where else (len(text.splitlines()) or 1, 1)
        words = re.sub(r"\s*\(at .*\)$", "", str(error))
        raise SettingsError(
            _frame(text, path, line, column, 1, f"not TOML: {words[:1].lower()}{words[1:]}")
        ) from None
    if os.path.basename(path) == "pyproject.toml":
        table = table.get("tool", {}).get("preflight", {})
    return table, text


def _check(table: dict[str, Any], text: str, path: str, prefix: str) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    folder = os.path.dirname(os.path.abspath(path))
    for written, value in table.items():
        name = written.replace("_", "-")
        key = KEYS.get(name)
        if key is None:
            raise _complain(text, path, prefix, written, *_unknown(written, KEYS))
        if key.kind == "cluster":
            checked[name] = _check_cluster(value, text, path, prefix, written, folder)
            continue
        fault = _fault(key.kind, value)
        if fault:
            raise _complain(text, path, prefix, written, fault)
        checked[name] = _placed(name, value, folder)
    return checked


def _check_cluster(
    value: Any, text: str, path: str, prefix: str, written: str, folder: str
) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _complain(text, path, prefix, written, "must be a table")
    inner, checked = f"{prefix}.{written}".lstrip("."), {}
    for part, content in value.items():
        name = part.replace("_", "-")
        if name not in CLUSTER:
            raise _complain(text, path, inner, part, *_unknown(part, CLUSTER))
        fault = _fault(CLUSTER[name].kind, content)
        if fault:
            raise _complain(text, path, inner, part, fault)
        checked[name] = _placed(name, content, folder)
    return checked


def _placed(name: str, value: Any, folder: str) -> Any:
    """Paths are relative to the config that names them."""
    if name in PATHS:
        return os.path.join(folder, value)
    if name in PATH_LISTS:
        return [os.path.join(folder, each) for each in value]
    return value


def _fault(kind: Kind, value: Any) -> str | None:
    """What is wrong with a value, or None."""
    if kind == "text":
        return None if isinstance(value, str) else "must be a string"
    if kind == "flag":
        return None if isinstance(value, bool) else "must be true or false"
    if kind == "count":
        good = isinstance(value, int) and not isinstance(value, bool) and value > 0
        return None if good else "must be a whole number above 0"
    if kind == "level":
        return None if value in LEVELS else f"must be one of {', '.join(LEVELS)}"
    if kind == "list":
        return None if _is_list(value) else "must be a list of strings"
    if not isinstance(value, dict):
        return "must be a table"
    if kind == "lists":
        return None if all(map(_is_list, value.values())) else "each value must be a list of strings"
    if kind == "levels":
        bad = [name for name, level in value.items() if level not in LEVELS]
        return f"{bad[0]}: must be one of {', '.join(LEVELS)}" if bad else None
    flat = [v for each in value.values() for v in (each.values() if isinstance(each, dict) else [each])]
    return (
        None
        if all(isinstance(v, str | int | float) for v in flat)
        else "each value must be a string or a number"
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in above.items():
        old = merged.get(name)
        merged[name] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _build(table: dict[str, Any], path: str | None) -> Settings:
    values: dict[str, Any] = {"path": path}
    for name, value in table.items():
        field = name.replace("-", "_")
        if name == "cluster":
            values.update({part.replace("-", "_"): content for part, content in value.items()})
        elif name == "env":
            values["env"] = {k: _as_text(v) for k, v in value.items() if not isinstance(v, dict)}
            values["env_by_script"] = {
                glob: {k: _as_text(v) for k, v in inner.items()}
                for glob, inner in value.items()
                if isinstance(inner, dict)
            }
        elif isinstance(value, list):
            values[field] = tuple(value)
        elif KEYS[name].kind == "lists":
            values[field] = {glob: tuple(items) for glob, items in value.items()}
        else:
            values[field] = value
    return Settings._make({**Settings._field_defaults, **values}[f] for f in Settings._fields)


def _as_text(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _unknown(written: str, keys: Mapping[str, Key]) -> tuple[str, str]:
    from difflib import get_close_matches

    near = get_close_matches(written.replace("_", "-"), keys, 1, 0.5)
    hint = f"did you mean {near[0]}?" if near else f"valid keys: {', '.join(keys)}"
    return f"unknown key {written}", hint


def _complain(
    text: str, path: str, table: str, key: str, message: str, hint: str | None = None
) -> SettingsError:
    line, column = locate(text, table, key)
    if not message.startswith("unknown"):
        message = f"{key}: {message}"
    return SettingsError(_frame(text, path, line, column, len(key), message, hint))


def locate(text: str, table: str, key: str) -> tuple[int, int]:
    """The line and column, from 1, at which a key of a table is written."""
    name = rf"[\"']?{re.escape(key)}[\"']?"
    current, fallback = "", (1, 1)
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
        if header:
            current = re.sub(r"[\s\"']", "", header[1])
            below = f"{table}.{key}".lstrip(".")
            if current == below or current.startswith(below + "."):
                return number, line.index(key) + 1 if key in line else 1
            continue
        found = re.match(rf"(\s*)(?:[\w.-]+\.)?({name})\s*[=.]", line)
        if found and current == table:
            return number, found.start(2) + 1
        inline = re.search(rf"[{{,]\s*({name})\s*=", line)
        if inline and fallback == (1, 1):
            fallback = number, inline.start(1) + 1
    return fallback


def _frame(
    text: str, path: str, line: int, column: int, width: int, message: str, hint: str | None = None
) -> str:
    lines = text.splitlines() or [""]
    shown = lines[min(line, len(lines)) - 1].expandtabs(4)
    gutter = " " * len(str(line))
    rows = [
        f"error: {message}",
        f"{gutter}--> {_shown(path)}:{line}:{column}",
        f"{gutter} |",
        f"{line} | {shown}",
        f"{gutter} | {' ' * (column - 1)}{'^' * width}",
    ]
    return "\n".join(rows + ([f"{gutter} = help: {hint}"] if hint else []))


def _shown(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("../..") else relative
