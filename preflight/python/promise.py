"""Whether a first look at a file is reason enough to read the modules that it imports.

In: a path that was walked with its imports left closed.  Out: yes or no.  A project's own modules cost many times what
a file itself does, and most files that hold a word of training start nothing; so a file is looked at by itself first.
What it starts or builds is followed with all that it imports.  Where something run or built comes out of an import, or
an import leads to a module that starts training itself, that is looked into as far as it costs no more than the file.
"""

from __future__ import annotations

import re

from preflight.execution import Context
from preflight.python import configurations
from preflight.python.ancestry import may_configure
from preflight.python.modules import Library
from preflight.python.objects import Instance, Scalar, String
from preflight.python.outline import SIZES
from preflight.python.reach import reaches_settings, reaches_training
from preflight.python.scope import Path
from preflight.source import Source


def depends_on_imports(path: Path) -> bool:
    """Whether what a path runs or builds comes out of an import that was left closed."""
    blocked = path.library.blocked
    if path.obscure and blocked:
        return True
    built = _built_from_imports(path)
    path.library.completed.update(instance.name for instance in built)
    return bool(built)


def completes_imports(path: Path) -> bool:
    """Whether a path sets several sizes of what an import gave: a recipe with a few fields of one's own."""
    return any(_sets_sizes(instance) for instance in _built_from_imports(path))


def _sets_sizes(instance: Instance) -> bool:
    """Whether several sizes are set, and not all of them to something unknown."""
    names = _names_below(instance) & SIZES
    return len(names) > 1 and any(_knows(instance, name) for name in names)


def _knows(instance: Instance, name: str) -> bool:
    return any(isinstance(each.attributes.get(name), (Scalar, String)) for each in _parts_of(instance))


_CONFIGURING = re.compile(r"config|provider|recipe|container|pretrain|finetune|cfg", re.IGNORECASE)
_PART = re.compile(r"vision|projection")


def drop_strangers(path: Path) -> None:
    """Leave out what is made of imported classes that are no configurations, whatever their names and fields."""
    path.built[:] = [instance for instance in path.built if not _is_stranger(instance, path)]


def _is_stranger(instance: Instance, path: Path) -> bool:
    if instance.cls is not None or not instance.name[:1].isupper() or "." in instance.name:
        return False
    key = next((key for key in path.library.blocked if key[1] == instance.name), None)
    if key is None:
        return False
    place, known = path.library.blocked[key], path.library.strangers
    if key not in known:
        known[key] = not may_configure(instance.name, place, path.script_path, path.context)
    return known[key]


def _built_from_imports(path: Path) -> list[Instance]:
    """What is made of imports and may be a configuration, by its name or by what is set of it."""
    blocked = path.library.blocked
    names = {part for name, attribute in blocked for part in (name.rpartition(".")[2], attribute)}
    return [
        instance
        for instance in path.built
        if not names.isdisjoint(instance.name.split("."))
        and not configurations.is_arguments(instance)
        and _PART.search(instance.name) is None
        and (_CONFIGURING.search(instance.name) or not _names_below(instance).isdisjoint(SIZES))
    ]


def _names_below(instance: Instance) -> set[str]:
    return {name for each in _parts_of(instance) for name in each.attributes}


MAXIMUM_PARTS = 40
"""Parts of an object that are looked at: `recipe.trainer.strategy` is one."""


def _parts_of(instance: Instance) -> list[Instance]:
    """An object with those that are its attributes, and theirs."""
    found = [instance]
    for each in found:
        for value in each.attributes.values():
            if isinstance(value, Instance) and value not in found and len(found) < MAXIMUM_PARTS:
                found.append(value)
    return found


def leads_to_training(library: Library, script: Source, context: Context) -> bool:
    """Whether something that was used of an import that was left closed may start training or be a recipe of it."""
    used = [
        (name, attribute, file)
        for (name, attribute), place in library.blocked.items()
        for file in _files_of(place, attribute)
    ]
    if reaches_training([(attribute, file) for _, attribute, file in used], script, context):
        return True
    return any(
        reaches_settings((attribute, file), script, context)
        for name, attribute, file in used
        if f"{name}.{attribute}" in library.completed
    )


def _files_of(place: str, attribute: str) -> list[str]:
    """The files that may define an attribute of what was imported."""
    if not attribute:
        return []
    return [f"{place[:-1]}/__init__.py"] if place.endswith("/") else [place]
