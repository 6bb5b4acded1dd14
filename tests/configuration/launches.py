"""Launches for tests, made of words."""

from __future__ import annotations

from preflight.launch.model import Launch, Launcher, Number
from preflight.values import Text
from tests.configuration.words import make_words


def make_launch(
    argv: list[str], program: str = "pretrain_gpt.py", kind: str = "torchrun", directory: str | None = None
) -> Launch:
    """`torchrun program argv...`; words that begin with `$` are unknown, with `$*` any number of words."""
    words = make_words([kind, program, *argv])
    source = words[0].span.source
    nothing = Number(None, "launcher")
    return Launch(
        source,
        source.span(0, len(source.data)),
        Launcher(kind, nothing, nothing, nothing, {}, words[0].span),
        tuple(words),
        words[1],
        tuple(words[2:]),
        {},
        (),
        directory=Text.literal(directory, words[0].span) if directory else None,
    )
