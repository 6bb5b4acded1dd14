"""Where a program starts others: from a call to the commands it runs.

In: calls of `subprocess`, `os`, `asyncio`, torch's launcher, submitit, Ray's job client, and of functions that
are not followed but get a string of flags.  Out: `Execution`s, noted on the path.  A string that goes to a shell
is read by the shell front-end.
"""

from __future__ import annotations

import re
from functools import lru_cache

import libcst as cst

from preflight.execution import Execution, Word
from preflight.python import attributes, expressions, operators, slips, texts
from preflight.python.objects import (
    Arguments,
    Element,
    Function,
    Instance,
    Mapping,
    Missing,
    Origin,
    Partial,
    Scalar,
    Sequence,
    String,
    Value,
    missing_text,
    text_of,
)
from preflight.python.scope import EndedError, Frame
from preflight.python.signs import names_training
from preflight.source import Span
from preflight.values import Text, Unknown, derive_source

_LISTS = frozenset(["run", "call", "check_call", "check_output", "Popen"])
_SHELLS = frozenset({"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"})
_REPLACING = re.compile(r"os\.(exec|spawn)([lv])(p?)(e?)$")

_FLAG = re.compile(r"--[A-Za-z][\w-]+")
_MEGATRON = re.compile(
    r"--(?:tensor|pipeline|expert)[-_]model[-_]parallel[-_]size\b|--context[-_]parallel[-_]size\b"
    r"|--num[-_]layers\b|--(?:micro|global)[-_]batch[-_]size\b|--num[-_]attention[-_]heads\b|--hidden[-_]size\b"
)
_IDLE = re.compile(
    r"(?:^|[._])(?:print|info|debug|warn|warning|error|critical|exception|log|echo|secho|rule|md5|sha\d+|encode|hash"
    r"|isinstance|search|match|fullmatch|findall|finditer|sub|compile|assert\w*|Path|len|type|repr|id|Markdown|Panel"
    r"|Syntax|Table|add_row|escape|literal_eval|loads|parse_args|parse_known_args|setattr|skip|fail|raises"
    r"|get_default_\w+|Text|exists|open|put|set_defaults|init|Mock|MagicMock|patch|dict|object|main|fire|[A-Z]\w*Error)$"
)


@lru_cache(maxsize=4096)
def is_idle(name: str) -> bool:
    """Whether a function that gets flags speaks about them, or looks at them, and starts nothing."""
    return _IDLE.search(name) is not None


@lru_cache(maxsize=4096)
def is_runner(name: str) -> bool:
    """Whether a dotted name starts programs."""
    module, _, short = name.rpartition(".")
    return (
        (module in ("subprocess", "sp") and short in _LISTS)
        or name in _SHELLS
        or _REPLACING.match(name) is not None
        or name in ("os.posix_spawn", "os.posix_spawnp", "pty.spawn")
        or name in ("asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell")
        or name in ("asyncio.subprocess.create_subprocess_exec", "asyncio.subprocess.create_subprocess_shell")
        or name in ("torch.distributed.run.main", "torch.distributed.launch.main")
        or short == "elastic_launch"
        or name in ("submitit.AutoExecutor", "submitit.SlurmExecutor", "submitit.LocalExecutor")
    )


def start(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    """A call of a function that starts programs."""
    short = name.rpartition(".")[2]
    match = _REPLACING.match(name)
    if match is not None:
        _replace_process(match, given, frame)
        if match[1] == "exec":
            raise EndedError
    elif name in _SHELLS or short == "create_subprocess_shell":
        command = given.get("cmd", 0) or given.get("command", 0)
        if command is not None:
            shell(command, given, frame)
    elif name.startswith("os.posix_spawn"):
        words = given.get("argv", 1)
        environment = given.get("env", 2)
        if words is not None:
            run_list(words, given, frame, environment)
    elif short == "create_subprocess_exec":
        elements = list(given.positional)
        if given.rest is not None:
            elements.append(Element(given.rest, given.span, True))
        run_list(Sequence("list", elements), given, frame, given.get("env"))
    elif short == "main":
        _torch_run(given, frame)
    elif short == "elastic_launch":
        return _elastic(given, frame)
    elif name.startswith("submitit."):
        return Instance("submitit.Executor", None, given.span)
    else:
        _subprocess(given, frame)
    return finished(short, given, node, frame)


def finished(short: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    """What comes back of a program that ran well."""
    origin = Origin(given.span)
    if short in ("call", "check_call", "system"):
        return Scalar(0, origin)
    output = Missing(Unknown("command", frame.tree.shown(node)), origin)
    if short in ("check_output", "getoutput"):
        return output
    result = Instance("process", None, given.span, output)
    result.attributes["returncode"] = Scalar(0, origin)
    return result


def _subprocess(given: Arguments, frame: Frame) -> None:
    command = given.get("args", 0)
    if command is None:
        return
    in_shell = given.get("shell")
    if in_shell is not None and not (isinstance(in_shell, Scalar) and not in_shell.value):
        if isinstance(command, Sequence):
            first = command.elements[0] if command.elements else None
            if first is not None and not first.rest:
                shell(first.value, given, frame)
            return
        shell(command, given, frame)
    elif slips.notice_string(command, given, frame):
        shell(command, given, frame)
    else:
        slips.notice_words(command, frame)
        slips.notice_variables(given.get("env"), given.span, frame)
        run_list(command, given, frame, given.get("env"))


def _replace_process(match: re.Match[str], given: Arguments, frame: Frame) -> None:
    positional = list(given.positional)
    if match[1] == "spawn" and positional:
        positional.pop(0)
    if not positional:
        return
    positional.pop(0)
    environment: Value | None = None
    if match[4] and positional:
        environment = positional.pop().value
    if match[2] == "v":
        words: Value | None = positional[0].value if positional else given.get("args")
    else:
        elements = positional
        if given.rest is not None:
            elements = [*positional, Element(given.rest, given.span, True)]
        words = Sequence("list", elements)
    if words is not None:
        run_list(words, given, frame, environment)


def _torch_run(given: Arguments, frame: Frame) -> None:
    words = given.get("args", 0)
    launcher = Element(String(Text.literal("torchrun", given.span)), given.span)
    if isinstance(words, Sequence):
        run_list(Sequence("list", [launcher, *words.elements]), given, frame, None)


_LAUNCH_OPTIONS = {
    "nproc_per_node": "--nproc-per-node",
    "rdzv_backend": "--rdzv-backend",
    "rdzv_endpoint": "--rdzv-endpoint",
    "run_id": "--rdzv-id",
}


def _elastic(given: Arguments, frame: Frame) -> Value:
    """`elastic_launch(config, entrypoint)`: called again with the arguments of the entry point."""
    result = Instance("elastic_launch", None, given.span)
    for index, name in enumerate(("config", "entrypoint")):
        value = given.get(name, index)
        if value is not None:
            result.attributes[name] = value
    return result


def launch_elastic(launcher: Instance, given: Arguments, node: cst.CSTNode, frame: Frame) -> None:
    """The call of what `elastic_launch` gave."""
    span = given.span
    elements = [Element(String(Text.literal("torchrun", launcher.span)), launcher.span)]
    config = launcher.attributes.get("config")
    if isinstance(config, Instance):
        low, high = config.attributes.get("min_nodes"), config.attributes.get("max_nodes")
        if low is not None or high is not None:
            parts = [
                text_of(v, span) or Text.literal("1", span)
                for v in (low or high, high or low)
                if v is not None
            ]
            elements.append(_option("--nnodes", texts.join(Text.literal(":", span), parts), span))
        for name, option in _LAUNCH_OPTIONS.items():
            value = config.attributes.get(name)
            text = text_of(value, span) if value is not None else None
            if text is not None and text.display():
                elements.append(_option(option, text, config.spans.get(name, span)))
    entry = launcher.attributes.get("entrypoint")
    if isinstance(entry, String):
        elements.append(Element(entry, span))
    else:
        shown = entry.name if isinstance(entry, Function) else "entrypoint"
        elements.append(Element(Missing(Unknown("code", shown), Origin(span)), span))
    elements.extend(given.positional)
    run_list(Sequence("list", elements), given, frame, None)


def _option(name: str, text: Text, span: Span) -> Element:
    return Element(String(Text.literal(f"{name}=", span).joined(text)), span)


def words_of(value: Value, span: Span) -> list[Word]:
    """The words of an argument list."""
    if isinstance(value, Sequence):
        words = []
        for element in value.elements:
            text = word_text(element.value, element.span)
            words.append(Word(text, element.span, element.rest))
        return words
    if isinstance(value, String):
        return [Word(value.text, texts.extent(value.text, span), False)]
    return [Word(word_text(value, span), span, True)]


def word_text(value: Value, span: Span) -> Text:
    text = text_of(value, span)
    if text is not None:
        return text
    found = expressions.reason_of(value)
    return Text.missing(found if found is not None else Unknown("code", "..."), span)


def environment_of(value: Value | None, frame: Frame) -> dict[str, Text | None]:
    """The variables that a command gets: those of the path, or those of an `env=` dictionary."""
    if value is None or (isinstance(value, Scalar) and value.value is None):
        return dict(frame.path.environment)
    if not isinstance(value, Mapping):
        return dict(frame.path.environment)
    found: dict[str, Text | None] = {}
    if value.outer:
        found.update({name: None for name in frame.path.environment if name not in value.entries})
    for key, (_, item) in value.entries.items():
        if isinstance(key, str) and isinstance(item, Scalar) and item.value is None:
            found[key] = None
        elif isinstance(key, str):
            found[key] = word_text(item, Span(frame.tree.source, 0, 0))
    return found


def run_list(value: Value, given: Arguments, frame: Frame, environment: Value | None) -> None:
    """A program with its arguments, word by word."""
    words = words_of(value, given.span)
    if not words or not any(word.text.known for word in words):
        frame.path.obscure = True
        return
    closed = isinstance(environment, Mapping) and environment.rest is None and not environment.outer
    emit(words, given, frame, environment_of(environment, frame), closed=closed)


def emit(
    words: list[Word],
    given: Arguments,
    frame: Frame,
    environment: dict[str, Text | None],
    *,
    closed: bool = False,
) -> None:
    path = frame.path
    if path.expecting_failure:
        return
    prefix = [Word(Text.literal(word, span), span) for word, span in path.prefix]
    execution = Execution(
        (*prefix, *words),
        given.span,
        environment,
        {},
        _directory(given, frame),
        tuple(path.conditions),
        closed=closed,
    )
    path.note(execution)


def _directory(given: Arguments, frame: Frame) -> Text | None:
    value = given.get("cwd")
    if value is None or (isinstance(value, Scalar) and value.value is None):
        return frame.path.directory
    return text_of(value, given.span)


def shell(value: Value, given: Arguments, frame: Frame, environment: Value | None = None) -> None:
    """A command line that a shell reads."""
    text = text_of(value, given.span)
    if text is None or not any(p.unknown is None for p in text.pieces) or frame.path.expecting_failure:
        frame.path.obscure = True
        return
    variables = environment_of(environment if environment is not None else given.get("env"), frame)
    read_text(text, variables, frame, _directory(given, frame))


def read_text(text: Text, variables: dict[str, Text | None], frame: Frame, directory: Text | None) -> None:
    """Hand shell text to the shell front-end and note what it runs."""
    path = frame.path
    path.fuel.burn(50 + len(text.pieces))
    source, unknowns = derive_source(operators.compact(list(text.pieces)), frame.tree.source.path)
    script = path.read_shell(source, path.context, unknowns=unknowns, exported=variables)
    prefix = tuple(Word(Text.literal(word, span), span) for word, span in path.prefix)
    for execution in script.executions:
        path.note(
            execution._replace(
                words=(*prefix, *execution.words),
                conditions=(*path.conditions, *execution.conditions),
                directory=execution.directory or directory,
            )
        )
    path.remarks.extend(script.remarks)
    path.truncated.extend(script.truncated)


def hand_over(name: str, given: Arguments, node: cst.CSTNode, frame: Frame, receiver: Value | None) -> None:
    """Flags or a command line in the hands of a function that is not followed."""
    if frame.path.expecting_failure:
        return
    if isinstance(receiver, Instance) and _known_receiver(receiver, name, given, node, frame):
        return
    entry = given.keywords.get("entrypoint")
    if entry is not None and isinstance(entry.value, (String, Sequence)):
        _entrypoint(entry.value, given, frame)
        return
    if is_idle(name):
        return
    if frame.path.library.closed:
        frame.path.obscure = frame.path.obscure or _speaks_of_training(given)
    for element in (*given.positional, *given.keywords.values()):
        value = element.value
        if isinstance(value, String):
            _flags_text(name, value.text, element, given, frame)
        elif isinstance(value, Sequence) and value.kind in ("list", "tuple"):
            _flags_list(name, value, element, given, frame)


def _speaks_of_training(given: Arguments) -> bool:
    """Whether a command of training is handed over; where it ends up is seen when the function is followed."""
    for element in (*given.positional, *given.keywords.values()):
        if isinstance(element.value, (String, Sequence)):
            words = words_of(element.value, element.span)
            shown = " ".join(word.text.display() for word in words)
            if names_training(shown.encode("utf-8", "replace")):
                return True
    return False


def _known_receiver(receiver: Instance, name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> bool:
    if receiver.name == "elastic_launch":
        launch_elastic(receiver, given, node, frame)
        return True
    if name.startswith("submitit.Executor"):
        _submitit(receiver, name.rpartition(".")[2], given, node, frame)
        return True
    return False


_SUBMITIT = {
    "nodes": "--nodes",
    "tasks_per_node": "--ntasks-per-node",
    "gpus_per_node": "--gpus-per-node",
    "ntasks_per_node": "--ntasks-per-node",
    "slurm_ntasks_per_node": "--ntasks-per-node",
    "slurm_gpus_per_node": "--gpus-per-node",
    "slurm_nodes": "--nodes",
}


def _submitit(receiver: Instance, method: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> None:
    """`executor.update_parameters(nodes=2, ...)` and `executor.submit(...)`: as srun would start it."""
    owner = receiver.parent or receiver
    if method == "update_parameters":
        for key, element in given.keywords.items():
            owner.attributes[key] = element.value
            owner.spans[key] = element.span
        return
    if method != "submit" or not given.positional:
        return
    options = [("srun", owner.span)]
    for key, option in _SUBMITIT.items():
        value = owner.attributes.get(key)
        text = text_of(value, given.span) if value is not None else None
        if text is not None and text.known:
            options.append((f"{option}={text.value}", owner.spans.get(key, given.span)))
    target = given.positional[0].value
    before, frame.path.prefix = frame.path.prefix, options
    try:
        if isinstance(target, Instance) and target.name == "CommandFunction":
            command = target.attributes.get("command") or target.attributes.get("[0]")
            if command is not None:
                run_list(command, given, frame, None)
        elif isinstance(target, (Function, Partial)):
            from preflight.python import calls

            calls.call(target, given._replace(positional=given.positional[1:]), node, frame)
    finally:
        frame.path.prefix = before


def _entrypoint(value: Value, given: Arguments, frame: Frame) -> None:
    """Ray's `submit_job(entrypoint=..., runtime_env={"env_vars": ...})`."""
    variables = dict(frame.path.environment)
    runtime = given.get("runtime_env")
    inner = runtime.entries.get("env_vars") if isinstance(runtime, Mapping) else None
    if inner is not None and isinstance(inner[1], Mapping):
        variables.update(environment_of(inner[1], frame))
    if isinstance(value, String):
        read_text(value.text, variables, frame, None)
    else:
        emit(words_of(value, given.span), given, frame, variables)


def _carries_flags(shown: str) -> bool:
    return _MEGATRON.search(shown) is not None and len(set(_FLAG.findall(shown))) >= 3


_COMMAND = re.compile(r"(?:^|[\s;&|(])(?:torchrun|srun|deepspeed|mpirun|python3?|accelerate|msrun|ray)\s")


def _flags_text(name: str, text: Text, element: Element, given: Arguments, frame: Frame) -> None:
    shown = texts.mask(text)
    if not _carries_flags(shown):
        return
    if _COMMAND.search(shown) and not shown.lstrip().startswith("--"):
        read_text(text, environment_of(given.get("env"), frame), frame, None)
        return
    parts = texts.shell_words(text)
    if parts is None:
        return
    words = [Word(part, texts.extent(part, element.span), texts.lone(part)) for part in parts]
    hand_flags(name, _settled(words), given, frame)


def _settled(words: list[Word]) -> list[Word]:
    """An unknown between an option and the next one is the option's value, one word."""
    result: list[Word] = []
    for index, word in enumerate(words):
        if word.many and index:
            before = result[-1].text.value
            after = words[index + 1].text.value if index + 1 < len(words) else "--"
            option = before is not None and before.startswith("--") and "=" not in before
            if option and (after is None or after.startswith("--")):
                word = word._replace(many=False)
        result.append(word)
    return result


def _flags_list(name: str, value: Sequence, element: Element, given: Arguments, frame: Frame) -> None:
    words = words_of(value, element.span)
    known = [word.text.value or "" for word in words]
    if not _carries_flags(" ".join(known)):
        return
    if not known[0].startswith("--"):
        emit(words, given, frame, environment_of(given.get("env"), frame))
    else:
        hand_flags(name, words, given, frame)


def hand_flags(name: str, words: list[Word], given: Arguments, frame: Frame) -> None:
    """Flags in the hands of a function that starts a program with them."""
    path = frame.path
    span = given.span
    unknown = Unknown("code", name)
    ahead = (Word(Text.literal("python", span), span), Word(Text.missing(unknown, span), span))
    behind = Word(Text.missing(unknown, span), span, True)
    execution = Execution(
        (*ahead, *words, behind),
        span,
        environment_of(None, frame),
        {},
        None,
        tuple(path.conditions),
        handed_to=name,
    )
    path.note(execution, synthetic=True)


__all__ = ["attributes", "hand_over", "is_runner", "missing_text", "start"]
