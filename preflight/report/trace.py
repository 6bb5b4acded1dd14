"""The trace: what a script launches, every value with its origin.

In: resolved scripts.  Out: schema 1 of the trace as JSON, the interchange format for other tools, or the same for
people.  Unknown numbers are null; a word that holds a secret is masked and not called known, since its text is not what
the program gets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from preflight.chain import Resolved, Settled
from preflight.execution import Word
from preflight.facts.model import Fact
from preflight.launch.model import Launch, Number
from preflight.record import NamedTuple
from preflight.report.frame import Row, printable
from preflight.report.json import describe_conditions, plain
from preflight.report.mask import MASK, Mask, is_secret
from preflight.report.paint import paint
from preflight.report.text import describe_conditions as tell_conditions
from preflight.source import Source, Span
from preflight.values import Text

SCHEMA = 1
KEY_FACTS = (
    "world_size",
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "virtual_pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
    "expert_tensor_parallel_size",
    "data_parallel_size",
    "num_layers",
    "hidden_size",
    "num_attention_heads",
    "seq_length",
    "micro_batch_size",
    "global_batch_size",
    "num_microbatches",
)
"""Facts that are shown whether given or not."""


class Traced(NamedTuple):
    """One file of a trace; `resolved` is None where there is no script or it could not be read (`error`)."""

    path: str
    resolved: Resolved | None
    error: str | None = None


def write_trace_json(files: Sequence[Traced], secrets: Iterable[str] = ()) -> str:
    """The whole trace as one JSON document."""
    mask = Mask(secrets)
    document = {"schema": SCHEMA, "files": [_file(traced, mask) for traced in files]}
    return json.dumps(mask.all(document), indent=2, ensure_ascii=False) + "\n"


def _file(traced: Traced, mask: Mask) -> dict[str, Any]:
    settled = traced.resolved.launches if traced.resolved else ()
    described: dict[str, Any] = {
        "path": traced.path,
        "error": traced.error,
        "launches": [_launch(each, mask) for each in settled],
    }
    if traced.resolved is not None and traced.resolved.script.truncated:
        described["truncated"] = [
            {"reason": unknown.reason, "text": unknown.text} for unknown in traced.resolved.script.truncated
        ]
    return described


def _launch(settled: Settled, mask: Mask) -> dict[str, Any]:
    launch = settled.launch
    own = launch.source
    place = launch.span.resolve()
    described: dict[str, Any] = {
        **_position(place, own),
        "when": mask.all(describe_conditions(launch.conditions)),
        "launcher": {
            "kind": launch.launcher.kind,
            "nodes": launch.launcher.nodes.value,
            "processes_per_node": launch.launcher.processes_per_node.value,
            "world_size": launch.launcher.world_size.value,
        },
        "program": _shown(launch.program.text, mask) if launch.program else None,
        "command": _words(launch.command, own, mask),
        "argv": _words(launch.argv, own, mask),
        "env": {
            name: _variable(name, text, mask) for name, text in launch.environment.items() if text is not None
        },
        "unset": sorted(name for name, text in launch.environment.items() if text is None),
    }
    for number, (configuration, facts) in enumerate(settled.configurations):
        listed = {name: _fact(facts[name], own, mask) for name in list_facts(configuration.values, facts)}
        entry = {"name": configuration.name, "release": configuration.release, "facts": listed}
        if number == 0:
            described["release"] = configuration.release
            described["facts"] = listed
        described.setdefault("configurations", []).append(
            entry if len(settled.configurations) > 1 else configuration.name
        )
    described.setdefault("facts", {})
    if len(settled.configurations) < 2:
        described.pop("configurations", None)
    return described


def list_facts(given: Mapping[str, Any], facts: Mapping[str, Fact]) -> list[str]:
    """The facts worth showing: the key ones, those that the user gave, and those that follow from them."""
    names = dict.fromkeys(name for name in KEY_FACTS)
    names.update(dict.fromkeys(name for name, bound in given.items() if bound.given))
    for name in facts:
        if name not in names and name not in given:
            fact = facts[name]
            if fact.known and fact.value is not None and fact.origin != "default":
                names[name] = None
    return [name for name in names if facts[name].blocked_by or facts[name].value is not None]


def _fact(fact: Fact, own: Source, mask: Mask) -> dict[str, Any]:
    described: dict[str, Any] = {
        "value": mask.all(plain(fact.value)) if fact.known else None,
        "origin": fact.origin,
    }
    if is_secret(fact.name) and isinstance(fact.value, str):
        described["value"] = MASK
    if fact.evidence and fact.origin != "derived":
        described.update(_position(fact.evidence[0].span.resolve(), own))
    if not fact.known:
        described["blocked_by"] = [
            {"fact": b.fact, "reason": b.unknown.reason, "text": b.unknown.text, "remedy": b.unknown.remedy}
            for b in fact.blocked_by
        ]
    if fact.assumptions:
        described["assumes"] = [{"name": a.name, "value": a.value} for a in fact.assumptions]
    return described


def _words(words: Sequence[Word], own: Source, mask: Mask) -> list[dict[str, Any]]:
    described = []
    previous = ""
    for word in words:
        entry = _word(word, own, mask)
        if _follows_secret_flag(previous, entry):
            entry.update(text=MASK, known=False, reason="masked")
        described.append(entry)
        previous = word.text.value or ""
    return described


def _follows_secret_flag(previous: str, entry: Mapping[str, Any]) -> bool:
    """Whether a word is the value of a flag such as `--api-key`."""
    text = str(entry["text"])
    harmless = not text or text.startswith("-") or text.isdigit()
    return previous.startswith("--") and is_secret(previous) and not harmless and bool(entry["known"])


def _word(word: Word, own: Source, mask: Mask) -> dict[str, Any]:
    text, known = as_written(word.text), word.text.known
    shown = mask.text(text)
    entry: dict[str, Any] = {"text": shown, "known": known and shown == text}
    if not known:
        unknown = word.text.unknowns[0]
        entry["reason"] = unknown.reason
        if unknown.remedy:
            entry["remedy"] = unknown.remedy
    elif shown != text:
        entry["reason"] = "masked"
    entry.update(_position(word.span.resolve(), own))
    if word.many:
        entry["many"] = True
    origin = _origin(word.text, own)
    if origin:
        entry["origin"] = [{**_position(span, own), "text": mask.text(words)} for span, words in origin]
    return entry


def as_written(text: Text) -> str:
    """A value with its unknown parts as they stand in the script: `/ckpt/${DATE}`."""
    parts = []
    for piece in text.pieces:
        written = piece.span.resolve().text if piece.unknown is not None else ""
        parts.append(written if written[:1] in ("$", "`") and len(written) <= 200 else piece.text)
    return "".join(parts)


def _origin(text: Text, own: Source) -> list[tuple[Span, str]]:
    """The way of a value from its literal to its use."""
    return [(step.span.resolve(), step.text) for step in text.steps]


def _variable(name: str, text: Text, mask: Mask) -> dict[str, Any]:
    if is_secret(name) and text.display() and not text.display().isdigit():
        return {"text": MASK, "known": False, "reason": "masked"}
    shown = mask.text(text.display())
    entry: dict[str, Any] = {"text": shown, "known": text.known and shown == text.display()}
    if not text.known:
        entry["reason"] = text.unknowns[0].reason
    return entry


def _shown(text: Text, mask: Mask) -> str:
    return mask.text(text.display())


def _position(span: Span, own: Source) -> dict[str, Any]:
    position = span.position
    place: dict[str, Any] = {"line": position.line, "column": position.column}
    if span.path != own.path:
        place = {"path": span.path, **place}
    return place


def write_trace_text(
    files: Sequence[Traced], secrets: Iterable[str] = (), flag: str | None = None, colour: bool = False
) -> str:
    """The trace for people; `flag` keeps the lines of one flag."""
    mask = Mask(secrets)
    rows: list[Row] = []
    for traced in files:
        if traced.error is not None:
            rows.append([("error", "error"), (f": {traced.path}: {traced.error}", "plain")])
            continue
        settled = traced.resolved.launches if traced.resolved else ()
        if not settled:
            rows.append([(f"{traced.path}: no launch found", "plain")])
        for each in settled:
            rows += _draw_launch(each, mask, flag)
            rows.append([])
    return paint([[(mask.text(text), role) for text, role in row] for row in rows], colour)


def _draw_launch(settled: Settled, mask: Mask, flag: str | None) -> list[Row]:
    launch = settled.launch
    place = launch.span.resolve()
    launcher = launch.launcher
    head = f"{place.path}:{place.position.line}"
    size = f"{_number(launcher.nodes)} x {_number(launcher.processes_per_node)}"
    rows: list[Row] = [
        [
            (head, "message"),
            (f"  {launcher.kind}: nodes x processes = {size} = {_number(launcher.world_size)}", "plain"),
        ]
    ]
    if launch.conditions:
        rows.append(
            [
                ("  when     ", "line"),
                (printable(mask.text(tell_conditions(launch.conditions, place.path))), "plain"),
            ]
        )
    releases = ", ".join(dict.fromkeys(c.release for c, _ in settled.configurations))
    if releases:
        rows.append([("  release  ", "line"), (releases, "plain")])
    if launch.program is not None:
        rows.append([("  program  ", "line"), (printable(_shown(launch.program.text, mask)), "plain")])
    rows.append([("  argv", "line")])
    rows += _draw_argv(launch, mask, flag)
    if flag is None and launch.environment:
        rows.append([("  env", "line")])
        rows += [
            [(f"    {name}={printable(_variable(name, text, mask)['text'])}", "plain")]
            for name, text in launch.environment.items()
            if text is not None
        ]
    if flag is None:
        for configuration, facts in settled.configurations:
            title = "  facts" + (f" of {configuration.name}" if configuration.name else "")
            rows.append([(title, "line")])
            rows += [_draw_fact(facts[name], mask) for name in list_facts({}, facts)]
    return rows


def _draw_argv(launch: Launch, mask: Mask, flag: str | None) -> list[Row]:
    """One row for each flag with its values, and where they come from."""
    lines: list[tuple[str, list[Word]]] = []
    described = _words(launch.argv, launch.source, mask)
    for word, entry in zip(launch.argv, described, strict=True):
        text = entry["text"] if entry["text"] else "''"
        if not lines or (text.startswith("-") and not text[1:2].isdigit()):
            lines.append((text, [word]))
        else:
            lines[-1] = (f"{lines[-1][0]} {text}", [*lines[-1][1], word])
    wanted = flag.lstrip("-").replace("_", "-") if flag else None
    width = min(max((len(text) for text, _ in lines), default=0), 60)
    rows: list[Row] = []
    for text, words in lines:
        name = text.split()[0].split("=")[0].lstrip("-").replace("_", "-") if text.strip() else ""
        if wanted is not None and name != wanted:
            continue
        rows.append(
            [(f"    {printable(text):<{width}}", "plain"), (f"  {_whence(words, launch.source)}", "dim")]
        )
    return rows


def _whence(words: Sequence[Word], own: Source) -> str:
    """Where a flag stands, the way of its value, and why a part is unknown."""
    span = words[0].span.resolve()
    parts = [_where(span, own)]
    seen: set[tuple[str, str]] = set()
    for word in words:
        for step_span, text in _origin(word.text, own):
            where = _where(step_span, own)
            if (where, text) not in seen:
                seen.add((where, text))
                parts.append(f"{text} ({where})")
        for unknown in word.text.unknowns:
            remedy = f": give {unknown.remedy}" if unknown.remedy else ""
            parts.append(f"unknown, {unknown.text} ({unknown.reason}){remedy}")
        parts += [f"assumes {a.name}={a.value}" for a in word.text.assumptions]
    return "; ".join(dict.fromkeys(printable(part) for part in parts))


def _where(span: Span, own: Source) -> str:
    return f"line {span.position.line}" if span.path == own.path else f"{span.path}:{span.position.line}"


def _draw_fact(fact: Fact, mask: Mask) -> Row:
    if fact.known:
        value = mask.text(str(plain(fact.value)))
        return [(f"    {fact.name} = {printable(value)}", "plain"), (f"  ({fact.origin})", "dim")]
    reasons = ", ".join(dict.fromkeys(f"{b.unknown.text} ({b.unknown.reason})" for b in fact.blocked_by))
    return [(f"    {fact.name} = ?", "plain"), (f"  (unknown: {printable(reasons)})", "dim")]


def _number(number: Number) -> str:
    return "?" if number.value is None else str(number.value)
