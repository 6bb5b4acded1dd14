"""The configuration file of `accelerate launch`.

In: the option `--config_file` and the files that may be read.  Out: the two numbers that decide the topology, where the
file states them on a line of their own.  It refuses anything nested: YAML is not parsed, two top-level keys are read.
"""

from __future__ import annotations

import re

from preflight.launch.model import Number, Setting
from preflight.patterns import pattern
from preflight.source import Files, Refusal, Source
from preflight.values import Text

_KEY = pattern(
    rb'^[ \t]{0,4}"?(num_processes|num_machines)"?[ \t]*:[ \t]*"?(\d+)"?[ \t]*,?[ \t\r]*(?:#.*)?$',
    re.MULTILINE,
)


def read_configuration(setting: Setting | None, directory: Text | None, files: Files) -> dict[str, Number]:
    """`num_processes` and `num_machines` of a configuration file in YAML or JSON; empty where it can't be read."""
    path = setting.text.value if setting is not None and setting.text is not None else None
    if path is None:
        return {}
    source = files.read(path, directory.value if directory is not None else None)
    if isinstance(source, Refusal):
        return {}
    return read_counts(source)


def read_counts(source: Source) -> dict[str, Number]:
    found: dict[str, Number] = {}
    for match in _KEY.finditer(source.data):
        span = source.span(match.start(1), match.end(2))
        found[match.group(1).decode()] = Number(int(match.group(2)), "launcher", span)
    return found
