"""From faults of a command line to remarks, with what would be right and the edits that make it so.

In: faults, the table, and whose program it is.  Out: `Remark`s, whose kinds are declared in `engine.remarks`.  For a
program that is not plainly Megatron's only what no fork explains is remarked: slips of a letter, and texts where
Megatron wants a number.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice

from preflight.configuration.parse import Fault
from preflight.configuration.spelling import DASHES, Spellings, normalise, slips
from preflight.execution import Related, Remark, Word
from preflight.launch.model import Launch
from preflight.patterns import pattern
from preflight.source import Span
from preflight.targets.history import RENAMED, SAME_VALUE, list_releases
from preflight.targets.origin import Origin
from preflight.targets.releases import RELEASES
from preflight.targets.table import Option, Table

NUMERIC = frozenset({"int", "float"})
NEGATIVE = pattern(r"-\.?\d")
"""A number that the parser takes for a flag; it is told of at the flag that misses its value."""
CHOICES_SHOWN = 12
PATIENCE = 40
"""For so many unknown flags of a line the nearest spelling is looked for."""
SEVERAL = 2
"""So many flags that Megatron never had and that resemble none of its own speak of a fork."""


def describe_faults(
    faults: Iterable[Fault], table: Table, origin: Origin, launch: Launch, *, sure: bool = True
) -> tuple[Remark, ...]:
    """The remarks about a command line; `sure` says that its flags are this release's or the program's own."""
    found = [fault for fault in faults if not NEGATIVE.match(fault.flag)]
    fork = origin.fork
    writer = Writer(table, launch, origin.own and not fork, origin.own, sure)
    remarks = [remark for fault in found for remark in writer.write(fault)]
    unchecked = [fault for fault in found if fault.kind == "unknown" and id(fault) not in writer.told]
    if unchecked and fork:
        flags = list(dict.fromkeys(fault.flag for fault in unchecked))
        values = {"flags": flags, "count": len(flags), "program": writer.program, "because": fork}
        remarks.append(writer.remark("unchecked-flags", unchecked[0].words[:1], values))
    return tuple(remarks)


def speaks_of_fork(faults: Iterable[Fault], table: Table) -> bool:
    """Several flags that Megatron never had: one is a slip, more belong to somebody."""
    unknown = dict.fromkeys(fault.flag for fault in faults if fault.kind == "unknown")
    strangers = (flag for flag in list(unknown)[:PATIENCE] if is_stranger(flag, table))
    return len(unknown) >= SEVERAL and len(list(islice(strangers, SEVERAL))) == SEVERAL


@lru_cache(maxsize=64)
def spellings_of(table: Table) -> Spellings:
    """The flags of a table."""
    return Spellings(table.flags)


@lru_cache(maxsize=1024)
def find_nearest(flag: str, table: Table) -> str | None:
    """The nearest flag of a table; kept, since scripts of a folder have the same strange ones."""
    return spellings_of(table).find_nearest(flag)


@lru_cache(maxsize=1024)
def may_be_slip(flag: str, table: Table) -> bool:
    """Whether a flag can be a slip of one of the table's at all."""
    return spellings_of(table).may_hold_slip(flag)


def is_stranger(flag: str, table: Table) -> bool:
    """A flag that no release ever had and that is no slip of one that this one has."""
    if list_releases(flag) or flag in RENAMED or positive_twin(flag, table):
        return False
    nearest = find_nearest(flag, table)
    return nearest is None or (normalise(flag) != normalise(nearest) and slips(flag, nearest, 2) > 2)


def positive_twin(flag: str, table: Table) -> str | None:
    """`--no-x` or `--disable-x`, where the user wrote `--x` and only the way to switch it off exists."""
    for prefix in ("--no-", "--disable-"):
        twin = prefix + flag[2:]
        option = table.flags.get(twin) or table.flags.get(normalise(twin))
        if option is not None and option.action == "store_false":
            return twin if twin in table.flags else normalise(twin)
    return None


class Writer:
    """Makes remarks.

    `strict` says that every flag must be one of the table's, `own` that the program is Megatron's, `sure` that the
    table is the right one.
    """

    def __init__(self, table: Table, launch: Launch, strict: bool, own: bool, sure: bool) -> None:
        self.table = table
        self.launch = launch
        self.strict = strict
        self.own = own
        self.sure = sure
        self.told: set[int] = set()
        self.looked = 0
        word = launch.program
        self.program = os.path.basename(word.text.display()) if word is not None else "the program"

    def remark(
        self,
        kind: str,
        words: tuple[Word, ...],
        values: dict[str, object],
        edits: tuple[tuple[Span, str], ...] = (),
        related: tuple[Related, ...] = (),
    ) -> Remark:
        span = cover(words) or (self.launch.program.span if self.launch.program else self.launch.span)
        path = span.resolve().source.path
        if path.startswith("<") and path != self.launch.source.path:
            span = self.launch.span  # the word came from the caller, not from any file
        return Remark(kind, span, values, related, edits)

    def write(self, fault: Fault) -> Iterator[Remark]:
        """The remarks of one fault; none where a fork may explain it, or the line ends of Windows do."""
        if fault.flag.endswith("\r"):
            return
        if fault.kind == "unknown":
            remark = self.write_unknown(fault)
            if remark is not None:
                self.told.add(id(fault))
                yield remark
        elif fault.kind == "repeated":
            yield self.write_repeated(fault)
        elif self.strict or (fault.kind in ("type", "missing") and is_numeric(fault.option)):
            if not self.strict and fault.kind == "type" and is_number(fault.value):
                return  # where Megatron wants a whole number, another program may take a fraction
            yield self.write_known(fault)

    def write_unknown(self, fault: Fault) -> Remark | None:
        """A flag that the table does not have."""
        flag, words = fault.flag, fault.words[:1]
        self.looked += 1
        values: dict[str, object] = {"flag": flag, "program": self.program, "release": self.table.name}
        if not self.strict:
            return self.write_slip(flag, words, values)
        twin = positive_twin(flag, self.table)
        if twin is not None:
            edits = tuple(removal(word) for word in words if written(word))
            return self.remark("flag-of-the-default", words, values | {"opposite": twin}, edits)
        releases = list_releases(flag)
        renamed = RENAMED.get(flag, "")
        instead = renamed if renamed in self.table.flags else ""
        edits = self.rename(fault, instead) if flag in SAME_VALUE else ()
        if releases:
            later = RELEASES.index(releases[0]) > index_of(self.table.release)
            if later:
                return self.remark("later-flag", words, values | {"first": releases[0]}, edits)
            return self.remark(
                "removed-flag",
                words,
                values | {"last": releases[-1], "instead": instead, "hint": hint_removed(instead)},
                edits,
            )
        nearest = instead or self.find_nearest(flag) or ""
        if not self.sure and not instead and not (nearest and is_slip(flag, nearest)):
            return self.remark("unheard-of-flag", words, values)
        if not instead and nearest:
            edits = self.rename(fault, nearest)
        hint = (
            f"did you mean {nearest}?"
            if nearest
            else "take it out, or give the release that has it with --target"
        )
        return self.remark("unknown-flag", words, values | {"nearest": nearest, "hint": hint}, edits)

    def write_slip(self, flag: str, words: tuple[Word, ...], values: dict[str, object]) -> Remark | None:
        """In a program that may have flags of its own, only a slip of a letter is told."""
        if list_releases(flag) or "_" in flag or len(flag) < 8:
            return None
        if not may_be_slip(flag, self.table):
            return None
        nearest = self.find_nearest(flag)
        if nearest is None or not is_slip(flag, nearest):
            return None
        if not self.own and nearest.startswith(flag):
            return None  # argparse takes abbreviations, unless it is told not to, as Megatron does
        edits = ((words[0].span, nearest),) if written(words[0]) else ()
        return self.remark("misspelt-flag", words, values | {"nearest": nearest}, edits)

    def find_nearest(self, flag: str) -> str | None:
        return find_nearest(flag, self.table) if self.looked <= PATIENCE else None

    def rename(self, fault: Fault, name: str) -> tuple[tuple[Span, str], ...]:
        """The edit that writes another flag in the place of this one."""
        if not name:
            return ()
        word = fault.words[0]
        span = word.span
        if span.text.startswith(fault.flag):
            span = span._replace(end=span.start + len(fault.flag.encode()))
        elif word.text.value != fault.flag:
            return ()
        return ((span, name),)

    def write_repeated(self, fault: Fault) -> Remark:
        earlier = cover(fault.others)
        related = (Related(earlier, f"{fault.wanted} comes first"),) if earlier else ()
        values = {"flag": fault.flag, "value": fault.value, "earlier": fault.wanted}
        return self.remark("repeated-flag", fault.words, dict(values), (), related)

    def write_known(self, fault: Fault) -> Remark:
        """A fault in the use of a flag that the table has."""
        flag, words, value = fault.flag, fault.words, fault.value
        values: dict[str, object] = {"flag": flag, "value": value}
        match fault.kind:
            case "missing":
                values = {"flag": flag, "wanted": fault.wanted, "next": fault.value}
                if NEGATIVE.match(fault.value):
                    return self.remark("negative-exponent", words[:1], values)
                return self.remark("missing-value", words, values | {"hint": hint_missing(fault)})
            case "type":
                hint = hint_type(value, fault.option)
                return self.remark("wrong-type", words, values | {"wanted": fault.wanted, "hint": hint})
            case "choice":
                return self.write_choice(fault)
            case "explicit":
                edits = ((words[0].span, flag),) if truthy(value) and written(words[0]) else ()
                return self.remark("value-for-switch", words, values, edits)
            case "exclusive":
                return self.remark("exclusive-flags", words, {"flag": flag, "other": value})
            case "required":
                return self.remark("required-flag", (), {"flag": flag, "program": self.program})
            case "help":
                return self.remark("help-flag", words, {"flag": flag})
        return self.write_extra(fault)

    def write_choice(self, fault: Fault) -> Remark:
        choices = list(fault.option.choices or ()) if fault.option is not None else []
        texts = [str(choice) for choice in choices]
        nearest = Spellings(texts).find_nearest(fault.value) or ""
        edits: tuple[tuple[Span, str], ...] = ()
        if nearest and len(fault.words) > 1 and fault.words[-1].span.text == fault.value:
            edits = ((fault.words[-1].span, nearest),)
        values = {"flag": fault.flag, "value": fault.value, "choices": texts, "nearest": nearest}
        shown = ", ".join(texts[:CHOICES_SHOWN]) + (", ..." if len(texts) > CHOICES_SHOWN else "")
        values["hint"] = f"did you mean {nearest}? It takes {shown}" if nearest else f"take one of {shown}"
        return self.remark("wrong-choice", fault.words, dict(values), edits)

    def write_extra(self, fault: Fault) -> Remark:
        """Words that no flag takes."""
        if fault.wanted == "separator":
            values: dict[str, object] = {"word": "--", "flag": "", "count": len(fault.words)}
            return self.remark("extra-word", fault.words[:1], values | {"hint": "take it out"})
        extra = fault.words[1:] if fault.flag else fault.words
        word, text = extra[0], fault.value
        if text[:1] and text[0] in DASHES:
            plain = normalise("-" + text[1:])
            flag = plain if plain in self.table.flags else find_nearest(plain, self.table) or plain
            edits = ((word.span, flag),) if flag in self.table.flags else ()
            return self.remark("flag-with-wrong-dash", (word,), {"word": text, "flag": flag}, edits)
        if " " in text.strip() and text.lstrip().startswith("--"):
            return self.remark("flags-in-one-word", (word,), {"word": text})
        if re.fullmatch(r"\+{0,2}[A-Za-z_][\w.]*=\S*", text):
            return self.remark("key-value-word", (word,), {"word": text, "program": self.program})
        switch = fault.option is not None and not fault.option.takes_value
        kind = "value-for-switch" if switch and len(extra) == 1 and is_truth(text) else "extra-word"
        if kind == "value-for-switch":
            values = {"flag": fault.flag, "value": text}
            edits = (removal(word),) if truthy(text) and written(word) else ()
            return self.remark(kind, (word,), values, edits)
        values = {"word": text if text.strip() else repr(text), "flag": fault.flag, "count": len(extra)}
        return self.remark(kind, extra, values | {"hint": hint_extra(fault)})


def hint_removed(instead: str) -> str:
    return f"{instead} took its place" if instead else "take it out, or stay with a release that has it"


def hint_missing(fault: Fault) -> str:
    """Why the value may be missing."""
    if fault.value.startswith("-"):
        return f"the next word is {fault.value}: a value is missing between them"
    return "its value is missing; a variable that is empty here would do that"


def hint_type(text: str, option: Option | None) -> str:
    """What may have gone wrong with a value that is no number."""
    if text != text.strip("\"'") and len(text) > 2:
        return "the quotes reach the program as part of the value; take them out"
    if " " in text.strip():
        return "it reaches the program as one word; take the quotes around it away"
    if text == "":
        return "the value is empty; a variable that is empty here would do that"
    if text.endswith((",", ";")):
        return f"the {text[-1]} at its end is part of the value"
    if (
        option is not None
        and option.type == "int"
        and re.fullmatch(r"\d+(\.\d+)?[eE]\+?\d{1,2}|\d+\.0*", text)
    ):
        return f"write it out: {int(float(text))}"
    if text.startswith("$") or "{" in text:
        return "a variable was not replaced; single quotes around it would do that"
    return "give the value that the flag wants"


def hint_extra(fault: Fault) -> str:
    """Why a word may stand where no flag takes it."""
    if fault.option is not None and not fault.option.takes_value:
        return f"{fault.flag} takes no value; take the word out"
    if fault.flag:
        return f"{fault.flag} has its value already; a flag is missing in front of this word, or it is one too many"
    return "no flag stands in front of it"


def written(word: Word) -> bool:
    """Whether the word stands in a file as it reaches the program, so that an edit can replace it."""
    return word.span.resolve().text == word.text.value


def removal(word: Word) -> tuple[Span, str]:
    """The edit that takes a word out, with the blanks before it."""
    span = word.span.resolve()
    start, data = span.start, span.source.data
    while start > 0 and data[start - 1 : start] in (b" ", b"\t"):
        start -= 1
    return Span(span.source, start, span.end), ""


def index_of(release: str) -> int:
    return RELEASES.index(release) if release in RELEASES else len(RELEASES)


def is_numeric(option: Option | None) -> bool:
    return option is not None and option.type in NUMERIC and option.nargs is None


def is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def is_truth(text: str) -> bool:
    return text.lower() in ("true", "false", "yes", "no", "on", "off", "1", "0")


def truthy(text: str) -> bool:
    return text.lower() in ("true", "yes", "on", "1")


def is_slip(flag: str, nearest: str) -> bool:
    """Whether one letter, or only the way of writing it, sets a flag apart from a known one."""
    if normalise(flag) == normalise(nearest):
        return True
    return slips(flag, nearest, 1) <= 1 and not different_word(flag, nearest)


def different_word(flag: str, nearest: str) -> bool:
    """A letter can make another word: at the beginning of one, in a short one, or as a digit it is no slip."""
    parts, others = flag.split("-"), nearest.split("-")
    if len(parts) != len(others):
        return True
    first, second = next(pair for pair in zip(parts, others, strict=True) if pair[0] != pair[1])
    return len(first) < 4 or first[:1] != second[:1] or any(letter.isdigit() for letter in first + second)


def cover(words: tuple[Word, ...]) -> Span | None:
    """From the first word to the last where they stand together; else the first."""
    if not words:
        return None
    first, last = words[0].span.resolve(), words[-1].span.resolve()
    if first.source is last.source and last.end >= first.end:
        return Span(first.source, first.start, last.end)
    return first
