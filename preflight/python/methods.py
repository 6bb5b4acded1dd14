"""Methods of strings, paths, lists, dictionaries, the environment and argument parsers.

In: a receiver, a method's name and the arguments.  Out: the value, or None for a method that is not modelled.
"""

from __future__ import annotations

import libcst as cst

from preflight.python import (
    attributes,
    expressions,
    formats,
    library,
    notations,
    operators,
    options,
    paths,
    patterns,
    runs,
    texts,
)
from preflight.python.objects import (
    Application,
    Arguments,
    Class,
    Element,
    Environment,
    External,
    Function,
    Mapping,
    Match,
    Missing,
    Origin,
    Parser,
    Scalar,
    Sequence,
    String,
    Value,
    key_of,
)
from preflight.python.scope import Frame, RaisedError
from preflight.source import Span
from preflight.values import PLACEHOLDER, Text, Unknown


def call(receiver: Value, name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    """What a method gives."""
    if isinstance(receiver, String):
        found = paths.call(receiver, name, given, node, frame) if receiver.path else None
        return found if found is not None else _string(receiver, name, given, node, frame)
    if isinstance(receiver, Sequence):
        return _sequence(receiver, name, given, node, frame)
    if isinstance(receiver, Mapping):
        return _mapping(receiver, name, given, node, frame)
    if isinstance(receiver, Environment):
        return _environment(name, given, node, frame)
    if isinstance(receiver, Match):
        return patterns.call(receiver, name, given)
    if isinstance(receiver, Parser):
        return _parser(receiver, name, given, node, frame)
    if isinstance(receiver, Application):
        return _application(receiver, name, given, node, frame)
    if isinstance(receiver, Class):
        return _class(receiver, name, given, node, frame)
    if isinstance(receiver, Missing) and name in ("strip", "lower", "upper", "lstrip", "rstrip"):
        return expressions.unknown(node, frame, receiver)
    return None


def _nothing(given: Arguments) -> Value:
    return Scalar(None, Origin(given.span))


def _plain(given: Arguments, position: int, name: str = "") -> str | None:
    value = given.get(name, position)
    return value.text.value if isinstance(value, String) else None


def _string(receiver: String, name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    text, span = receiver.text, given.span
    if name in ("strip", "lstrip", "rstrip"):
        characters = _plain(given, 0)
        if given.positional and characters is None and not isinstance(given.positional[0].value, Scalar):
            return None
        return String(texts.strip(text, characters, name != "rstrip", name != "lstrip"))
    if name in ("lower", "upper", "casefold", "title", "capitalize", "swapcase"):
        if text.known or name in ("lower", "upper"):
            if name in ("title", "capitalize"):
                whole = getattr(text.value, name)()
                return notations.made(whole, Origin(texts.extent(text, span)))
            return String(texts.convert(text, lambda s: str(getattr(s, name)())))
        return None
    if name in ("split", "rsplit", "splitlines", "partition", "rpartition"):
        return _split(receiver, name, given)
    if name == "join":
        return _join(receiver, given, node, frame)
    if name == "format":
        return _format(receiver, given, node, frame)
    if name == "replace":
        old, new = _plain(given, 0), given.get("", 1)
        limit = operators.integer(given.get("count", 2) or Scalar(-1, Origin(span)))
        if old is None or not isinstance(new, String) or limit is None:
            return None
        return String(texts.replace(text, old, new.text, limit))
    if name in ("startswith", "endswith"):
        return _affix(receiver, name, given)
    if name in ("removeprefix", "removesuffix"):
        affix = _plain(given, 0)
        shown = texts.mask(text)
        if affix is None or not text.known:
            return None
        if name == "removeprefix" and shown.startswith(affix):
            return String(texts.cut(text, len(affix), len(shown)))
        if name == "removesuffix" and affix and shown.endswith(affix):
            return String(texts.cut(text, 0, len(shown) - len(affix)))
        return receiver
    if name == "encode":
        return receiver
    if name in _PURE and text.value is not None:
        return _pure(text.value, name, given)
    return None


_PURE = frozenset(
    [
        "isdigit",
        "isdecimal",
        "isalpha",
        "isalnum",
        "isupper",
        "islower",
        "isspace",
        "isidentifier",
        "count",
        "find",
        "rfind",
        "index",
        "zfill",
        "ljust",
        "rjust",
        "center",
        "expandtabs",
    ]
)


def _pure(text: str, name: str, given: Arguments) -> Value | None:
    plain = [operators.plain(e.value) for e in given.positional]
    if any(isinstance(p, int) and p > 1000 for p in plain) or given.keywords:
        return None
    try:
        result = getattr(text, name)(*plain)
    except (TypeError, ValueError):
        return None
    return notations.made(result, Origin(given.span))


def _split(receiver: String, name: str, given: Arguments) -> Value | None:
    text, span = receiver.text, given.span
    if name == "splitlines":
        return Sequence("list", [_part(part, span, False) for part in texts.lines(text)])
    separator_value = given.get("sep", 0)
    separator = separator_value.text.value if isinstance(separator_value, String) else None
    if separator_value is not None and separator is None and not isinstance(separator_value, Scalar):
        return None
    if name in ("partition", "rpartition"):
        return _partition(text, separator, name, span)
    limit_value = given.get("maxsplit", 1)
    limit = operators.integer(limit_value) if limit_value is not None else -1
    if limit is None or separator == "":
        return None
    if name == "rsplit" and limit >= 0:
        shown = text.value
        if shown is None:
            return None
        pieces, at = [], 0
        for part in shown.rsplit(separator, limit):
            start = shown.find(part, at)
            pieces.append(_part(texts.cut(text, start, start + len(part)), span, False))
            at = start + len(part)
        return Sequence("list", pieces)
    return Sequence(
        "list", [_part(part, span, separator is None) for part in texts.split(text, separator, limit)]
    )


def _part(part: Text, span: Span, blanks: bool) -> Element:
    place = texts.extent(part, span)
    if not part.pieces:
        return Element(String(Text.literal("", Span(span.source, span.start, span.start))), span)
    first = part.pieces[0].unknown
    if first is not None and (texts.lone(part) or not blanks):
        return Element(Missing(first, Origin(place)), place, True)
    return Element(String(part), place, not blanks and not part.known)


def _partition(text: Text, separator: str | None, name: str, span: Span) -> Value | None:
    if not separator or not text.known:
        return None
    shown = texts.mask(text)
    at = shown.find(separator) if name == "partition" else shown.rfind(separator)
    edge = (
        ((len(shown), len(shown)) if name == "partition" else (0, 0)) if at < 0 else (at, at + len(separator))
    )
    cuts = [(0, edge[0]), edge, (edge[1], len(shown))]
    parts = [texts.cut(text, low, high) for low, high in cuts]
    filled = [p if p.pieces else Text.literal("", Span(span.source, span.start, span.start)) for p in parts]
    return Sequence("tuple", [Element(String(p), texts.extent(p, span)) for p in filled])


def _join(receiver: String, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    if not given.positional:
        return None
    parts: list[Text] = []
    for element in expressions.spread(given.positional[0].value, node, frame):
        text = runs.word_text(element.value, element.span)
        parts.append(text)
    return String(texts.join(receiver.text, parts))


def _format(receiver: String, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    if given.rest is not None:
        return None

    def look_up(value: Value, step: str) -> Value | None:
        if step.startswith("."):
            return attributes.get(value, step[1:], node, frame)
        index = step[1:-1]
        key: Value = String(Text.literal(index, given.span))
        if index.isdecimal() and not isinstance(value, Mapping):
            key = Scalar(int(index), Origin(given.span))
        return attributes.item(value, key, node, frame)

    keywords = {k: e.value for k, e in given.keywords.items()}
    return formats.replacement(
        receiver.text, [e.value for e in given.positional], keywords, given.span, look_up
    )


def _affix(receiver: String, name: str, given: Arguments) -> Value | None:
    value = given.get("", 0)
    wanted = operators.plain(value) if value is not None else None
    listed = wanted if isinstance(wanted, tuple) else (wanted,)
    shown = texts.mask(receiver.text)
    if not all(isinstance(w, str) for w in listed):
        return None
    found = any(getattr(shown, name)(w) for w in listed)
    if not found and not receiver.text.known:
        longest = max((len(w) for w in listed), default=0)
        edge = shown[:longest] if name == "startswith" else shown[max(len(shown) - longest, 0) :]
        if PLACEHOLDER in edge or len(edge) < longest:
            return None
    return Scalar(found, Origin(given.span, (), receiver.text.assumptions))


def _sequence(
    receiver: Sequence, name: str, given: Arguments, node: cst.CSTNode, frame: Frame
) -> Value | None:
    elements = receiver.elements
    if name in ("append", "add"):
        if given.positional:
            elements.append(given.positional[0])
            if receiver.kind == "set":
                elements[:] = operators.distinct(elements)
        return _nothing(given)
    if name in ("extend", "update"):
        for element in given.positional:
            elements.extend(expressions.spread(element.value, node, frame))
        if receiver.kind == "set":
            elements[:] = operators.distinct(elements)
        return _nothing(given)
    if name == "insert" and len(given.positional) == 2:
        position = operators.integer(given.positional[0].value)
        if position is None or (not receiver.closed and position != 0):
            elements[:] = [e._replace(rest=True) for e in (*elements, given.positional[1])]
        else:
            elements.insert(position, given.positional[1])
        return _nothing(given)
    if name == "copy":
        return Sequence(receiver.kind, list(elements))
    if name == "clear":
        elements.clear()
        return _nothing(given)
    if name in ("pop", "popleft"):
        return _pop(receiver, name, given)
    if name in ("remove", "discard"):
        return _remove(receiver, given)
    if name == "reverse":
        elements.reverse()
        return _nothing(given)
    if name == "sort":
        keys = [operators.plain(e.value) for e in elements]
        if any(k is None for k in keys) or given.keywords or not receiver.closed:
            elements[:] = [e._replace(rest=True) for e in elements]
        else:
            elements[:] = [elements[i] for i in sorted(range(len(keys)), key=lambda i: keys[i])]
        return _nothing(given)
    if name in ("index", "count") and given.positional:
        outcomes = [None if e.rest else operators.equal(e.value, given.positional[0].value) for e in elements]
        if None in outcomes:
            return None
        if name == "count":
            return Scalar(outcomes.count(True), Origin(given.span))
        if True in outcomes:
            return Scalar(outcomes.index(True), Origin(given.span))
        raise RaisedError("ValueError")
    if name in ("union", "difference", "intersection") and receiver.kind == "set":
        return None
    return None


def _pop(receiver: Sequence, name: str, given: Arguments) -> Value | None:
    position = 0 if name == "popleft" else -1
    if given.positional:
        found = operators.integer(given.positional[0].value)
        if found is None:
            receiver.elements[:] = [e._replace(rest=True) for e in receiver.elements]
            return None
        position = found
    if receiver.closed and receiver.kind != "set":
        if -len(receiver.elements) <= position < len(receiver.elements):
            return receiver.elements.pop(position).value
        raise RaisedError("IndexError")
    receiver.elements[:] = [e._replace(rest=True) for e in receiver.elements]
    return None


def _remove(receiver: Sequence, given: Arguments) -> Value | None:
    outcomes = [
        None if e.rest else operators.equal(e.value, given.positional[0].value) for e in receiver.elements
    ]
    if True in outcomes and None not in outcomes[: outcomes.index(True)]:
        del receiver.elements[outcomes.index(True)]
    elif None in outcomes:
        receiver.elements[:] = [
            e._replace(rest=True) if o is not False else e
            for e, o in zip(receiver.elements, outcomes, strict=True)
        ]
    return _nothing(given)


def _mapping(receiver: Mapping, name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    span = given.span
    if name in ("get", "pop", "setdefault"):
        return _lookup(receiver, name, given, node, frame)
    if name in ("keys", "values", "items"):
        found: list[Element] = []
        for key, value in receiver.entries.values():
            if name == "items":
                pair = [Element(key, span), Element(value, span)]
                found.append(Element(Sequence("tuple", pair), span))
            else:
                found.append(Element(key if name == "keys" else value, span))
        if receiver.rest is not None:
            found.append(Element(receiver.rest, span, True))
        return Sequence("list", found)
    if name == "update":
        for element in given.positional:
            value = element.value
            if isinstance(value, Environment):
                value = attributes.copy_environment(span, frame)
                receiver.outer = True
            if isinstance(value, Sequence):
                value = library.call("dict", given, node, frame) or value
            operators.merge(receiver, value, expressions.unknown(node, frame, value))
        for word, element in given.keywords.items():
            receiver.entries[word] = (String(Text.literal(word, span)), element.value)
        if given.keyword_rest is not None:
            receiver.rest = given.keyword_rest
        return _nothing(given)
    if name == "copy":
        result = Mapping(dict(receiver.entries), receiver.rest)
        result.outer, result.default = receiver.outer, receiver.default
        return result
    if name == "clear":
        receiver.entries.clear()
        receiver.rest = None
        return _nothing(given)
    return None


def _lookup(receiver: Mapping, name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    if not given.positional:
        return None
    index = given.positional[0].value
    default = given.get("default", 1)
    key = key_of(index)
    if key is None:
        return None
    if key in receiver.entries:
        value = receiver.entries[key][1]
        if name == "pop":
            attributes.remove_item(receiver, index, frame)
        return value
    fallback: Value = default if default is not None else Scalar(None, Origin(given.span))
    if receiver.outer and isinstance(key, str):
        value = frame.path.variable(key, default, given.span, frame.tree.shown(node))
        if name == "pop":
            attributes.remove_item(receiver, index, frame)
    elif receiver.rest is not None:
        return expressions.unknown(node, frame, receiver.rest)
    elif isinstance(index, External):
        return None
    else:
        if name == "pop" and default is None:
            raise RaisedError("KeyError")
        value = fallback
    if name == "setdefault":
        receiver.entries[key] = (index, value)
    return value


def _environment(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    path, span = frame.path, given.span
    if name in ("copy", "items", "keys", "values"):
        copied = attributes.copy_environment(span, frame)
        return copied if name == "copy" else _mapping(copied, name, given, node, frame)
    if name == "update":
        for element in given.positional:
            if isinstance(element.value, Mapping):
                for key, value in element.value.entries.values():
                    attributes.set_variable(key, value, span, frame)
        for word, element in given.keywords.items():
            attributes.set_variable(String(Text.literal(word, span)), element.value, element.span, frame)
        return _nothing(given)
    if name not in ("get", "pop", "setdefault") or not given.positional:
        return None
    index = given.positional[0].value
    variable = key_of(index)
    if not isinstance(variable, str):
        return None
    default = given.get("default", 1)
    if name == "setdefault" and default is not None:
        value = path.variable(variable, default, span, frame.tree.shown(node))
        attributes.set_variable(index, value, span, frame, certain=False)
        return value
    value = path.variable(variable, default, span, frame.tree.shown(node))
    if name == "pop":
        path.environment[variable] = None
    return value


def _parser(receiver: Parser, name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    if name == "add_argument":
        options.declare(receiver, given, frame)
        return _nothing(given)
    if name == "parse_args":
        return options.parse(receiver, given, node, frame)
    if name in ("parse_known_args", "parse_known_intermixed_args"):
        rest = Missing(Unknown("positional", "unknown arguments"), Origin(given.span))
        others = Sequence(
            "list", [] if frame.path.context.closed_arguments else [Element(rest, given.span, True)]
        )
        parsed = Element(options.parse(receiver, given, node, frame), given.span)
        return Sequence("tuple", [parsed, Element(others, given.span)])
    if name == "set_defaults":
        receiver.defaults.update({k: e.value for k, e in given.keywords.items()})
        return _nothing(given)
    if name in ("add_subparsers", "add_parser"):
        receiver.open = True
        return receiver
    if name in ("add_argument_group", "add_mutually_exclusive_group"):
        return receiver
    if name in ("print_help", "print_usage"):
        return _nothing(given)
    return None


def _application(
    receiver: Application, name: str, given: Arguments, node: cst.CSTNode, frame: Frame
) -> Value | None:
    if name in ("add_typer", "add_command") and given.positional:
        value = given.positional[0].value
        if isinstance(value, Application):
            receiver.commands.extend(value.commands)
        elif isinstance(value, Function):
            receiver.commands.append(value)
    return _nothing(given)


def _class(receiver: Class, name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    if receiver.enumeration and name == "__members__":
        return None
    if name in ("parse_args", "from_cli", "cli"):
        return options.command_instance(receiver, node, frame)
    return None
