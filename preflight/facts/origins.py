"""Where the values of flags and environment variables come from, in places and words.

In: a bound destination, or a launch and the name of a variable.  Out: the fact, its evidence from the use back to the
literal, its assumptions, and what blocks it.
"""

from __future__ import annotations

from preflight.configuration.model import Bound
from preflight.facts.model import Blocker, Evidence, Fact, Places
from preflight.launch.model import Launch
from preflight.source import Span
from preflight.values import Assumption, Piece, Text, Unknown


def describe_bound(bound: Bound) -> Fact:
    """The fact of a destination as the command line gives it."""
    destination, value, origin, unknown, words, assumptions = bound
    if not words:
        return describe_absent(bound)
    evidence = Places(lambda: _describe_words(bound))
    told = (*assumptions, *[a for word in words for a in word.text.assumptions])
    told = tuple(dict.fromkeys(told)) if told else ()
    if unknown is None:
        return Fact(destination, value, origin, evidence, told)
    return Fact(destination, None, origin, evidence, told, (Blocker(destination, unknown, bound.span),))


_absent: dict[int, tuple[Bound, Fact]] = {}
MAXIMUM_ABSENT = 8192


def describe_absent(bound: Bound) -> Fact:
    """The fact of a destination that no words give; kept, since lines of one kind share what is absent."""
    kept = _absent.get(id(bound))
    if kept is not None and kept[0] is bound:
        return kept[1]
    blocked = () if bound.unknown is None else (Blocker(bound.destination, bound.unknown),)
    value = None if blocked else bound.value
    fact = Fact(bound.destination, value, bound.origin, (), bound.assumptions, blocked)
    if len(_absent) >= MAXIMUM_ABSENT:
        _absent.clear()
    _absent[id(bound)] = (bound, fact)
    return fact


def describe_environment(launch: Launch, name: str) -> Fact:
    """`env_x` is the variable X as the ranks see it; absent from an open environment it is unknown."""
    variable = name.removeprefix("env_").upper()
    if variable in launch.environment:
        text = launch.environment[variable]
        if text is None:
            return Fact(name, None, "environment")
        return describe_text(name, text, "environment", f"{variable} is")
    if launch.closed_environment:
        return Fact(name, None, "environment")
    unknown = Unknown("environment", f"${variable}", variable)
    return Fact(name, None, "environment", blocked_by=(Blocker(name, unknown),))


def describe_text(name: str, text: Text, origin: str, lead: str) -> Fact:
    """A fact whose value is a text."""
    evidence = []
    if text.pieces:
        evidence.append(Evidence(text.pieces[0].span, f"{lead} {text.display()!r}"))
        evidence += _lead_back(text, None)
    blocked = tuple(
        Blocker(name, piece.unknown, piece.span) for piece in text.pieces if piece.unknown is not None
    )
    return Fact(name, text.value, origin, tuple(evidence), text.assumptions, blocked)


def _describe_words(bound: Bound) -> tuple[Evidence, ...]:
    use = bound.span
    if use is None:
        return ()
    values = bound.words[1:]
    shown = " ".join(word.text.display() for word in values)
    if not values:
        label = "set here"
    elif any(word.span.resolve().text.strip("'\"") != word.text.display() for word in values):
        label = f"resolves to {shown}"
    else:
        label = shown
    places = [Evidence(use, label)]
    for word in values:
        places += _lead_back(word.text, use)
    return tuple(dict.fromkeys(places))


def _lead_back(text: Text, use: Span | None) -> list[Evidence]:
    """From the use to the literal: the stations in reverse, then the place of the characters."""
    places: list[Evidence] = []
    for piece in text.pieces:
        places += [Evidence(step.span, step.text) for step in reversed(piece.steps)]
        literal = piece.span.resolve()
        if use is not None and not _holds(use, literal) and piece.unknown is None:
            places.append(Evidence(literal, _explain(piece, text.assumptions)))
    return places


def _explain(piece: Piece, assumptions: tuple[Assumption, ...]) -> str:
    for assumption in assumptions:
        span = assumption.span.resolve()
        if span.source is piece.span.resolve().source and span.start <= piece.span.resolve().start < max(
            span.end, span.start + 1
        ):
            return f"{piece.text} comes from this default"
    return f"{piece.text} comes from here"


def _holds(outer: Span, inner: Span) -> bool:
    return outer.source is inner.source and outer.start <= inner.start and inner.end <= outer.end
