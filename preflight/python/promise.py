"""Whether a first look at a file is reason enough to read the modules that it imports.

In: a path that was walked with its imports left closed.  Out: yes or no.  A project's own modules cost many times what
a file itself does, and most files that hold a word of training start nothing; so a file is looked at by itself first.
What it starts or builds is followed with all that it imports.  Where something run or built comes out of an import, or
an import leads to a module that starts training itself, that is looked into as far as it costs no more than the file.
"""

from __future__ import annotations

import os
import re

from preflight.execution import Context
from preflight.python import configurations
from preflight.python.modules import Library
from preflight.python.objects import Instance, Scalar, String
from preflight.python.outline import SIZES
from preflight.python.scope import Path
from preflight.python.signs import starts_training
from preflight.source import Refusal

LARGEST_MODULE = 400_000
"""Largest imported module whose text is looked at, in bytes."""


def depends_on_imports(path: Path) -> bool:
    """Whether what a path runs or builds comes out of an import that was left closed."""
    blocked = path.library.blocked
    if path.obscure and blocked:
        return True
    return bool(_built_from_imports(path))


def completes_imports(path: Path) -> bool:
    """Whether a path sets several sizes of what an import gave: a recipe with a few fields of one's own."""
    return any(_sets_sizes(instance) for instance in _built_from_imports(path))


def _sets_sizes(instance: Instance) -> bool:
    """Whether several sizes are set, and not all of them to something unknown."""
    names = _names_below(instance) & SIZES
    return len(names) > 1 and any(_knows(instance, name) for name in names)


def _knows(instance: Instance, name: str) -> bool:
    holders = (instance, *(value for value in instance.attributes.values() if isinstance(value, Instance)))
    return any(isinstance(each.attributes.get(name), (Scalar, String)) for each in holders)


_CONFIGURING = re.compile(r"config|provider|recipe|container|pretrain|finetune|cfg", re.IGNORECASE)


def _built_from_imports(path: Path) -> list[Instance]:
    """What is made of imports and may be a configuration, by its name or by what is set of it."""
    blocked = path.library.blocked
    names = {part for name, attribute in blocked for part in (name.rpartition(".")[2], attribute)}
    return [
        instance
        for instance in path.built
        if not names.isdisjoint(instance.name.split("."))
        and not configurations.is_arguments(instance)
        and (_CONFIGURING.search(instance.name) or not _names_below(instance).isdisjoint(SIZES))
    ]


def _names_below(instance: Instance) -> set[str]:
    inner = (value for value in instance.attributes.values() if isinstance(value, Instance))
    return {*instance.attributes, *(name for value in inner for name in value.attributes)}


def leads_to_training(library: Library, context: Context) -> bool:
    """Whether one of the modules whose import was left closed starts training itself."""
    for (_, attribute), place in library.blocked.items():
        folder = place[:-1] if place.endswith("/") else os.path.dirname(place)
        below = os.path.join(folder, attribute) if attribute and not _is_module(place) else None
        candidates = [place] if below is None else [place, f"{below}.py", os.path.join(below, "__init__.py")]
        for candidate in candidates:
            if context.files.kind(candidate) != "file":
                continue
            source = context.files.read(candidate)
            if isinstance(source, Refusal) or len(source.data) > LARGEST_MODULE:
                continue
            if starts_training(source.data):
                return True
    return False


def _is_module(place: str) -> bool:
    return not place.endswith(("/", "/__init__.py"))
