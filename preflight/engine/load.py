"""Rules from TOML files: what a rule author writes, checked.

In: folders `<family>/<name>.toml` and the types of all facts.  Out: a `RuleSet`.  Every mistake in a rule (unknown
key, unknown fact, type error, missing example, range that cannot be read) is a `RuleFileError` with the file, the line,
and a frame; the other rules are read all the same, so that one run names all mistakes.
"""

from __future__ import annotations

import re
import tomllib
from collections import ChainMap
from collections.abc import Iterable, Mapping
from pathlib import Path

from preflight.diagnostics import SEVERITIES
from preflight.engine import keys
from preflight.engine.expression import parse_condition, suggest
from preflight.engine.releases import parse_range
from preflight.engine.remarks import BEYOND_EXAMPLES, REMARKS
from preflight.engine.rule import Family, Form, Prose, Rule, RuleSet
from preflight.engine.template import Template, parse_template
from preflight.engine.tree import ExpressionError
from preflight.patterns import pattern
from preflight.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FAILS_AT = ("start", "build", "step", "silent")
EXPECTATIONS = ("fail", "pass", "undecided")
_NAME = pattern(r"^[a-z0-9]+(-[a-z0-9]+)*$")
_PLACE = pattern(r"@\{(\w+)\}")


class RuleFileError(Exception):
    """A mistake in a rule file."""

    def __init__(self, path: str, line: int, message: str, frame: str = "") -> None:
        super().__init__(f"{path}:{line}: {message}" + (f"\n{frame}" if frame else ""))
        self.path, self.line, self.message, self.frame = path, line, message, frame


class _File(NamedTuple):
    path: str
    text: str

    def fail(self, key: str, message: str, near: str = "", column: int = -1) -> RuleFileError:
        """An error at the line of a key; `near` is text that stands there, so that the right one of many is met."""
        lines = self.text.splitlines()
        starts = [n for n, line in enumerate(lines, 1) if re.match(rf"\s*(\[\[)?{re.escape(key)}\b", line)]
        head = near.strip().splitlines()[0] if near.strip() else ""
        exact = [n for n in starts if head and head in lines[n - 1]]
        number = (exact or starts or [1])[0]
        shown = lines[number - 1] if lines else ""
        frame = f"  {number} | {shown}"
        if column >= 0 and head and head in shown:
            frame += "\n" + " " * (len(f"  {number} | ") + shown.index(head) + column) + "^"
        return RuleFileError(self.path, number, message, frame)


def load_rules(folders: Iterable[Path], types: Mapping[str, str]) -> tuple[RuleSet, list[RuleFileError]]:
    """Read every rule below the folders; a name that occurs twice is an error at the second place."""
    rules: dict[str, Rule] = {}
    prose: dict[str, Prose] = {}
    families: dict[str, Family] = {}
    errors: list[RuleFileError] = []
    for folder in folders:
        for path in sorted(folder.glob("**/*.toml")):
            try:
                if path.name == "family.toml":
                    family = read_family(path)
                    families[family.name] = family
                    continue
                for rule, text in read_rules(path, types):
                    if rule.name in rules:
                        first = rules[rule.name]
                        raise RuleFileError(
                            str(path), rule.line, f"{rule.name} is the name of {first.path} already"
                        )
                    rules[rule.name], prose[rule.name] = rule, text
            except RuleFileError as error:
                errors.append(error)
    ordered = tuple(rules[name] for name in sorted(rules))
    for rule in ordered:
        families.setdefault(rule.family, Family(rule.family, rule.family, ""))
    return RuleSet(ordered, families, prose.__getitem__), errors


def read_toml(path: Path) -> tuple[_File, dict[str, Any]]:
    try:
        file = _File(str(path), path.read_text("utf-8"))
        return file, tomllib.loads(file.text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        raise RuleFileError(str(path), int(found[1]) if found else 1, f"not TOML: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RuleFileError(str(path), 1, f"cannot be read: {error}") from None


def read_family(path: Path) -> Family:
    file, data = read_toml(path)
    for key in ("title", "summary"):
        if not isinstance(data.get(key), str):
            raise file.fail(key, f"a family needs a {key}")
    check_keys(file, data, keys.FAMILY)
    return Family(path.parent.name, data["title"], data["summary"], bool(data.get("forks", True)))


def read_rules(path: Path, types: Mapping[str, str]) -> Iterable[tuple[Rule, Prose]]:
    """The rules of one file: one, or one for each `[[case]]`."""
    file, data = read_toml(path)
    cases = data.pop("case", None)
    if cases is None:
        yield build_rule(file, path.stem, path.parent.name, data, types)
        return
    check_keys(file, data, keys.RULE)
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise file.fail("case", "write each case as [[case]]")
    for case in cases:
        check_keys(file, case, keys.CASE)
        name = case.get("name")
        if not isinstance(name, str):
            raise file.fail("case", "each case needs a name")
        values = {"name": name, **case.get("values", {})}
        merged = {**data, **{key: value for key, value in case.items() if key not in ("name", "values")}}
        if "example" in case and case.get("example") is not None and "example" in data:
            merged["example"] = [*data["example"], *case["example"]]
        yield build_rule(file, name, path.parent.name, substitute(file, merged, values), types)


def substitute(file: _File, data: Any, values: Mapping[str, Any]) -> Any:
    """Put a case's values into every string."""
    if isinstance(data, dict):
        return {key: substitute(file, value, values) for key, value in data.items()}
    if isinstance(data, list):
        return [substitute(file, value, values) for value in data]
    if not isinstance(data, str):
        return data

    def value_of(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise file.fail(values["name"], f"the case {values['name']} has no value for @{{{match[1]}}}")
        return str(values[match[1]])

    return _PLACE.sub(value_of, data)


def check_keys(file: _File, data: Mapping[str, Any], known: keys.Keys) -> None:
    fault = keys.find_fault(data, known)
    if fault is not None:
        raise file.fail(*fault)


def check_facts(file: _File, key: str, facts: Iterable[str], names: Mapping[str, str]) -> None:
    for fact in facts:
        if fact not in names:
            raise file.fail(key, f"there is no fact named {fact!r}{suggest(fact, names)}")


def build_rule(
    file: _File, name: str, family: str, data: dict[str, Any], types: Mapping[str, str]
) -> tuple[Rule, Prose]:
    check_keys(file, data, keys.RULE)
    if not _NAME.match(name):
        raise file.fail("name", f"{name!r} is not a rule name; use small letters, digits and single hyphens")
    for key in ("summary", "why"):
        if not isinstance(data.get(key), str) or not data[key].strip():
            raise file.fail(key, f"{name} needs a {key}")
    if data["summary"].rstrip().endswith("."):
        raise file.fail("summary", "a summary ends without a full stop", data["summary"])
    remark = data.get("remark")
    if remark is not None and remark not in REMARKS:
        raise file.fail(
            "remark", f"there is no remark {remark!r}{suggest(str(remark), REMARKS)}", str(remark)
        )
    names = ChainMap(dict.fromkeys(REMARKS.get(remark or "", ()), "any"), types)  # type: ignore[arg-type]
    forms, messages, helps, ranges, conditions = read_forms(file, name, data, names, remark)
    point_at = tuple(data.get("point_at", ()))
    check_facts(file, "point_at", point_at, names)
    rule = Rule(name, family, remark, point_at, tuple(forms), file.path, line_of(file, name))
    prose = Prose(
        data["summary"].strip(), data["why"].strip(), tuple(data.get("references", ())), tuple(data.get("tags", ())),
        tuple(ranges), tuple(messages), tuple(helps), read_fix(file, data, names), read_examples(file, name, data),
        tuple(conditions),
    )  # fmt: skip
    return rule, prose


def line_of(file: _File, name: str) -> int:
    """The line of a case, 1 for a rule that has the file to itself."""
    for number, line in enumerate(file.text.splitlines(), 1):
        if re.match(rf"""\s*name\s*=\s*["']{re.escape(name)}["']""", line):
            return number
    return 1


def read_forms(
    file: _File, name: str, data: dict[str, Any], names: Mapping[str, str], remark: str | None
) -> Any:
    """The forms of a rule: one for each [[form]] table, or one for all releases."""
    forms: list[Form] = []
    messages: list[Template] = []
    helps: list[Template | None] = []
    ranges: list[str] = []
    conditions: list[tuple[str, str]] = []
    for table in data.get("form") or [{}]:
        check_keys(file, table, keys.FORM)
        merged = {**{key: data[key] for key in keys.FORM if key in data}, **table}
        severity, fails_at = merged.get("severity"), merged.get("fails_at")
        if severity not in SEVERITIES:
            raise file.fail("severity", f"{name}: severity is one of error, warning, note")
        if fails_at not in (*FAILS_AT, None) or (severity == "error" and fails_at is None):
            raise file.fail(
                "fails_at", f"{name}: an error says when it shows: fails_at is one of {', '.join(FAILS_AT)}"
            )
        when, require = (read_condition(file, merged, key, names) for key in ("when", "require"))
        if (require is None) == (remark is None):
            raise file.fail("require", f"{name} needs either 'require' or 'remark'")
        if not isinstance(merged.get("message"), str):
            raise file.fail("message", f"{name} needs a message")
        messages.append(read_template(file, "message", merged["message"], names))
        helps.append(read_template(file, "help", merged["help"], names) if "help" in merged else None)
        ranges.append(str(merged.get("targets", "")))
        conditions.append((str(merged.get("when", "")), str(merged.get("require", ""))))
        try:
            targets = parse_range(ranges[-1])
        except ValueError as error:
            raise file.fail("targets", f"{name}: {error}", ranges[-1]) from None
        forms.append(Form(targets, severity, fails_at, when, require, len(forms)))
    return forms, messages, helps, ranges, conditions


def read_condition(file: _File, data: Mapping[str, Any], key: str, names: Mapping[str, str]) -> Any:
    if key not in data:
        return None
    try:
        return parse_condition(data[key], names)
    except ExpressionError as error:
        raise file.fail(key, error.message, data[key], error.column) from None


def read_template(file: _File, key: str, text: str, names: Mapping[str, str]) -> Template:
    try:
        return parse_template(text, names)
    except ExpressionError as error:
        raise file.fail(key, error.message, text, error.column) from None


def read_fix(file: _File, data: Mapping[str, Any], names: Mapping[str, str]) -> Mapping[str, Any] | None:
    fix = data.get("fix")
    if fix is None:
        return None
    check_keys(file, fix, keys.FIX)
    actions = [key for key in keys.ACTIONS if key in fix]
    if (
        len(actions) != 1
        or not isinstance(fix.get("title"), str)
        or fix.get("safety") not in ("safe", "unsafe")
    ):
        raise file.fail(
            "fix", "a fix has a title, a safety (safe, unsafe), and one of " + ", ".join(keys.ACTIONS)
        )
    check_facts(file, "fix", fix.get("replace", [fix["remove"]] if "remove" in fix else ()), names)
    if "edits" in fix and (fix["edits"] != "remark" or "remark" not in data):
        raise file.fail("fix", 'the edits of a fix are "remark", in a rule about one')
    built = {**fix}
    if "replace" in fix:
        built["replace"] = {
            fact: read_template(file, "replace", f"{{{text}}}", names)
            for fact, text in fix["replace"].items()
        }
    for key in ("add", "export"):
        if key in fix:
            built[key] = read_template(file, key, fix[key], names)
    return built


def read_examples(file: _File, name: str, data: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    examples: list[Mapping[str, Any]] = []
    for example in data.get("example", ()):
        check_keys(file, example, keys.EXAMPLE)
        if example.get("expect") not in EXPECTATIONS or not isinstance(example.get("script"), str):
            raise file.fail(
                "example", f"{name}: an example needs a script and expect = fail, pass or undecided"
            )
        examples.append(example)
    for expectation in ("fail", "pass") if data.get("remark") not in BEYOND_EXAMPLES else ():
        if all(example["expect"] != expectation for example in examples):
            raise file.fail(
                "summary", f"{name} has no example that should {expectation}", str(data.get("summary"))
            )
    return tuple(examples)
