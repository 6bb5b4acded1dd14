"""The command that starts the training processes: a launcher such as torchrun, or python.

In: words that begin with it.  Out: `Start`: its kind, its options, the program, and what the program gets.  It
refuses commands that start nothing (no program, `--help`), and says of plain python whether the program is a training.
"""

from __future__ import annotations

import re

from preflight.execution import Word
from preflight.launch.command import Environment
from preflight.launch.model import Layer
from preflight.launch.options import Parsed, declare, known_prefix, parse_options
from preflight.launch.programs import NEED_RUN, RUNNERS, STARTERS, Starter
from preflight.launch.synopses.launchers import PYTHON
from preflight.patterns import pattern
from preflight.record import NamedTuple
from preflight.values import Text

_PYTHON = pattern(r"(?:python|pypy)[0-9.]*$")
TENSOR_PARALLEL = pattern(
    r"(?:--?)?(?:[+~]{0,2}[\w./@]+\.)?[+~]{0,2}tensor[-_]model[-_]parallel[-_]size(?:=.*)?$", re.DOTALL
)
"""The option that only a program with tensor parallelism has, also as a hydra override."""
_FLAGS = """
    pipeline-model-parallel-size context-parallel-size expert-model-parallel-size sequence-parallel micro-batch-size
    global-batch-size num-layers hidden-size num-attention-heads seq-length max-position-embeddings train-iters
    train-samples use-mcore-models use-distributed-optimizer transformer-impl recompute-granularity mock-data
    ffn-hidden-size num-query-groups swiglu distributed-backend
"""
MEGATRON_FLAGS = frozenset(_FLAGS.split())
"""Flags of which a training has at least three."""
_OVERRIDE = pattern(r"[+~]{0,2}[A-Za-z_][\w/@]*(?:\.[\w/@]+)+=")
_TRAINING = pattern(
    r"(?:^|[_\W])(?:pre)?train(?:er|ing)?(?:[_\W]|$)|pretrain|fine_?tune|(?:^|[_\W])(?:sft|ppo|grpo|dpo|rlhf|distill|main_\w*ppo|run_recipe)(?:[_\W]|$)"
)
_TOOL = pattern(
    r"preprocess|convert|conversion|checkpoint/|hf2|2hf|2mcore|mcore2|merge|export|inspect|tokeniz|setup|download|test_"
)
ONE_PROGRAM = frozenset({"torchrun", "torch.distributed.launch", "deepspeed", "msrun"})
"""Launchers that take the first word behind their options for a Python file."""
TRAINING_COMMANDS = frozenset({"pt", "sft", "rlhf"})


class Start(NamedTuple):
    """A launcher or python, with its program.

    `code` is the text given by `-c`; `standard_input` says that python reads its program from there.  `python` marks
    plain python, which starts one process.
    """

    kind: str
    command: tuple[Word, ...]
    options: Parsed
    program: Word | None
    argv: tuple[Word, ...]
    module: bool = False
    plain: bool = False
    code: Text | None = None
    standard_input: bool = False

    def is_launch(self, layers: tuple[Layer, ...], environment: Environment) -> bool:
        """Whether this starts a training: launchers of many processes always do, python by what it is given."""
        if self.kind in {"megatron", "swift"}:
            name = known_prefix(self.program.text) if self.program is not None else ""
            return name in TRAINING_COMMANDS or has_tensor_parallel(self.argv)
        if not self.plain:
            return self.program is not None or bool(self.options.open)
        if has_tensor_parallel(self.argv):
            return True
        name = known_prefix(self.program.text) if self.program is not None else ""
        if _TOOL.search(name):
            return False
        flags = list_flags(self.argv)
        if len(flags) >= 3:
            return True
        training = bool(_TRAINING.search(name.removesuffix(".py").replace("-", "_")))
        if not training:
            return False
        many = any(layer.kind in {"srun", "mpirun", "ray"} for layer in layers)
        overrides = sum(1 for word in self.argv if _OVERRIDE.match(known_prefix(word.text)))
        return many or bool(flags) or overrides >= 2 or "pretrain_" in name


def find_displaced(start: Start) -> str | None:
    """The Python file among the arguments, where a word that is none stands in the place of the program."""
    word = start.program.text.value if start.program is not None else None
    given = start.options.given
    if word is None or start.module or not given or "no_python" in start.options.settings:
        return None
    if start.kind not in ONE_PROGRAM or re.search(r"[./]", word):
        return None
    files = (value for each in start.argv if (value := each.text.value) and value.endswith(".py"))
    return next(files, None)


def list_flags(words: tuple[Word, ...]) -> set[str]:
    """Megatron's telling flags among words; one with tensor parallelism counts for all of them."""
    if has_tensor_parallel(words):
        return {"tensor-model-parallel-size"}
    found = set()
    for word in words:
        head = known_prefix(word.text)
        if head.startswith("--"):
            name = head[2:].partition("=")[0].replace("_", "-")
            if name in MEGATRON_FLAGS:
                found.add(name)
    return found


def has_tensor_parallel(words: tuple[Word, ...]) -> bool:
    return any(TENSOR_PARALLEL.match(known_prefix(word.text)) for word in words)


def is_python(name: str) -> bool:
    return _PYTHON.match(name) is not None


def is_starter(words: tuple[Word, ...], *, loose: bool = False) -> bool:
    """Whether a command line begins with a launcher; `loose` looks at the first word only."""
    name = known_prefix(words[0].text).rsplit("/", 1)[-1] if words[0].text.known else ""
    if not words[0].text.known:
        name = words[0].text.display().rsplit("/", 1)[-1] if "/" in words[0].text.display() else ""
    if name not in STARTERS or "." in name:
        return False
    if loose or name not in {"accelerate", "megatron", "swift"}:
        return True
    second = words[1].text.value if len(words) > 1 else None
    return second == "launch" if name == "accelerate" else second is not None and not second.startswith("-")


def is_runner(words: tuple[Word, ...]) -> bool:
    """Whether a command line begins with a program that runs another one (`coverage run train.py`)."""
    name = known_prefix(words[0].text).rsplit("/", 1)[-1] if words[0].text.known else ""
    return name in RUNNERS and len(words) > 1 and (name not in NEED_RUN or words[1].text.value == "run")


def read_start(words: tuple[Word, ...]) -> Start | None:
    """Read the launcher that a command line begins with."""
    name = words[0].text.display().rsplit("/", 1)[-1]
    if is_runner(words):
        return _resolve_runner(Start("python", words, Parsed((), words[1:]), words[0], words[1:], plain=True))
    if is_python(name):
        return _read_python(words)
    if name.endswith(".py"):
        return Start("python", words, Parsed((), words[1:]), words[0], words[1:], plain=True)
    starter = STARTERS[name]
    if starter.kind == "accelerate":
        return _read_starter(starter, words, 2)
    if starter.kind in {"megatron", "swift"}:
        return Start(starter.kind, words, Parsed((), words[1:]), words[1], words[2:], module=True)
    return _read_starter(starter, words, 1)


def _read_starter(starter: Starter, words: tuple[Word, ...], at: int) -> Start | None:
    parsed = parse_options(words[at:], starter.grammar, _ends_options)
    rest = parsed.rest
    if not rest and not parsed.open:
        return None
    start = Start(starter.kind, words, parsed, rest[0] if rest else None, rest[1:])
    options = parsed.settings
    if "no_python" in options and rest and is_python(known_prefix(rest[0].text).rsplit("/", 1)[-1]):
        inner = _read_python(rest)
        if inner is not None:
            return start._replace(program=inner.program, argv=inner.argv, module=inner.module)
    return _resolve_runner(start._replace(module="module" in options))


def _ends_options(word: Word) -> bool:
    """Whether a word can only be the program, behind options of unknown length."""
    return known_prefix(word.text).endswith(".py") or (
        not word.text.known and word.text.display().endswith(".py")
    )


def _read_python(words: tuple[Word, ...]) -> Start | None:
    """`python [OPTIONS] FILE ARGUMENTS`, `python -m MODULE ARGUMENTS`, `python -c CODE`, `python -`."""
    grammar = declare(PYTHON, abbreviate=False)
    at = 1
    while at < len(words):
        head = known_prefix(words[at].text)
        if not head.startswith("-") or head == "-":
            break
        if head in {"-V", "--version", "-h", "--help"}:
            return None
        parsed = parse_options(words[at : at + 1], grammar)
        given = parsed.given[-1] if parsed.given else None
        if given is not None and given.setting.name == "m":
            return _read_module(words, at, given.values)
        if given is not None and given.setting.name == "c":
            text = given.values[0] if given.values else (words[at + 1].text if at + 1 < len(words) else None)
            return (
                Start("python", words, parsed, None, (), plain=True, code=text) if text is not None else None
            )
        at += 2 if given is not None and given.missing else 1
    rest = words[at:]
    options = Parsed((), rest)
    if not rest or known_prefix(rest[0].text) == "-":
        return Start("python", words, options, None, rest[1:], plain=True, standard_input=True)
    if rest[0].many and not known_prefix(rest[0].text):
        # A program of unknown length: the first word that looks like one, if any does.
        begin = next((i for i, word in enumerate(rest) if _ends_options(word)), None)
        if begin is None:
            return Start("python", words, Parsed((), rest, rest[0].text.unknowns), None, rest, plain=True)
        rest = rest[begin:]
    return _resolve_runner(Start("python", words, options, rest[0], rest[1:], plain=True))


def _read_module(words: tuple[Word, ...], at: int, glued: tuple[Text, ...]) -> Start | None:
    if glued:
        module, after = Word(glued[0], words[at].span), words[at + 1 :]
    elif at + 1 < len(words):
        module, after = words[at + 1], words[at + 2 :]
    else:
        return None
    name = module.text.value or ""
    starter = STARTERS.get(name) if "." in name else None
    if starter is None and name == "deepspeed":
        starter = STARTERS["deepspeed"]
    if starter is not None:
        start = _read_starter(starter, (module, *after), 1)
        return start._replace(command=words) if start is not None else None
    return _resolve_runner(Start("python", words, Parsed((), after), module, after, module=True, plain=True))


def _resolve_runner(start: Start) -> Start:
    """The program behind one that runs another (`-m coverage run train.py`)."""
    name = (start.program.text.value or "").rsplit("/", 1)[-1] if start.program is not None else ""
    synopsis = RUNNERS.get(name)
    if synopsis is None:
        return start
    words = start.argv
    if words and words[0].text.value == "run":
        words = words[1:]
    parsed = parse_options(words, declare(synopsis, abbreviate=False))
    if not parsed.rest:
        return start
    module = "module" in parsed.settings
    return start._replace(program=parsed.rest[0], argv=parsed.rest[1:], module=module)
