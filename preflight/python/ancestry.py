"""Whether a class that was imported, but not read, may be one of Megatron's configurations: by the text of its module.

In: the name of a class and the file that it is imported from.  Out: yes or no.  Only what says that no base of it is a
configuration is a no; it costs a search of the text, where reading the module costs many times what a file itself does.
"""

from __future__ import annotations

import os
import re

from preflight.execution import Context
from preflight.python.modules import find_module
from preflight.source import Refusal

MAXIMUM_STEPS = 8
"""Bases and imports that are followed one after the other."""

_BASES = re.compile(r"(?:Config|Provider)\w*$")
_IMPORT = re.compile(rb"\nfrom[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)")


def may_configure(name: str, place: str, script: str, context: Context, steps: int = 0) -> bool:
    """Whether a class of a file may be derived from a configuration."""
    if steps > MAXIMUM_STEPS or not place.endswith(".py"):
        return True
    source = context.files.read(place)
    if isinstance(source, Refusal):
        return True
    data = b"\n" + source.data
    match = re.search(rb"\nclass[ \t]+%s\b[ \t]*(?:\(([^)]*)\))?[ \t]*:" % re.escape(name.encode()), data)
    if match is None:
        return _may_import(name, data, place, script, context, steps)
    for base in (match[1] or b"").decode("utf-8", "replace").split(","):
        short = base.partition("[")[0].strip().rpartition(".")[2]
        if not short or "=" in short:
            continue
        if re.search(rb"\nclass[ \t]+%s\b" % re.escape(short.encode()), data):
            if may_configure(short, place, script, context, steps + 1):
                return True
        elif _may_import(short, data, place, script, context, steps):
            return True
    return False


def _may_import(name: str, data: bytes, place: str, script: str, context: Context, steps: int) -> bool:
    """Whether what a module imports may be a configuration: of a package that is not read, by its name."""
    for module, names in _IMPORT.findall(data):
        if not re.search(rb"\b%s\b" % re.escape(name.encode()), names):
            continue
        dots = len(module) - len(module.lstrip(b"."))
        here = os.path.dirname(place)
        found = find_module(module[dots:].decode(), dots, here, script, context.files)
        if found is not None:
            return may_configure(name, found, script, context, steps + 1)
    return _BASES.search(name) is not None
