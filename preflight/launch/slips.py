"""Slips in a launcher's own options.

In: the launcher's options as they stand.  Out: remarks about an option that the launcher does not know and that is one
slip away from one it knows, an option without its value, an option given twice with different values, and a word
that is taken for the program in front of the real one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from preflight.execution import Related, Remark
from preflight.launch.options import Given, Grammar, known_prefix
from preflight.launch.programs import STARTERS
from preflight.launch.start import Start, find_displaced
from preflight.patterns import pattern
from preflight.source import Span


def notice_options(start: Start, certain: bool) -> Iterable[Remark]:
    """What is odd about the options in front of the program.

    On a branch that may never be taken (`certain` is False) a missing value says little: often the branch is the one
    in which a search for the value found nothing.
    """
    starter = next((s for s in STARTERS.values() if s.kind == start.kind), None)
    if starter is None or start.plain:
        return
    if certain or not any(map(_swallowed, start.options.given)):
        yield from _notice_program(start)
    yield from _notice_behind(start)
    grammar = starter.grammar
    seen: dict[str, Given] = {}
    for given in start.options.given:
        name = given.setting.name
        if not given.known:
            near = nearest(given.spelling, grammar)
            if near is not None:
                span = given.words[0].span
                values = {"option": given.spelling, "suggestion": near, "launcher": start.kind}
                edits = _rename(span, given.spelling, near)
                yield Remark("launcher-option-misspelt", span, values, edits=edits)
            continue
        if certain and (swallowed := _swallowed(given)) is not None:
            values = {"option": given.spelling, "next": swallowed, "launcher": start.kind}
            yield Remark("launcher-option-without-value", given.setting.span, values)
        yield from _notice_count(given, start.kind)
        before = seen.get(name)
        if before is not None and _shown(before) != _shown(given) and _known(before) and _known(given):
            values = {"option": given.spelling, "first": _shown(before), "last": _shown(given)}
            related = (Related(before.setting.span, "given here first"),)
            yield Remark("launcher-option-repeated", given.setting.span, values, related)
        seen[name] = given


BEHIND = frozenset({"nproc_per_node", "nnodes", "rdzv_endpoint", "rdzv_backend", "rdzv_id"})
"""Options of torchrun that no program has as well."""
_COUNT = pattern(r"[A-Za-z][\w-]*:\d+|\d+\.\d+|\d+(?:,\d+)+")
"""What stands for a number of devices elsewhere (`a100:4`, `0,1`) and is none."""


def _notice_behind(start: Start) -> Iterable[Remark]:
    """The launcher's own options behind the program, which gets them instead."""
    name = known_prefix(start.program.text).rpartition("/")[2] if start.program is not None else ""
    if start.kind not in {"torchrun", "torch.distributed.launch"} or not name.startswith("pretrain_"):
        return
    for word in start.argv:
        option = known_prefix(word.text).partition("=")[0]
        bare = option.lstrip("-").replace("-", "_")
        if option.startswith("--") and bare in BEHIND and bare not in start.options.settings:
            values = {"option": option, "program": name, "launcher": start.kind}
            yield Remark("launcher-option-behind-program", word.span, values)
            return


def _notice_count(given: Given, kind: str) -> Iterable[Remark]:
    """A number of processes that is none."""
    text = given.setting.text
    value = text.value if text is not None else None
    if given.setting.name == "nproc_per_node" and value is not None and _COUNT.fullmatch(value):
        values = {"option": given.spelling, "value": value, "launcher": kind}
        yield Remark("launcher-count-unreadable", given.setting.span, values)


def _notice_program(start: Start) -> Iterable[Remark]:
    """What is left of a value with a blank in it (`--master_addr your host`) is taken for the program."""
    program = find_displaced(start)
    if program is not None and start.program is not None:
        values = {"word": start.program.text.value, "program": program, "launcher": start.kind}
        values["option"] = start.options.given[-1].spelling
        yield Remark("launcher-program-displaced", start.program.span, values)


def nearest(spelling: str, grammar: Grammar) -> str | None:
    """The option that an unknown one probably means; one with a carriage return is told of for that."""
    if not spelling.startswith("--") or spelling.endswith("\r"):
        return None
    from difflib import get_close_matches

    folded = spelling.replace("_", "-").lower()
    known = {name.replace("_", "-"): name for name in grammar.options if name.startswith("--")}
    found = get_close_matches(folded, list(known), 1, 0.85)
    return known[found[0]] if found else None


def _swallowed(given: Given) -> str | None:
    """The next option that stands where a value should, or nothing at all."""
    if given.missing:
        return ""
    for text in given.values:
        head = known_prefix(text)
        if "=" not in given.words[0].text.display() and re.match(r"--[A-Za-z]", head):
            return text.display()
    return None


def _known(given: Given) -> bool:
    return all(text.known for text in given.values)


def _shown(given: Given) -> str:
    return given.setting.text.display() if given.setting.text is not None else ""


def _rename(span: Span, spelling: str, near: str) -> tuple[tuple[Span, str], ...]:
    place = span.resolve()
    end = place.start + len(spelling.encode())
    if place.source.data[place.start : end] != spelling.encode():
        return ()
    return ((Span(place.source, place.start, end), near),)
