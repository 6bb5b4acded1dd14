"""Scripts inside scripts: text that a command hands to a shell, and sibling scripts that are called.

In: a value or a file, and the arguments it is called with.  Out: a source that a front-end can read, from which each
byte leads back to where it came from, and the way back for assumptions.  Arguments of unknown value stay unknown: they
are handed over as a `set --` in front of the text.
"""

from __future__ import annotations

from collections.abc import Mapping

from preflight.execution import CodeConfiguration, Context, Execution, Script, Word
from preflight.record import NamedTuple
from preflight.source import Files, Refusal, Source, Span
from preflight.values import Piece, Text, Unknown, derive_source, name_file

SCRIPT_ENDINGS = (".sh", ".bash", ".slurm", ".sbatch", ".pbs", ".job", ".sub", ".submit")


class Subscript(NamedTuple):
    """A script inside a script. `outer` are the pieces of its text by the byte at which each begins."""

    source: Source
    unknowns: Mapping[int, Piece]
    name: str | None
    outer: tuple[tuple[int, int, Piece], ...]

    def context(self, context: Context) -> Context:
        """The surroundings of the inner script: its own name, no arguments of the outer one."""
        arguments = {0: self.name} if self.name is not None else {0: "bash"}
        return context._replace(arguments=arguments, closed_arguments=True)

    @property
    def premises(self) -> tuple[tuple[Unknown | None, tuple[str, ...]], ...]:
        """What is unknown or assumed in it: `run.sh $A` and `run.sh $B` give the same bytes."""
        return tuple(
            (piece.unknown, tuple(assumption.name for assumption in piece.assumptions))
            for _, _, piece in self.outer
            if piece.unknown is not None or piece.assumptions
        )

    def restore(self, script: Script) -> Script:
        """Give back to the pieces of the result the assumptions and steps that plain text cannot carry."""
        if not any(piece.steps or piece.assumptions for _, _, piece in self.outer):
            return script
        cache: dict[int, Text] = {}
        return script._replace(
            executions=tuple(self._restore_execution(execution, cache) for execution in script.executions),
            configurations=tuple(
                self._restore_configuration(configuration, cache) for configuration in script.configurations
            ),
        )

    def _restore_execution(self, execution: Execution, cache: dict[int, Text]) -> Execution:
        return execution._replace(
            words=tuple(word._replace(text=self._restore_text(word.text, cache)) for word in execution.words),
            environment={
                name: self._restore_text(text, cache) if text is not None else None
                for name, text in execution.environment.items()
            },
        )

    def _restore_configuration(
        self, configuration: CodeConfiguration, cache: dict[int, Text]
    ) -> CodeConfiguration:
        return configuration._replace(
            settings={
                name: word._replace(text=self._restore_text(word.text, cache))
                for name, word in configuration.settings.items()
            }
        )

    def _restore_text(self, text: Text, cache: dict[int, Text]) -> Text:
        found = cache.get(id(text))
        if found is None:
            pieces = tuple(self._restore_piece(piece) for piece in text.pieces)
            found = text if pieces == text.pieces else Text(pieces)
            cache[id(text)] = found
        return found

    def _restore_piece(self, piece: Piece) -> Piece:
        if piece.span.source is not self.source or piece.unknown is not None:
            return piece
        start, end = piece.span.start, max(piece.span.end, piece.span.start + 1)
        over = [outer for low, high, outer in self.outer if low < end and high > start]
        steps = tuple(dict.fromkeys(step for outer in over for step in outer.steps))
        assumptions = tuple(dict.fromkeys(a for outer in over for a in outer.assumptions))
        if not steps and not assumptions:
            return piece
        return piece._replace(
            steps=(*steps, *piece.steps), assumptions=tuple(dict.fromkeys((*assumptions, *piece.assumptions)))
        )


def derive_script(text: Text | Source, arguments: tuple[Word, ...], path: str, name: str | None) -> Subscript:
    """A source for text or a file that is run with arguments."""
    if isinstance(text, Source):
        if not arguments:
            return Subscript(text, {}, name, ())
        whole = Piece(text.text, text.span(0, len(text.data)))
        # Bytes that are not UTF-8 would shift every place behind them.
        text = Text((whole,)) if whole.text.encode() == text.data else Text(_ascii_pieces(text))
    pieces = list(text.pieces)
    if arguments:
        at = arguments[0].span
        pieces = [*quote_arguments(arguments), Piece("\n", Span(at.source, at.start, at.start)), *pieces]
    source, unknowns = derive_source(Text(pieces), path)
    outer: list[tuple[int, int, Piece]] = []
    for (start, end, _), piece in zip(
        source.origins, [p for p in pieces if p.text or p.unknown], strict=False
    ):
        outer.append((start, end, piece))
    return Subscript(source, unknowns, name, tuple(outer))


def _ascii_pieces(source: Source) -> list[Piece]:
    cleaned = bytes(byte if byte < 128 else 0x3F for byte in source.data)
    return [Piece(cleaned.decode("ascii"), source.span(0, len(source.data)))]


def quote_arguments(arguments: tuple[Word, ...]) -> list[Piece]:
    """The arguments as a `set --` command, each value with its own origin."""
    origin = arguments[0].span
    nowhere = Span(origin.source, origin.start, origin.start)
    pieces = [Piece("set --", nowhere)]
    for word in arguments:
        span = Span(word.span.source, word.span.start, word.span.start)
        pieces.append(Piece(" ", span))
        for piece in word.text.pieces:
            if piece.unknown is not None:
                mark = "" if word.many else '"'
                pieces += [Piece(mark, span), piece, Piece(mark, span)] if mark else [piece]
                continue
            for index, part in enumerate(piece.text.split("'")):
                if index:
                    pieces.append(Piece('"\'"', span))
                part_piece = piece if part == piece.text else piece._replace(text=part)
                pieces += [Piece("'", span), part_piece, Piece("'", span)]
        if not word.text.pieces:
            pieces.append(Piece("''", span))
    return [piece for piece in pieces if piece.text or piece.unknown is not None]


def join_words(words: tuple[Word, ...]) -> Text:
    """Words joined by blanks, as ssh and eval join them."""
    pieces: list[Piece] = []
    for word in words:
        if pieces:
            pieces.append(Piece(" ", Span(word.span.source, word.span.start, word.span.start)))
        pieces.extend(word.text.pieces)
    return Text(pieces)


def find_written(word: Word, written: Mapping[str, Text], *, called: bool = False) -> Text | None:
    """The text of a file that the script wrote; one that is `called` by its path must look like a shell script."""
    path = name_file(word.text) if written else None
    text = written.get(path) if path is not None else None
    if path is None or text is None or not text.pieces:
        return None
    fits = not called or path.endswith(SCRIPT_ENDINGS) or is_shell_script(text.display()[:200].encode())
    return text if fits else None


def read_sibling(word: Word, directory: Text | None, files: Files) -> tuple[str, Source] | None:
    """The shell script that a command word names, where it can be found and read."""
    path = word.text.value
    if path is None or ("/" not in path and not path.endswith(SCRIPT_ENDINGS)):
        return None
    where = directory.value if directory is not None else None
    if directory is not None and where is None and not path.startswith("/"):
        return None
    real = files.locate(path, where)
    if isinstance(real, Refusal) or files.kind(path, where) != "file":
        return None
    source = files.read(path, where)
    if isinstance(source, Refusal):
        return None
    if not path.endswith(SCRIPT_ENDINGS) and not is_shell_script(source.data):
        return None
    return real, source


def is_shell_script(data: bytes) -> bool:
    """Whether the first line names a shell."""
    first = data[:200].split(b"\n", 1)[0]
    return first.startswith(b"#!") and first.rstrip().split(b"/")[-1].split(b" ")[-1].split(b"-")[0] in (
        b"bash",
        b"sh",
        b"dash",
        b"zsh",
    )
