"""Configurations that code builds: objects with Megatron's settings, as they are when the program is done.

In: the objects that a path built.  Out: `CodeConfiguration`s.  `settings` has the bare name of each field; where
several parts of a configuration have a field of one name, that of the model comes first.  `paths` says how the
field is reached (`model.tensor_model_parallel_size`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from preflight.execution import CodeConfiguration, Word
from preflight.python import notations, runs
from preflight.python.objects import External, Instance, Mapping, Missing, Scalar, Sequence, String, Value
from preflight.python.outline import SIZES
from preflight.python.scope import Path
from preflight.record import NamedTuple
from preflight.source import Source, Span
from preflight.values import Text, Unknown

_NAMED = re.compile(
    r"(?:TransformerConfig|ModelParallelConfig|ModelProvider\w*|ConfigContainer)$|"
    r"^initialize_model_parallel$|^bridge\.\w+Config$|\w_(?:pretrain|finetune|sft|peft)_config$"
)
_PLAIN = re.compile(r"(?:^|\.)GPTModelProvider$")
_PART = re.compile(r"(?:^|\.)(?:model\w*|strategy|provider|transformer_config)\.\w+$")
_ELSEWHERE = re.compile(r"(?:^|\.)(?:rollout|ref|critic|reward\w*|actor\w*|inference|generation)\.")
_SEEING = re.compile(r"(?:^|\.)vision\w*\.")
_ARGUMENTS = re.compile(r"Namespace$|(?:^|[._])(?:args|parse\w*|arguments|create_test_args)\b|Mock|argv")
_DTYPE = re.compile(r"^torch\.\w+$")
_FIRST = ("model", "train", "optimizer", "scheduler", "ddp", "")


def collect(path: Path, source: Source, fallback: Span | None) -> list[CodeConfiguration]:
    """The configurations that a path leaves."""
    inner: set[int] = set()
    for instance in path.built:
        for child in _below(instance, set()):
            inner.add(id(child))
    found = []
    for instance in dict.fromkeys(path.built):
        if id(instance) in inner or is_arguments(instance):
            continue
        made = describe(instance, path, source, fallback)
        if made is not None:
            found.append(made)
    return found


def is_arguments(instance: Instance) -> bool:
    """Whether an object holds the arguments of a command line, which are no configuration yet."""
    return _ARGUMENTS.search(instance.name) is not None


def _below(instance: Instance, seen: set[int]) -> Iterator[Instance]:
    for value in instance.attributes.values():
        if isinstance(value, Instance) and id(value) not in seen and not _separate(instance, value):
            seen.add(id(value))
            yield value
            yield from _below(value, seen)


def _separate(holder: Instance, value: Instance) -> bool:
    """Whether a configuration stands for itself: what holds it is a model or the like, no configuration."""
    return (
        _NAMED.search(value.name) is not None and _NAMED.search(holder.name) is None and holder.parent is None
    )


def describe(
    instance: Instance, path: Path, source: Source, fallback: Span | None
) -> CodeConfiguration | None:
    """The settings of an object, if it is a configuration of Megatron's."""
    settings: dict[str, Word] = {}
    places: dict[str, str] = {}
    unknowns: list[Unknown] = []
    fields: dict[str, Word] = {}
    _gather(instance, "", Gathered(settings, places, unknowns, fields), set())
    if not settings:
        return None
    sizes = settings.keys() & SIZES
    if _NAMED.search(instance.name) is not None:
        if len(settings) < 2 and not sizes:
            return None
    elif not _resembles(sizes, places):
        return None
    span = instance.span
    if span.source is not source:
        own = [w.span for w in settings.values() if w.span.source is source]
        span = fallback or (own[0] if own else span)
    return CodeConfiguration(
        instance.name,
        span,
        settings,
        tuple(dict.fromkeys(unknowns)),
        tuple(path.conditions),
        places,
        instance.strict and not instance.changed,
        instance.changed,
        _is_plain(instance),
        fields,
    )


def _is_plain(instance: Instance) -> bool:
    """Whether the model's part is Megatron-Bridge's general provider, all of whose fields the code shows."""
    model = instance.attributes.get("model", instance)
    if not isinstance(model, Instance) or model.cls is not None or model.rest is not None:
        return False
    return _PLAIN.search(model.name) is not None


def _resembles(sizes: Set[str], places: dict[str, str]) -> bool:
    """Whether an object of another name has what only a configuration of Megatron's has; that of a part that
    sees is not the model's."""
    sizes = {name for name in sizes if _SEEING.search(places[name]) is None}
    parallel = [name for name in sizes if name.endswith("parallel_size")]
    if any(_ELSEWHERE.search(places[name]) is not None for name in parallel):
        return False
    inside = any(_PART.search(places[name]) is not None for name in parallel)
    return inside or len(parallel) > 1 or (bool(parallel) and len(sizes) > 1)


class Gathered(NamedTuple):
    """Fields by their bare names, how each is reached, what could not be followed, and all fields by their places."""

    settings: dict[str, Word]
    places: dict[str, str]
    unknowns: list[Unknown]
    fields: dict[str, Word]


def _gather(
    instance: Instance,
    prefix: str,
    found: Gathered,
    seen: set[int],
) -> None:
    if id(instance) in seen or len(seen) > 200:
        return
    seen.add(id(instance))
    if instance.rest is not None:
        found.unknowns.append(instance.rest.unknown)
    for name, value in instance.attributes.items():
        place = f"{prefix}{name}"
        span = instance.spans.get(name, instance.span)
        if isinstance(value, Instance) and _separate(instance, value):
            continue
        if isinstance(value, Instance) and value.cls is None:
            read_only = value.name == f"{instance.name}.{name}"
            if value.attributes or read_only:
                _gather(value, f"{place}.", found, seen)
                continue
        elif isinstance(value, Instance) and value.cls is not None and not value.cls.enumeration:
            _gather(value, f"{place}.", found, seen)
            continue
        if name.startswith(("_", "[")):
            continue
        word = found.fields[place] = Word(_text(value, span), span)
        if name in found.places and _rank(found.places[name]) <= _rank(place):
            continue
        found.settings[name] = word
        found.places[name] = place


def _rank(place: str) -> tuple[int, int]:
    top = place.rpartition(".")[0].partition(".")[0]
    return (_FIRST.index(top) if top in _FIRST else len(_FIRST), place.count("."))


def _text(value: Value, span: Span) -> Text:
    if isinstance(value, (String, Scalar, Missing)):
        return runs.word_text(value, span)
    if isinstance(value, External) and _DTYPE.match(value.name):
        return Text.literal(value.name, span)
    if isinstance(value, Instance) and value.cls is not None and value.cls.enumeration:
        return runs.word_text(value.attributes["value"], span)
    if isinstance(value, (Sequence, Mapping)):
        plain = notations.jsonable(value)
        if isinstance(plain, (list, dict)):
            return Text.literal(str(plain), span)
    return runs.word_text(value, span)
