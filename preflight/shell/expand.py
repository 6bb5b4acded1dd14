"""Expansion of words: from tokens to the words that a command gets.

In: tokens, and the state they are expanded in.  Out: `Word`s or `Text`s.  Order and rules are bash's: braces,
tilde, parameters, substitutions and arithmetic, splitting by IFS, file names, removal of quotes.  An unknown
value stays unknown; unquoted and alone it may be any number of words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from preflight.execution import Word
from preflight.later import later
from preflight.shell import lookup
from preflight.shell.brace import TooManyError, expand_braces
from preflight.shell.fields import QUOTES, SPECIAL, Fields, Fragment, lone_word
from preflight.shell.lists import expand_indirect, expand_list, is_list
from preflight.shell.parts import Arithmetic, Literal, Open, Parameter, Part, Placeholder, Substitution, Token
from preflight.shell.pattern import Characters, is_pattern, match_files
from preflight.shell.pieces import EMPTY, forget, rewrite, route, slice_text
from preflight.shell.state import Element, State
from preflight.shell.stop import StopError
from preflight.source import Span
from preflight.values import Assumption, Piece, Text, Unknown, read_piece

TYPE_CHECKING = False
if TYPE_CHECKING:
    from preflight.shell.evaluate import Evaluator
    from preflight.shell.syntax import Syntax


MAXIMUM_LENGTH = 300_000
MAXIMUM_PIECES = 3_000


class Expansion:
    """Expands words of one source in one state."""

    def __init__(self, evaluator: Evaluator, syntax: Syntax, state: State) -> None:
        self.evaluator = evaluator
        self.syntax = syntax
        self.source = syntax.source
        self.state = state
        self.routing = False

    # What the other modules of expansion do, within reach of whoever holds one.
    arithmetic = later("preflight.shell.numbers", "expand_arithmetic")
    compute = later("preflight.shell.numbers", "compute")
    calculate = later("preflight.shell.numbers", "calculate")

    # ---------------------------------------------------------------- whole words

    def words(self, tokens: Iterable[Token]) -> list[Word]:
        """The words of a command line."""
        out: list[Word] = []
        for token in tokens:
            plain = token.plain
            if plain is not None and (plain == "[" or not SPECIAL.search(plain)):
                piece = read_piece(plain, self.source, token.start, token.end)
                out.append(Word(Text((piece,)), piece.span))
                continue
            try:
                variants = expand_braces(token.parts)
            except TooManyError:
                span = Span(self.source, token.start, token.end)
                out.append(Word(Text.missing(Unknown("branches", span.text[:200]), span), span, True))
                continue
            for parts in variants:
                out.extend(self._fields(Token(token.start, token.end, parts)))
        return out

    def single(self, token: Token, *, assignment: bool = False, flatten: bool = False) -> Text:
        """A word that is not split: the value of an assignment, a file name, a here-string."""
        plain = token.plain
        if plain is not None and "~" not in plain:
            return Text((read_piece(plain, self.source, token.start, token.end),))
        routing, self.routing = self.routing, True
        fragments = self._fragments(token, assignment=assignment)
        self.routing = routing
        pieces: list[Piece] = []
        separator = self.separator() if flatten else " "
        for fragment in fragments:
            if fragment.kind == "break":
                if separator:
                    pieces.append(Piece(separator, Span(self.source, token.start, token.end)))
            else:
                pieces += fragment.pieces
        if len(pieces) < MAXIMUM_PIECES:
            return Text(pieces)
        return self._coarse(pieces, Span(self.source, token.start, token.end))

    def _coarse(self, pieces: list[Piece], span: Span) -> Text:
        """A text of very many pieces as one piece; unknown where it is too long."""
        size = sum(len(piece.text) for piece in pieces)
        if size > MAXIMUM_LENGTH or any(piece.unknown is not None for piece in pieces):
            return Text.missing(Unknown("branches", span.text[:200]), span)
        assumptions = tuple(dict.fromkeys(a for piece in pieces for a in piece.assumptions))
        return Text((Piece("".join(piece.text for piece in pieces), span, None, (), assumptions),))

    def pattern(self, token: Token) -> tuple[Characters | None, Text]:
        """A word as a pattern: its characters, each stretch quoted or not; None where unknown."""
        fragments = self._fragments(token)
        stretches: list[tuple[str, bool]] = []
        pieces: list[Piece] = []
        known = True
        for fragment in fragments:
            if fragment.kind == "break":
                stretches.append((" ", True))
            for piece in fragment.pieces:
                pieces.append(piece)
                known = known and piece.unknown is None
                if piece.text:
                    stretches.append((piece.text, fragment.quoted))
        return (tuple(stretches) if known else None), Text(pieces)

    def document(self, start: int, end: int, *, stripped: bool, literal: bool) -> Text:
        """The text of a here-document."""
        out: list[Text] = []
        data = self.source.data
        ranges = [(start, end)]
        if stripped:
            ranges = []
            at = start
            while at < end:
                newline = data.find(b"\n", at, end)
                stop = end if newline < 0 else newline + 1
                while at < stop and data[at] == 0x09:
                    at += 1
                ranges.append((at, stop))
                at = stop
        for low, high in ranges:
            parts: list[Part] = []
            if literal:
                self.syntax.lexer.literal(low, high, True, parts)
            else:
                self.syntax.lexer.quoted(low, high, parts, document=True)
            out.append(self.single(Token(low, high, tuple(parts)), flatten=True))
        return EMPTY.joined(*out)

    def separator(self) -> str:
        variable = self.state.variables.get("IFS")
        if variable is None or variable.scalar is None:
            return " "
        value = variable.scalar.value
        return " " if value is None else value[:1]

    # ---------------------------------------------------------------- fields

    def _fields(self, token: Token) -> list[Word]:
        use = Span(self.source, token.start, token.end)
        whole = self._whole_list(token)
        if whole is not None:
            return [Word(item.text, item.span, item.many) for item in whole]
        fragments = self._fragments(token)
        separators = self._separators()
        if len(fragments) == 1:
            word = lone_word(fragments[0], separators, use)
            if word is not None:
                return [word]
        fields = Fields(separators, use)
        for fragment in fragments:
            fields.add(fragment)
        out: list[Word] = []
        for word, quoting in fields.finish():
            if quoting is not None and "f" not in self.state.options and word.text.known:
                out.extend(self._paths(word, quoting))
            else:
                out.append(word)
        if fields.fell and len(out) > 1:
            self.evaluator.remarks.note_split(self.state, token, self.source, out)
        return out

    def _whole_list(self, token: Token) -> list[Element] | None:
        """The elements of a word that is nothing but `"$@"` or `"${a[@]}"`."""
        if len(token.parts) != 2:
            return None
        mark, part = token.parts
        if not isinstance(mark, Open) or not isinstance(part, Parameter) or part.operator or part.prefix:
            return None
        if not is_list(part, self, b"@") or (mark.start, mark.end) != (token.start, token.end):
            return None
        if part.start != token.start + 1 or part.end != token.end - 1:
            return None
        if part.subscript is not None and part.name not in self.state.variables:
            return None
        return lookup.elements(self, part.name)

    def _separators(self) -> str:
        variable = self.state.variables.get("IFS")
        if variable is None or variable.scalar is None:
            return " \t\n"
        value = variable.scalar.value
        return " \t\n" if value is None else value

    def _paths(self, word: Word, quoting: Characters) -> list[Word]:
        """File names that a pattern stands for; the pattern itself where nothing matches."""
        extended = "extglob" in self.state.options
        if not is_pattern(quoting, extended):
            return [word]
        directory = self.state.directory.value if self.state.directory is not None else None
        text = "".join(stretch for stretch, _ in quoting)
        found = None
        if len(text) < 2000 and (directory is not None or text.startswith("/")):
            found = match_files(quoting, directory, self.evaluator.context.files, extended=extended)
        if found is None and directory is None and text[:1] in "'\"([" and "/" not in text:
            return [word]
        if found is None:
            unknown = Unknown("file", text)
            return [Word(Text.missing(unknown, word.span), word.span, True)]
        if not found:
            return [] if "nullglob" in self.state.options else [word]
        return [Word(rewrite(path, word.text, word.span), word.span) for path in found]

    def _fragments(self, token: Token, *, assignment: bool = False) -> list[Fragment]:
        out: list[Fragment] = []
        parts = token.parts
        for number, part in enumerate(parts):
            if isinstance(part, Literal):
                tilde = not part.quoted and "~" in part.text
                if tilde and (number == 0 or assignment):
                    self._tilde(part, number == 0, assignment, out)
                else:
                    piece = read_piece(part.text, self.source, part.start, part.end)
                    out.append(Fragment((piece,), part.quoted))
            elif isinstance(part, Open):
                if not self._only_lists(part, parts, number):
                    out.append(QUOTES)
            elif isinstance(part, Parameter):
                out.extend(self.parameter(part))
            elif isinstance(part, Placeholder):
                out.append(Fragment((part.piece,), part.quoted, not part.quoted))
            elif isinstance(part, Arithmetic):
                text = self.arithmetic(part)
                out.append(Fragment(text.pieces))
            else:
                out.extend(self._substitution(part))
        return out

    def _only_lists(self, mark: Open, parts: tuple[Part, ...], number: int) -> bool:
        """Whether the quotes hold nothing but `$@` and its like, which may be no word at all."""
        found = False
        for at in range(number + 1, len(parts)):
            part = parts[at]
            if part.start >= mark.end:
                break
            if not isinstance(part, Parameter) or not is_list(part, self, b"@"):
                return False
            if part.operator in (":-", "-", ":=", "="):
                return False
            found = True
        return found

    def _tilde(self, part: Literal, first: bool, assignment: bool, out: list[Fragment]) -> None:
        span = Span(self.source, part.start, part.end)
        named = re.match(r"[A-Za-z_]\w*\+?=", part.text) if first and not assignment else None
        if named:
            out.append(Fragment((Piece(named[0], span),), False))
            part, assignment = part._replace(text=part.text[named.end() :]), True
        segments = part.text.split(":") if assignment else [part.text]
        for index, segment in enumerate(segments):
            if index:
                out.append(Fragment((Piece(":", span),), False))
            if segment.startswith("~") and (first or index) and re.fullmatch(r"~(/.*)?", segment, re.S):
                home, _ = lookup.read(self, "HOME", "~", span)
                text = home if home is not None else Text.missing(Unknown("node", "~"), span)
                out.append(Fragment(text.pieces))
                segment = segment[1:]
            elif segment.startswith("~") and (first or index) and re.match(r"~[+\-\w]", segment):
                out.append(Fragment((Piece(segment, span, Unknown("node", segment)),)))
                continue
            if segment:
                out.append(Fragment((Piece(segment, span),), False))

    def _substitution(self, part: Substitution) -> list[Fragment]:
        span = Span(self.source, part.start, part.end)
        if part.kind in "<>":
            self.evaluator.capture(self, part)
            return [Fragment((Piece(span.text, span, Unknown("command", span.text)),))]
        return self.made(part, self.evaluator.capture(self, part))

    # ---------------------------------------------------------------- parameters

    def parameter(self, part: Parameter) -> list[Fragment]:
        """What `$name` or `${...}` stands for."""
        span = Span(self.source, part.start, part.end)
        if not part.operator and not part.prefix and part.subscript is None:
            variable = self.state.variables.get(part.name)
            if variable is not None and isinstance(variable.value, Text) and not variable.reference:
                stored = self._routed(variable.value, part.name, span)
                return [Fragment(stored.pieces, part.quoted, not part.quoted)]
        shown = span.text
        if part.prefix == "!":
            return expand_indirect(self, part, shown, span)
        if is_list(part, self):
            return expand_list(self, part, shown, span)
        if part.subscript is not None:
            key = self.subscript(part.subscript)
            text, absent = lookup.read_element(self, part.name, key, shown, span), False
            if text is None and part.prefix == "":
                text, absent = lookup.read_absent_element(self, part.name, shown, span)
        else:
            text, absent = lookup.read(self, part.name, shown, span)
        if part.prefix == "#":
            if text is None and self._is_before_start(part):
                raise StopError("discard")
            return self._length(text, shown, span)
        if not part.operator:
            if text is None:
                if "u" in self.state.options and not self.state.guarded:
                    raise StopError("exit")
                self.evaluator.remarks.note_unset(part, self.source, certain=True)
                return []
            if absent:
                self.evaluator.remarks.note_unset(part, self.source, certain=False)
            text = self._routed(text, part.name, span)
            numeric = part.name in ("#", "?")
            return [Fragment(text.pieces, part.quoted or numeric, not (part.quoted or numeric))]
        if part.operator.lstrip(":") in ("-", "=", "?", "+") and part.operator != ":":
            return self._default(part, text, absent, shown, span)
        if text is None:
            if "u" in self.state.options:
                raise StopError("exit")
            return []
        changed = self.change(part, text, shown, span)
        return self.made(part, self._routed(changed, part.name, span))

    def _is_before_start(self, part: Parameter) -> bool:
        """A negative subscript of an array that has no such element, which bash refuses."""
        variable = self.state.variables.get(part.name)
        if part.subscript is None or variable is None or not isinstance(variable.value, dict):
            return False
        return self.source.data[slice(*part.subscript)].lstrip().startswith(b"-")

    def _routed(self, text: Text, name: str, span: Span) -> Text:
        """On the way into another value, the use is part of the trail."""
        return route(text, name, span) if self.routing and name.isidentifier() else text

    def subscript(self, index: tuple[int, int]) -> Text:
        return self.single(self.syntax.lexer.argument(index[0], index[1], False))

    def argument_fragments(self, part: Parameter) -> list[Fragment]:
        assert part.argument is not None
        token = self.syntax.lexer.argument(*part.argument, part.quoted)
        tilde = bool(token.parts) and isinstance(token.parts[0], Literal)
        fragments = self._fragments(token) if tilde or token.parts else []
        if part.quoted:
            return [f._replace(quoted=True, split=False) for f in fragments]
        return [f._replace(split=True) if not f.quoted and f.kind == "text" else f for f in fragments]

    def _default(
        self, part: Parameter, text: Text | None, absent: bool, shown: str, span: Span
    ) -> list[Fragment]:
        kind = part.operator[-1]
        null = self._is_null(part, text, absent)
        if kind == "+":
            if null is None:
                assert text is not None
                return self.made(part, forget((text,), shown, span))
            return [] if null else self.argument_fragments(part)
        if null is False:
            assert text is not None
            return self.made(part, self._routed(text, part.name, span))
        if kind == "?":
            if null:
                raise StopError("exit")
            assert text is not None
            self.state.facts["empty", text.unknowns[:1]] = False
            return self.made(part, text)
        if null is None:
            assert text is not None
            strict = self.evaluator.context.strict_environment
            if not absent or strict:
                name = text.unknowns[0].name if text.unknowns else None
                reason = text.unknowns[0].reason if text.unknowns else "environment"
                return self.made(part, Text.missing(Unknown(reason, shown, name), span))
        fragments = self.argument_fragments(part)
        value = Text(piece for fragment in fragments for piece in fragment.pieces)
        if null is None:
            assumption = Assumption(part.name, value.display(), self._argument_span(part))
            fragments = _with_assumption(fragments, assumption, self._argument_span(part), part.quoted)
            value = Text(piece for fragment in fragments for piece in fragment.pieces)
        if kind == "=":
            key = self.subscript(part.subscript) if part.subscript is not None else None
            lookup.assign(self, part.name, key, value, span)
        return fragments

    def _argument_span(self, part: Parameter) -> Span:
        assert part.argument is not None
        low, high = part.argument
        return Span(self.source, low, high) if high > low else Span(self.source, part.start, part.end)

    def _is_null(self, part: Parameter, text: Text | None, absent: bool) -> bool | None:
        """Whether the default applies; None where that is not known."""
        if text is None:
            return True
        colon = len(part.operator) == 2
        if text.known:
            return colon and text.value == ""
        if any(piece.unknown is None and piece.text for piece in text.pieces):
            return False
        if self.state.facts.get(("empty", text.unknowns[:1])) is False:
            return False
        return None if absent or colon else False

    def made(self, part: Parameter | Substitution, text: Text) -> list[Fragment]:
        return [Fragment(text.pieces, part.quoted, not part.quoted)]

    def _length(self, text: Text | None, shown: str, span: Span) -> list[Fragment]:
        if text is None:
            return [Fragment((Piece("0", span),))]
        value = text.value
        made = forget((text,), shown, span) if value is None else rewrite(str(len(value)), text, span)
        return [Fragment(made.pieces)]

    def change(self, part: Parameter, text: Text, shown: str, span: Span) -> Text:
        from preflight.shell.parameters import change_letters, remove_affix, substitute, transform

        operator = part.operator
        assert part.argument is not None
        start, end = part.argument
        if operator in ("#", "##", "%", "%%"):
            pattern, _ = self.pattern(self.syntax.lexer.argument(start, end, False))
            return remove_affix(text, operator, pattern, shown, span)
        if operator in ("/", "//", "/#", "/%"):
            middle = self._slash(start, end, operator == "//" or operator == "/")
            pattern, _ = self.pattern(self.syntax.lexer.argument(start, middle, False))
            replacement = EMPTY
            if middle < end:
                replacement = self.single(self.syntax.lexer.argument(middle + 1, end, part.quoted))
            return substitute(text, operator, pattern, replacement, shown, span)
        if operator in ("^", "^^", ",", ",,"):
            pattern, _ = self.pattern(self.syntax.lexer.argument(start, end, False))
            return change_letters(text, operator, pattern, shown, span)
        if operator == "@":
            return transform(text, self.source.data[start:end].decode("latin-1"), shown, span)
        if operator == ":":
            return self.substring(text, start, end, shown, span)
        return forget((text,), shown, span)

    def _slash(self, at: int, end: int, some: bool) -> int:
        """The slash between pattern and replacement; `some`: the pattern is at least one character."""
        data = self.source.data
        begin = at
        while at < end:
            if data[at] == 0x2F and (at > begin or not some):
                return at
            at = self.syntax.lexer._skip(at, end)
        return min(at, end)

    def bounds(self, start: int, end: int) -> tuple[int | None, int | None, bool, list[Text]]:
        """Offset and length of a substring: (offset, length, whether a length was given)."""
        data, at, depth = self.source.data, start, 0
        while at < end:
            character = data[at]
            if character == 0x3A and not depth:
                break
            depth += {0x28: 1, 0x29: -1, 0x3F: 1}.get(character, 0)
            if character == 0x3A:
                depth -= 1
            at = self.syntax.lexer._skip(at, end)
        at = min(at, end)
        offset, used = self.compute(start, at)
        length, more = self.compute(at + 1, end) if at < end else (None, [])
        return offset, length, at < end, [*used, *more]

    def substring(self, text: Text, start: int, end: int, shown: str, span: Span) -> Text:
        offset, length, given, used = self.bounds(start, end)
        value = text.value
        if value is None or offset is None or (given and length is None):
            return forget((text, *used), shown, span)
        size = len(value)
        low = offset if offset >= 0 else size + offset
        if low < 0 or low > size:
            return EMPTY
        high = size if length is None else low + length if length >= 0 else size + length
        if high < low:
            raise StopError("discard")
        return slice_text(text, low, min(high, size))


def _with_assumption(
    fragments: list[Fragment], assumption: Assumption, span: Span, quoted: bool
) -> list[Fragment]:
    out, done = [], False
    for fragment in fragments:
        if fragment.pieces:
            pieces = [p._replace(assumptions=(*p.assumptions, assumption)) for p in fragment.pieces]
            fragment = fragment._replace(pieces=tuple(pieces))
            done = True
        out.append(fragment)
    if not done:
        out.append(Fragment((Piece("", span, None, (), (assumption,)),), quoted, not quoted))
    return out
