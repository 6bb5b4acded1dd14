"""`preflight completions SHELL`: completion scripts for bash, zsh and fish.

In: the parsers of all commands.  Out: a static script; nothing of preflight runs when a key is pressed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from preflight.cli.main import COMMANDS
from preflight.cli.sheet import Sheet
from preflight.record import NamedTuple

SHELLS = ("bash", "zsh", "fish")


class Flag(NamedTuple):
    """One option of a command. `values` are its choices; `takes` says that a value follows."""

    names: tuple[str, ...]
    meaning: str
    takes: bool
    values: tuple[str, ...]


def run(words: list[str]) -> int:
    """The command."""
    if len(words) == 1 and words[0] in SHELLS:
        sys.stdout.write(write_completions(words[0]))
        return 0
    asked = words[:1] in (["--help"], ["-h"])
    usage = (
        "usage: preflight completions bash|zsh|fish\n\n"
        "bash: preflight completions bash > ~/.local/share/bash-completion/completions/preflight\n"
        "zsh:  preflight completions zsh > a file _preflight in a folder of $fpath\n"
        "fish: preflight completions fish > ~/.config/fish/completions/preflight.fish"
    )
    print(usage, file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2


def write_completions(shell: str) -> str:
    """The script for one shell."""
    writers: dict[str, Callable[[dict[str, list[Flag]]], str]] = {
        "bash": write_bash,
        "zsh": write_zsh,
        "fish": write_fish,
    }
    return writers[shell]({command: list_flags(command) for command in COMMANDS})


def list_flags(command: str) -> list[Flag]:
    """The options of a command, from its parser."""
    if command == "completions":
        return []
    name = f"preflight.cli.{command}"
    __import__(name)
    sheet: Sheet = sys.modules[name].make_sheet()
    flags = []
    for action in sheet.make_parser()._actions:
        if action.option_strings:
            values = tuple(map(str, action.choices or ())) or _known_values(
                action.dest, action.option_strings
            )
            meaning = (action.help or "").replace("%%", "%")
            flags.append(Flag(tuple(action.option_strings), meaning, action.nargs != 0, values))
    return flags


def _known_values(name: str, strings: Sequence[str]) -> tuple[str, ...]:
    if name == "output" and "--output" in strings:
        from preflight.cli.options import FORMATS

        return FORMATS
    if name == "gpu":
        from preflight.facts.surroundings import PROFILES

        return tuple(PROFILES)
    if name == "target":
        from preflight.targets.releases import RELEASES

        return (*RELEASES, "all")
    return ()


OPERANDS = {"rules": ("list", "new", "test"), "targets": ("list", "add"), "completions": SHELLS}
"""Words that may come first behind a command."""


def write_bash(flags: dict[str, list[Flag]]) -> str:
    """bash: one function with a case for each command."""
    lines = [
        "# bash completion for preflight; written by: preflight completions bash",
        "_preflight() {",
        "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}",
        "  local options= operands= values=",
        "  COMPREPLY=()",
        "  if ((COMP_CWORD == 1)); then",
        f'    COMPREPLY=($(compgen -W \'{" ".join(COMMANDS)} --help --version\' -- "$word") $(compgen -f -- "$word"))',
        "    return",
        "  fi",
        "  case $command in",
    ]
    for command, group in flags.items():
        names = " ".join(name for flag in group for name in flag.names)
        lines.append(f"  {command})")
        lines.append(f"    options='{names}'")
        lines.append("    case $previous in")
        lines += [
            f"    {'|'.join(flag.names)}) values='{' '.join(flag.values)}' ;;"
            for flag in group
            if flag.takes and flag.values
        ]
        lines.append("    esac")
        if command in OPERANDS:
            lines.append(f"    ((COMP_CWORD == 2)) && operands='{' '.join(OPERANDS[command])}'")
        lines.append("    ;;")
    lines += [
        "  esac",
        "  if [[ -n $values ]]; then",
        '    COMPREPLY=($(compgen -W "$values" -- "$word"))',
        "  elif [[ $word == -* ]]; then",
        '    COMPREPLY=($(compgen -W "$options" -- "$word"))',
        "  else",
        '    COMPREPLY=($(compgen -W "$operands" -- "$word") $(compgen -f -- "$word"))',
        "  fi",
        "}",
        "complete -o filenames -F _preflight preflight",
    ]
    return "\n".join(lines) + "\n"


def write_zsh(flags: dict[str, list[Flag]]) -> str:
    """zsh: `_arguments` for each command."""
    lines = [
        "#compdef preflight",
        "# zsh completion for preflight; written by: preflight completions zsh",
        "_preflight() {",
        "  if ((CURRENT == 2)); then",
        "    local -a commands=(",
        *(f"      '{name}:{_zsh_text(meaning)}'" for name, meaning in COMMANDS.items()),
        "    )",
        "    _describe command commands",
        "    _files",
        "    return",
        "  fi",
        "  local command=${words[2]}",
        "  shift words; ((CURRENT--))",
        "  case $command in",
    ]
    for command, group in flags.items():
        lines.append(f"  {command})")
        lines.append("    _arguments \\")
        for flag in group:
            for name in flag.names:
                value = ""
                if flag.takes:
                    value = f": :({' '.join(flag.values)})" if flag.values else ": :_files"
                lines.append(f"      '*{name}[{_zsh_text(flag.meaning)}]{value}' \\")
        if command in OPERANDS:
            lines.append(f"      '1: :({' '.join(OPERANDS[command])})' \\")
        lines.append("      '*: :_files'")
        lines.append("    ;;")
    lines += ["  esac", "}", '_preflight "$@"']
    return "\n".join(lines) + "\n"


def _zsh_text(text: str) -> str:
    for character in "[]:":
        text = text.replace(character, " " if character != ":" else ",")
    return text.replace("'", "'\\''")


def write_fish(flags: dict[str, list[Flag]]) -> str:
    """fish: a line for each option."""
    lines = ["# fish completion for preflight; written by: preflight completions fish"]
    for name, meaning in COMMANDS.items():
        lines.append(f"complete -c preflight -n __fish_use_subcommand -a {name} -d '{_fish_text(meaning)}'")
    for command, group in flags.items():
        condition = f"-n '__fish_seen_subcommand_from {command}'"
        for flag in group:
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in flag.names)
            value = ""
            if flag.takes:
                value = f" -x -a '{' '.join(flag.values)}'" if flag.values else " -r"
            lines.append(f"complete -c preflight {condition} {names}{value} -d '{_fish_text(flag.meaning)}'")
        if command in OPERANDS:
            lines.append(f"complete -c preflight {condition} -a '{' '.join(OPERANDS[command])}'")
    return "\n".join(lines) + "\n"


def _fish_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
