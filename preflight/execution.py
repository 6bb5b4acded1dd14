"""What a front-end hands on: the commands that a script runs, and what its layout shows.

In: nothing; these are the records between the front-ends (shell, python) and the launch stage.  A front-end
knows nothing of launchers or of Megatron; it says which words are executed, in which environment, under
which branches.  What it noticed on the way (a flag orphaned by a missing backslash, an array that nothing
uses) it says as a neutral `Remark`, which rules turn into findings.
"""

from __future__ import annotations

from collections.abc import Mapping

from preflight.budget import Budget
from preflight.record import NamedTuple
from preflight.source import Files, Source, Span
from preflight.values import Text, Unknown


class Context(NamedTuple):
    """What the caller says about the surroundings of a script.

    `environment` replaces assumptions.  `closed_environment`: a variable that neither the script nor
    `environment` sets is known to be unset.  `strict_environment`: defaults (`${TP:-8}`) are not assumed.
    `arguments` are positional arguments by number (0 is the script as typed); `closed_arguments`: those not
    given are known to be unset.  `budget` is shared by all scripts that are followed from one file.
    """

    files: Files
    environment: Mapping[str, str] = {}
    closed_environment: bool = False
    strict_environment: bool = False
    arguments: Mapping[int, str] = {}
    closed_arguments: bool = False
    source_paths: tuple[str, ...] = ()
    budget: Budget | None = None


class Condition(NamedTuple):
    """A branch that had to be chosen: the test as written, and whether it is taken to hold."""

    span: Span
    text: str
    taken: bool


class Word(NamedTuple):
    """One word of a command line: its value and where it stands.

    `span` is the use: the word in the command (or the array element, or the stretch of a string that fell
    apart into it).  `many` says that the word is unknown text that can be any number of words (an unquoted
    `$EXTRA`, an unknown `"$@"`).
    """

    text: Text
    span: Span
    many: bool = False


class Execution(NamedTuple):
    """One simple command that a script runs.

    `environment`: exported variables as the command sees them, in the order of assignment (also those
    given in front of the command); None means known to be unset.  `variables`: those that are set but not
    exported.  `directory`: the working directory where known.  `standard_input`: a here-document or string.
    `background`: started with `&` or in a pipeline that is.  `handed_to`: the flags were handed to this function,
    which is not followed; then the words are `python`, an unknown program and the flags, and how many
    processes are started is not known.  `written`: of the files that the script itself wrote, those named here.
    `closed`: the environment is all that the command gets, so that a variable which is absent from it is unset.
    """

    words: tuple[Word, ...]
    span: Span
    environment: Mapping[str, Text | None]
    variables: Mapping[str, Text]
    directory: Text | None
    conditions: tuple[Condition, ...]
    standard_input: Text | None = None
    background: bool = False
    handed_to: str | None = None
    written: Mapping[str, Text] = {}
    closed: bool = False


class Related(NamedTuple):
    """A secondary place of a remark."""

    span: Span
    text: str


class Remark(NamedTuple):
    """Something that a stage noticed, without a judgement: a rule with `remark = kind` makes it a finding.

    `values` fill the rule's message; `edit` is a replacement that would mend it, with the safety it has.
    """

    kind: str
    span: Span
    values: Mapping[str, object]
    related: tuple[Related, ...] = ()
    edits: tuple[tuple[Span, str], ...] = ()
    conditions: tuple[Condition, ...] = ()


class CodeConfiguration(NamedTuple):
    """A configuration that Python code builds, such as `TransformerConfig(num_layers=4)`.

    `name` is the callee or the root of the assignments; `settings` maps a field's name to its text.  `open`
    says that parts of it could not be followed, so that an absent field is unknown.  `paths` says by the field's
    name how it is reached from the root (`model.num_layers`).  `strict`: the class is Megatron's own, which checks the
    fields as they are given; what others derive from it may adjust them first.  `changed`: fields of such an object
    were set after it was made, so that nothing checked them.  `plain`: the model is described by a class that adds no
    layout of its own to Megatron's, and checks its fields when the model is built.  `fields` has every field by the way
    it is reached, where `settings` has one of those that share a name.
    """

    name: str
    span: Span
    settings: Mapping[str, Word]
    open: tuple[Unknown, ...]
    conditions: tuple[Condition, ...]
    paths: Mapping[str, str] = {}
    strict: bool = False
    changed: bool = False
    plain: bool = False
    fields: Mapping[str, Word] = {}


class Script(NamedTuple):
    """What a front-end found in a source: one entry of `executions` for each command on each path.

    `truncated` holds an unknown where paths, loops or time ran out; then absent is not unknown any more.
    """

    source: Source
    executions: tuple[Execution, ...]
    remarks: tuple[Remark, ...] = ()
    configurations: tuple[CodeConfiguration, ...] = ()
    truncated: tuple[Unknown, ...] = ()
