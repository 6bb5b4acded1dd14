"""Binds the words of a command line to the options of a table, as argparse would without abbreviations.

In: words and a table.  Out: `Parsed`: the value of every destination, the faults that argparse would stop at (all of
them, not only the first), and the unknown text that makes the line open.  A value that cannot be known, or that
argparse would refuse, makes its destination unknown.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from preflight.configuration.conversion import WrongValueError, convert
from preflight.configuration.model import Bound, Value
from preflight.configuration.tokens import Token, sort_words
from preflight.execution import Word
from preflight.record import NamedTuple
from preflight.targets.table import Option, Table
from preflight.values import Unknown


class Fault(NamedTuple):
    """Something that argparse refuses, or (`repeated`) takes without a word.

    `kind`: unknown, missing, extra, type, choice, explicit, exclusive, required, help, repeated.  `words` are where it
    stands, the flag first.  `value` is the text that is wrong, `wanted` what would be right, `others` earlier words.
    """

    kind: str
    flag: str
    words: tuple[Word, ...]
    option: Option | None = None
    value: str = ""
    wanted: str = ""
    others: tuple[Word, ...] = ()


class Parsed(NamedTuple):
    """What a parser makes of a command line: `given` are the destinations that flags set.

    `openings` are words of unknown text that may hold further flags.
    """

    given: dict[str, Bound]
    faults: tuple[Fault, ...]
    openings: tuple[Word, ...]
    flags: tuple[str, ...]


class Line:
    """The work in progress.

    `doubtful` says that unknown text among the values may hold further flags; `hungry`, that what was read last may
    take a further word.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.given: dict[str, Bound] = {}
        self.faults: list[Fault] = []
        self.openings: list[Word] = []
        self.flags: list[str] = []
        self.groups: dict[int, Token] = {}
        self.doubtful = False
        self.hungry = False

    def fault(self, kind: str, token: Token, *words: Word, value: str = "", wanted: str = "") -> None:
        self.faults.append(Fault(kind, token.flag, (token.word, *words), token.option, value, wanted))


def parse_words(words: Iterable[Word], table: Table) -> Parsed:
    """Bind a command line."""
    line = Line(table)
    tokens = sort_words(words, table)
    at = 0
    while at < len(tokens):
        token = tokens[at]
        end = at + 1
        if token.kind == "separator":
            end = len(tokens)
            line.faults.append(
                Fault("extra", "", tuple(later.word for later in tokens[at:]), value="--", wanted="separator")
            )
        elif token.kind == "option":
            end = find_end(tokens, end)
            bind_option(line, token, tokens[at + 1 : end], tokens[end] if end < len(tokens) else None)
        else:
            end = find_end(tokens, end)
            judge_extras(line, None, tokens[at:end])
            line.hungry = any(value.may_be_option for value in tokens[at:end])
        at = end
    if not line.openings and not line.doubtful:
        for option in table.options:
            if option.required and option.destination not in line.given:
                line.faults.append(Fault("required", option.strings[0], (), option))
    return Parsed(line.given, tuple(line.faults), tuple(line.openings), tuple(line.flags))


def find_end(tokens: list[Token], start: int) -> int:
    """Where the run of values that begins at `start` ends."""
    while start < len(tokens) and tokens[start].kind in ("value", "many"):
        start += 1
    return start


def bind_option(line: Line, token: Token, run: list[Token], following: Token | None) -> None:
    """Give an option its values out of the run of words behind it."""
    option = token.option
    if option is None:
        bind_stranger(line, token, run)
        return
    line.flags.append(token.flag)
    if option.group is not None:
        check_group(line, token, option)
    least, most = count_wanted(option) if token.explicit is None else (0, 0)
    sure = count_sure(run, least)
    line.hungry = sure < len(run) or len(run) < most
    line.doubtful |= sure < len(run)
    if not option.takes_value:
        bind_switch(line, token, option)
        judge_extras(line, token, run)
        return
    if token.explicit is not None:
        bind_explicit(line, token, option)
        judge_extras(line, token, run)
        return
    words = [value.word for value in run]
    if len(run) < least and not any(value.kind == "many" for value in run):
        miss_values(line, token, option, words, following)
        return
    count = min(len(run), most)
    bind_values(line, token, option, words[:count], sure)
    judge_extras(line, token, run[count:], after_doubt=sure < count)


def bind_stranger(line: Line, token: Token, run: list[Token]) -> None:
    """An option that the table does not know; it may be a value of the one before it."""
    taken = line.hungry and token.may_be_value
    if token.vague:
        line.openings.append(token.word)
    elif not taken:
        line.flags.append(token.flag)
        line.fault("unknown", token, *(value.word for value in run[:1] if value.kind == "value"))
    line.openings += [value.word for value in run if value.kind == "many"]
    line.hungry = taken or token.vague or any(value.may_be_option for value in run)


def count_wanted(option: Option) -> tuple[int, int]:
    """How many values an option takes at least and at most."""
    if not option.takes_value:
        return 0, 0
    match option.nargs:
        case None:
            return 1, 1
        case "?":
            return 0, 1
        case "+":
            return 1, sys.maxsize
        case int(number):
            return number, number
    return 0, sys.maxsize


def count_sure(run: list[Token], least: int) -> int:
    """How many words stand for sure where they seem to.

    Behind text of unknown length none does, nor behind a word that may be a flag of its own; where the option cannot
    do without that word, a flag in its place is refused anyway.
    """
    for index, value in enumerate(run):
        if value.kind == "many" or (index >= least and value.may_be_option):
            return index
    return len(run)


def miss_values(line: Line, token: Token, option: Option, words: list[Word], following: Token | None) -> None:
    """An option with too few values, unless unknown text makes one of what follows."""
    if following is not None and following.may_be_value:
        store(line, token, option, words, following.word.text.unknowns[0])
        return
    after = following.word.text.display() if following is not None else ""
    line.fault("missing", token, *words, value=after, wanted=describe_count(option))
    store(line, token, option, words, refused(token.flag))


def describe_count(option: Option) -> str:
    """How many values an option wants, in words."""
    if option.nargs is None:
        return "a value"
    if option.nargs == "+":
        return "at least one value"
    return f"{option.nargs} values"


def judge_extras(line: Line, token: Token | None, run: list[Token], *, after_doubt: bool = False) -> None:
    """Words that no option takes: faults, unless unknown text that may hold a flag stands before them."""
    wrong: list[Word] = []
    for value in run:
        if value.kind == "many" or value.word.text.value is None:
            line.openings.append(value.word)
            after_doubt = True
        elif not after_doubt:
            wrong.append(value.word)
    if wrong:
        flag = token.flag if token else ""
        words = (token.word, *wrong) if token else tuple(wrong)
        text = wrong[0].text.display()
        line.faults.append(Fault("extra", flag, words, token.option if token else None, text))


def bind_switch(line: Line, token: Token, option: Option) -> None:
    """An option without a value."""
    if token.explicit is not None:
        line.fault("explicit", token, value=token.explicit.display())
        store(line, token, option, [], refused(token.flag))
        return
    match option.action:
        case "store_true":
            store(line, token, option, [], True)
        case "store_false":
            store(line, token, option, [], False)
        case "boolean":
            store(line, token, option, [], not token.flag.startswith("--no-"))
        case "store_const":
            store(line, token, option, [], option.const)
        case "append_const":
            append(line, token, option, [], (option.const,))
        case "count":
            earlier = line.given.get(option.destination)
            number = earlier.value if earlier and isinstance(earlier.value, int) else option.default
            store(line, token, option, [], (number if isinstance(number, int) else 0) + 1, quiet=True)
        case _:
            line.fault("help", token)


def bind_explicit(line: Line, token: Token, option: Option) -> None:
    """`--flag=value`: always one value."""
    assert token.explicit is not None
    if isinstance(option.nargs, int) and option.nargs != 1:
        line.fault("missing", token, wanted=describe_count(option))
        store(line, token, option, [], refused(token.flag))
        return
    value = read_value(line, token, option, Word(token.explicit, token.word.span))
    listed = option.nargs not in (None, "?")
    put(line, token, option, [], (value,) if listed and not isinstance(value, Unknown) else value)


def bind_values(line: Line, token: Token, option: Option, words: list[Word], sure: int) -> None:
    """`--flag value ...`; what stands behind the `sure` words and the unknown one after them is not judged."""
    if option.nargs is None and len(words) == 1:
        put(line, token, option, words, read_value(line, token, option, words[0]))
        return
    if option.nargs == "?":
        put(line, token, option, words, read_value(line, token, option, words[0]) if words else option.const)
        return
    values: list[Value] = []
    missing: Unknown | None = None
    for word in words[: sure + 1]:
        value = read_value(line, token, option, word)
        if isinstance(value, Unknown):
            missing = missing or value
        else:
            values.append(value)
    put(line, token, option, words, missing or tuple(values))


def read_value(line: Line, token: Token, option: Option, word: Word) -> Value | Unknown:
    """The value of one word; a fault where the option refuses it."""
    text = word.text.value
    if text is None:
        return word.text.unknowns[0]
    if word.many:
        return Unknown("rest", text)
    try:
        converted = convert(option, text)
    except WrongValueError as error:
        kind = "choice" if str(error) == "choice" or option.type == "enum" else "type"
        line.fault(kind, token, word, value=text, wanted=str(error))
        return refused(text)
    return converted.value if converted.known else Unknown("program", text)


def refused(text: str) -> Unknown:
    """What stands for a value that the parser stops at."""
    return Unknown("program", text)


def put(line: Line, token: Token, option: Option, words: list[Word], value: Value | Unknown) -> None:
    """Store or append, as the action says."""
    if option.action == "store":
        store(line, token, option, words, value)
    elif isinstance(value, Unknown):
        store(line, token, option, words, value, quiet=True)
    else:
        spread = option.action == "extend" and isinstance(value, tuple)
        append(line, token, option, words, value if spread and isinstance(value, tuple) else (value,))


def append(line: Line, token: Token, option: Option, words: list[Word], values: tuple[Value, ...]) -> None:
    earlier = line.given.get(option.destination)
    if earlier is not None and earlier.unknown is not None:
        return
    before = earlier.value if earlier is not None else option.default
    start = before if isinstance(before, tuple) else ()
    store(line, token, option, words, start + values, quiet=True)


def store(
    line: Line,
    token: Token,
    option: Option,
    words: list[Word],
    value: Value | Unknown,
    *,
    quiet: bool = False,
) -> None:
    """Set a destination; the last flag wins, which is remarked where it changes the value."""
    unknown = value if isinstance(value, Unknown) else None
    texts = [token.word.text, *[word.text for word in words]]
    told = [assumption for text in texts for assumption in text.assumptions]
    bound = Bound(
        option.destination,
        None if isinstance(value, Unknown) else value,
        "flag",
        unknown,
        (token.word, *words),
        tuple(dict.fromkeys(told)) if told else (),
    )
    earlier = line.given.get(option.destination)
    if (
        earlier is not None
        and not quiet
        and not unknown
        and not earlier.unknown
        and earlier.value != bound.value
    ):
        line.faults.append(
            Fault(
                "repeated",
                token.flag,
                bound.words,
                option,
                show(bound.value),
                show(earlier.value),
                earlier.words,
            )
        )
    line.given[option.destination] = bound


def show(value: Value) -> str:
    """A value as one would write it on a command line."""
    return " ".join(show(item) for item in value) if isinstance(value, tuple) else str(value)


def check_group(line: Line, token: Token, option: Option) -> None:
    """Options of one group exclude each other."""
    assert option.group is not None
    earlier = line.groups.setdefault(option.group, token)
    if earlier.option is not option:
        line.fault("exclusive", token, earlier.word, value=earlier.flag)


def default_of(option: Option) -> Bound:
    """What a destination is where no flag gives it."""
    return Bound(option.destination, convert_default(option), "default")


def convert_default(option: Option) -> Value:
    """A default given as text goes through the option's type, as argparse does it."""
    if not isinstance(option.default, str) or option.type not in ("int", "float"):
        return option.default
    try:
        return convert(option._replace(choices=None), option.default).value
    except WrongValueError:
        return option.default
