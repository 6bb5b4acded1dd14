"""A command while its wrappers are peeled off, and what each wrapper does to the environment.

In: the words of an execution.  Out: `Command`, the state between two wrappers.  A variable that a wrapper does not
hand over disappears (it is unknown then, unless the surroundings are closed); what the wrapper's options set is there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from preflight.execution import Condition, Context, Execution, Remark, Word
from preflight.launch.model import Header, Layer
from preflight.launch.options import LONGEST_LIST, Given, Parsed, cut, known_prefix, split_text
from preflight.launch.programs import Wrapper
from preflight.launch.scheduler import complete_request, overlay, read_request
from preflight.patterns import pattern
from preflight.record import NamedTuple
from preflight.source import Span
from preflight.values import Piece, Step, Text, Unknown

Environment = Mapping[str, Text | None]

_ASSIGNMENT = pattern(r"([A-Za-z_]\w*)=")
TASK_VARIABLES = ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID")
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK", "PMIX_RANK")


class Command(NamedTuple):
    """What is left of a command line, and what is known about where it runs.

    `lost` are the variables of the script that a wrapper did not hand over, with the wrapper.  `repeated` says that
    several machines run it, each once or more, by ssh or a scheduler's task.
    """

    words: tuple[Word, ...]
    span: Span
    environment: Environment
    conditions: tuple[Condition, ...]
    directory: Text | None = None
    standard_input: Text | None = None
    layers: tuple[Layer, ...] = ()
    header: Header | None = None
    remarks: tuple[Remark, ...] = ()
    closed: bool = False
    lost: Mapping[str, tuple[Text, Layer]] = {}
    depth: int = 0
    handed_to: str | None = None
    written: Mapping[str, Text] = {}


def begin_command(execution: Execution, outer: Command | None, header: Header | None) -> Command:
    """The state before the first wrapper; `outer` is the command whose text or script this execution is part of."""
    if outer is None:
        return Command(
            execution.words,
            execution.span,
            execution.environment,
            execution.conditions,
            execution.directory,
            execution.standard_input,
            header=header,
            closed=execution.closed,
            handed_to=execution.handed_to,
            written=execution.written,
        )
    return outer._replace(
        words=execution.words,
        span=execution.span,
        environment=execution.environment,
        conditions=(*outer.conditions, *execution.conditions),
        directory=execution.directory or outer.directory,
        standard_input=execution.standard_input,
        header=header,
        closed=outer.closed or execution.closed,
        handed_to=execution.handed_to,
        written=execution.written,
        depth=outer.depth + 1,
        lost={k: v for k, v in outer.lost.items() if k not in execution.environment},
    )


def take_assignments(
    words: tuple[Word, ...], environment: Environment
) -> tuple[tuple[Word, ...], Environment]:
    """`NAME=VALUE` words in front of a command, as env and sudo read them."""
    changed = dict(environment)
    at = 0
    while at < len(words) and (match := _ASSIGNMENT.match(known_prefix(words[at].text))):
        changed.pop(match.group(1), None)
        changed[match.group(1)] = cut(words[at].text, match.end())
        at += 1
    return words[at:], changed


def pass_environment(command: Command, wrapper: Wrapper, parsed: Parsed, context: Context) -> Command:
    """What the inner command sees of the environment."""
    before = command.environment
    after: dict[str, Text | None] = dict(before)
    closed = command.closed
    kind = wrapper.kind
    layer = command.layers[-1]
    if kind in {"env", "exec", "apptainer"}:
        if parsed.every("ignore_environment", "clean"):
            after, closed = {}, True
        elif parsed.every("cleanenv", "containall"):
            after = {}
        for given in parsed.every("unset"):
            if given.values and given.values[0].value:
                after[given.values[0].value] = None
    elif kind == "sudo" and not parsed.every("preserve_env"):
        after = {}
    elif kind in {"srun", "sbatch"}:
        after = export_selected(parsed, before)
    elif kind == "ray":
        # A job sees what Ray was started with, which may be this environment or another.
        after = {
            name: Text.missing(Unknown("environment", f"${name}"), layer.span)
            for name, text in before.items()
            if text is not None
        }
    elif wrapper.passing == "drop" or drops_all(kind, parsed):
        after = {}
    after.update(read_assignments(kind, parsed, before))
    if kind == "srun" or (kind == "mpirun" and not parsed.every("none")):
        for name in TASK_VARIABLES if kind == "srun" else RANK_VARIABLES:
            if name not in context.environment:
                after[name] = Text.missing(Unknown("scheduler", f"${name}", name), layer.span)
    if kind == "srun":
        after.update(step_variables(command, context))
    lost = dict(command.lost)
    for name, text in before.items():
        if text is not None and after.get(name) is None and not name.startswith("SLURM_"):
            lost[name] = (text, layer)
    return command._replace(environment=after, closed=closed, lost=lost)


def drops_all(kind: str, parsed: Parsed) -> bool:
    """Whether options decide that nothing is handed over."""
    if kind == "mpirun":
        return bool(parsed.every("genvnone", "envnone"))
    return kind == "qsub" and not parsed.every("V")


def export_selected(parsed: Parsed, before: Environment) -> dict[str, Text | None]:
    """`--export` of srun and sbatch; without it, SLURM_EXPORT_ENV decides, which sbatch sets to its own choice."""
    given = parsed.every("export")
    inherited = before.get("SLURM_EXPORT_ENV")
    choice = given[-1].setting.text if given else inherited
    kept = {name: text for name, text in before.items() if name.startswith("SLURM_")}
    if choice is None:
        return dict(before)
    if not choice.known and not known_prefix(choice).upper().startswith(("ALL", "NONE")):
        return dict(before)
    items = split_text(choice, ",")
    heads = [known_prefix(item) for item in items]
    chosen: dict[str, Text | None] = dict(before) if any(head.upper() == "ALL" for head in heads) else kept
    for item, head in zip(items, heads, strict=True):
        name, equals, _ = head.partition("=")
        if equals:
            chosen[name] = cut(item, len(name) + 1)
        elif name in before:
            chosen[name] = before[name]
    return chosen


def step_variables(command: Command, context: Context) -> dict[str, Text | None]:
    """What srun tells its tasks about the step."""
    layer = command.layers[-1]
    job = read_request(command.header.options) if command.header is not None else read_request({})
    step = complete_request(overlay(complete_request(job), read_request(layer.options)))
    found: dict[str, Text | None] = {}
    for name, number in (
        ("SLURM_NTASKS", step.tasks),
        ("SLURM_NPROCS", step.tasks),
        ("SLURM_NNODES", step.nodes),
        ("SLURM_STEP_NUM_TASKS", step.tasks),
        ("SLURM_STEP_NUM_NODES", step.nodes),
    ):
        if name in context.environment:
            continue
        if number.value is not None and number.span is not None:
            note = Step(number.span, f"{name} follows from here")
            found[name] = Text((Piece(str(number.value), number.span, None, (note,)),))
    return found


def read_assignments(kind: str, parsed: Parsed, before: Environment) -> dict[str, Text | None]:
    """Variables that a wrapper's options set: `-e NAME=VALUE`, `-x NAME`, `--env A=1,B=2`, a runtime environment."""
    found: dict[str, Text | None] = {}
    if kind == "ray":
        for given in parsed.every("runtime_env_json", "runtime_env"):
            if given.setting.text is not None:
                found.update(read_runtime_environment(given.setting.text))
        return found
    for given in parsed.given:
        name = given.setting.name
        if (kind in {"docker", "enroot", "shifter"} and name == "env") or (
            kind == "mpirun" and name == "export"
        ):
            found.update(_read_pair(given, before, inherit=True))
        elif kind == "mpirun" and name in {"env", "genv"} and len(given.values) == 2:
            if given.values[0].value:
                found[given.values[0].value] = given.values[1]
        elif kind == "mpirun" and name == "environment":
            found.update(_read_pair(given, before, inherit=False))
        elif (kind, name) in {("apptainer", "env"), ("nsys", "env_var")} and given.setting.text is not None:
            for item in split_text(given.setting.text, ","):
                if match := _ASSIGNMENT.match(known_prefix(item)):
                    found[match.group(1)] = cut(item, match.end())
    if kind == "apptainer":
        for name, text in before.items():
            for prefix in ("APPTAINERENV_", "SINGULARITYENV_"):
                if name.startswith(prefix):
                    found[name.removeprefix(prefix)] = text
    return found


def _read_pair(given: Given, before: Environment, *, inherit: bool) -> dict[str, Text | None]:
    text = given.setting.text
    if text is None:
        return {}
    if match := _ASSIGNMENT.match(known_prefix(text)):
        return {match.group(1): cut(text, match.end())}
    name = text.value
    if inherit and name and name in before:
        return {name: before[name]}
    return {}


_ENTRY = pattern(r'"([A-Za-z_]\w*)"\s*:\s*(?:"((?:[^"\\]|\\.)*)"|(\d+))')


def read_runtime_environment(text: Text) -> dict[str, Text | None]:
    """The `env_vars` of a Ray runtime environment in JSON; what is no such text gives nothing."""
    flat = "".join(
        piece.text if piece.unknown is None else "\ue000" * len(piece.text) for piece in text.pieces
    )
    head = re.search(r'"env_vars"\s*:\s*\{', flat) if len(flat) < LONGEST_LIST else None
    if head is None:
        return {}
    found: dict[str, Text | None] = {}
    at = head.end()
    while match := re.compile(r"[\s,]*").match(flat, at):
        entry = _ENTRY.match(flat, match.end())
        if entry is None:
            break
        group = 2 if entry.group(2) is not None else 3
        value = cut(text, entry.start(group), entry.end(group))
        if "\\" in entry.group(group):
            value = Text(
                p._replace(text=p.text.replace('\\"', '"').replace("\\\\", "\\")) for p in value.pieces
            )
        found[entry.group(1)] = value
        at = entry.end()
    return found
