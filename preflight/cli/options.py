"""Options that several commands share, and the sheet that they are added to.

In: the words behind the command's name.  Out: options as attributes, with names like the config's keys.  Each `add_...`
function adds one group; a command takes those that mean something to it.  `split_arguments` takes off `-- ARGS`, the
script's positional arguments, before the sheet sees them.
"""

from __future__ import annotations

from collections.abc import Sequence

from preflight.cli.sheet import Sheet, refuse


class MisuseError(Exception):
    """An invocation that cannot be carried out: exit status 2."""


FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")


def new_sheet(command: str, summary: str, examples: Sequence[str] = (), usage: str | None = None) -> Sheet:
    """The options of one command, of which there are none yet."""
    return Sheet(command, summary, examples, usage)


def split_arguments(words: Sequence[str]) -> tuple[list[str], tuple[str, ...] | None]:
    """The words before the first `--`, and those behind it (None: there is no `--`)."""
    if "--" not in words:
        return list(words), None
    at = list(words).index("--")
    return list(words[:at]), tuple(words[at + 1 :])


def add_target_options(sheet: Sheet) -> None:
    group = sheet.add_argument_group("what it will run with")
    group.add_argument(
        "--target", metavar="RELEASE", help="Megatron release: 0.15.3, 0.15, core_r0.8.0, main, all"
    )
    group.add_argument("--te", metavar="VERSION", help="TransformerEngine's version")
    group.add_argument("--nodes", type=read_count, metavar="N", help="nodes of the job")
    group.add_argument("--gpus-per-node", type=read_count, metavar="N", help="GPUs of a node")
    group.add_argument(
        "--gpu", metavar="NAME", help="a GPU profile: v100, a100, h100, h200, l40s, b200, gb200, ..."
    )
    group.add_argument(
        "--nvlink-domain", type=read_count, metavar="N", help="GPUs that one NVLink domain connects"
    )
    group.add_argument("--node", metavar="FILE", help="a node recorded with preflight node --record FILE")


def add_script_options(sheet: Sheet) -> None:
    group = sheet.add_argument_group("what the caller sets")
    group.add_argument(
        "--env", action="append", default=[], type=_pair, metavar="NAME=VALUE", help="a variable"
    )
    group.add_argument("--closed-env", action="store_true", default=None, help="no other variable is set")
    group.add_argument(
        "--strict-env", action="store_true", default=None, help="do not assume ${TP:-8} to be 8"
    )
    group.add_argument(
        "--arg", action="append", default=[], type=_numbered, metavar="N=VALUE", help="a positional argument"
    )
    group.add_argument(
        "--root", metavar="FOLDER", help="files below it may be read (default: the repository)"
    )
    group.add_argument(
        "--source-path",
        action="append",
        default=[],
        metavar="FOLDER",
        help="where sourced files are looked for",
    )


def add_rule_options(sheet: Sheet) -> None:
    group = sheet.add_argument_group("which findings count")
    group.add_argument(
        "--select", action="append", default=[], metavar="NAMES", help="only these rules or families"
    )
    group.add_argument(
        "--ignore", action="append", default=[], metavar="NAMES", help="not these rules or families"
    )
    group.add_argument(
        "--fail-on", choices=("error", "warning", "note"), help="exit 1 from here on (default: error)"
    )
    group.add_argument(
        "--strict", action="store_true", default=None, help="undecided rules count as findings"
    )
    group.add_argument(
        "--require-launch",
        action="store_true",
        default=None,
        help="finding no launch at all is exit status 3",
    )
    group.add_argument("--no-ignores", action="store_true", help="switch ignore comments off")
    group.add_argument("--baseline", metavar="FILE", help="known findings that do not count")
    group.add_argument(
        "--write-baseline", metavar="FILE", help="write all findings of this run as the baseline"
    )
    group.add_argument("--exit-zero", action="store_true", help="exit 0 where findings would make it 1 or 4")


def add_config_options(sheet: Sheet) -> None:
    group = sheet.add_argument_group("settings")
    chosen = group.add_mutually_exclusive_group()
    chosen.add_argument("--config", metavar="FILE", help="this config instead of the nearest preflight.toml")
    chosen.add_argument("--isolated", action="store_true", help="no config at all")


def add_output_options(sheet: Sheet, formats: Sequence[str] = FORMATS) -> None:
    group = sheet.add_argument_group("output")
    group.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="FORMAT[=FILE]",
        help=f"repeatable; {', '.join(formats)}",
    )
    group.add_argument(
        "--show", choices=("error", "warning", "note"), help="mildest severity in text (default: note)"
    )
    group.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="colour in text")
    group.add_argument(
        "-v", "--verbose", action="store_true", help="list undecided rules and what would decide them"
    )
    group.add_argument("-q", "--quiet", action="store_true", help="findings only")


def split_names(given: Sequence[str]) -> tuple[str, ...]:
    """`a,b` and repeated options, as one list of names."""
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())


def parse_output(text: str, formats: Sequence[str] = FORMATS) -> tuple[str, str | None]:
    """FORMAT or FORMAT=FILE; ValueError says what is wrong."""
    name, _, path = text.partition("=")
    if name not in formats:
        from difflib import get_close_matches

        near = get_close_matches(name, formats, 1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(formats)}"
        raise ValueError(f"no output format {name!r}; {hint}")
    return name, path or None


def read_count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        refuse(f"{text!r} is not a whole number above 0")
    return int(text)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    exported_function = name.startswith("BASH_FUNC_") and name.endswith("%%")
    if not equals or not (name.isidentifier() or exported_function):
        refuse(f"{text!r} is not NAME=VALUE")
    return name, value


def _numbered(text: str) -> tuple[int, str]:
    number, equals, value = text.partition("=")
    if not equals or not number.isdecimal():
        refuse(f"{text!r} is not N=VALUE, such as 1=7B")
    return int(number), value
