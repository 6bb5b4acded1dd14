"""Functions of `os`, `pathlib`, `importlib` and the like: environment, folders, paths, modules by name.

In: arguments of a call.  Out: the value, or None where it is not known.  No file is looked at; whether one exists is
unknown.
"""

from __future__ import annotations

import os

import libcst as cst

from preflight.python import attributes, modules, paths, texts
from preflight.python.objects import (
    Arguments,
    Element,
    Instance,
    Missing,
    Module,
    Origin,
    Scalar,
    Sequence,
    String,
    Value,
    assumptions_of,
    key_of,
    text_of,
)
from preflight.python.registry import first, models, scalar
from preflight.python.scope import EndedError, Frame
from preflight.values import Piece, Text, Unknown


@models("print", "os.makedirs", "os.mkdir", "time.sleep", "os.chmod", "shutil.rmtree", "sys.stdout.flush")
def nothing(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    return Scalar(None, Origin(given.span))


def node_value(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    return Missing(Unknown("node", frame.tree.shown(node)), Origin(given.span), True)


@models("input", "os.cpu_count", "socket.gethostname", "time.time", "os.getpid", "platform.node", "os.uname")
def _machine(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    return Missing(Unknown("command", frame.tree.shown(node)), Origin(given.span), True)


@models("sys.exit", "exit", "quit", "os._exit", "os.abort")
@models("pytest.skip", "pytest.fail", "pytest.xfail", "pytest.exit")
def _exit(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value:
    raise EndedError


@models("os.getenv", "os.environ.get", "getenv")
def _getenv(called: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    name, default = given.get("key", 0), given.get("default", 1)
    key = key_of(name) if name is not None else None
    if not isinstance(key, str):
        return None
    return frame.path.variable(key, default, given.span, frame.tree.shown(node))


@models("importlib.import_module", "__import__")
def _import_module(called: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    name = given.get("name", 0)
    known = name.text.value if isinstance(name, String) else None
    if known is None or known.startswith("."):
        return None
    return modules.bind(known, 0, None, given.span, frame)


@models("importlib.util.spec_from_file_location")
def _module_spec(called: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    name, place = given.get("name", 0), given.get("location", 1)
    name_text = name.text.value if isinstance(name, String) else None
    place_text = place.text.value if isinstance(place, String) else None
    if place_text is None:
        return None
    absolute_path = os.path.join(frame.path.context.files.directory, place_text)
    result = modules.opaque("ModuleSpec", Unknown("code", frame.tree.shown(node)), given.span)
    result.attributes["module"] = Module(name_text or place_text, absolute_path, given.span)
    return result


@models("importlib.util.module_from_spec")
def _module_of_spec(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    spec = given.get("spec", 0)
    return spec.attributes.get("module") if isinstance(spec, Instance) else None


@models("os.putenv")
def _putenv(called: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    name, value = given.get("key", 0), given.get("value", 1)
    if name is not None and value is not None:
        attributes.set_variable(name, value, given.span, frame)
    return scalar(None, given)


@models("os.unsetenv")
def _unsetenv(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    key = key_of(given.positional[0].value) if given.positional else None
    if isinstance(key, str):
        frame.path.environment[key] = None
    return scalar(None, given)


@models("os.chdir")
def _chdir(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    frame.path.directory = text_of(value, given.span) if value is not None else None
    return scalar(None, given)


@models("os.getcwd", "os.getcwdb", "pathlib.Path.cwd", "Path.cwd")
def _getcwd(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    path = "Path" in name
    if frame.path.directory is not None:
        return String(frame.path.directory, path)
    return String(Text.literal(frame.path.context.files.directory, given.span), path)


@models("os.path.join", "posixpath.join")
def _join(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    parts = [text_of(e.value, given.span) for e in given.positional]
    if given.rest is not None or any(part is None for part in parts):
        return None
    return String(paths.path_text([part for part in parts if part is not None], given.span))


@models("os.path.dirname", "os.path.basename", "os.path.splitext", "os.path.split")
def _split_path(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    if not isinstance(value, String):
        return None
    shown = texts.mask(value.text)
    short = name.rpartition(".")[2]
    at = len(os.path.splitext(shown)[0]) if short == "splitext" else shown.rfind("/") + 1
    head, tail = texts.cut(value.text, 0, at), texts.cut(value.text, at, len(shown))
    if short in ("dirname", "split") and texts.mask(head).strip("/"):
        head = texts.strip(head, "/", False, True)
    if short == "dirname":
        return String(head)
    if short == "basename":
        return String(tail)
    pair = [Element(String(head), given.span), Element(String(tail), given.span)]
    return Sequence("tuple", pair)


@models(
    "os.path.abspath",
    "os.path.realpath",
    "os.path.normpath",
    "os.path.expanduser",
    "os.fspath",
    "os.path.expandvars",
)
def _whole_path(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    if not isinstance(value, String):
        return None
    short = name.rpartition(".")[2]
    return absolute(value, short, given, frame)


def absolute(value: String, name: str, given: Arguments, frame: Frame) -> Value | None:
    """A path made absolute or normal; the text is kept where nothing changes."""
    shown = value.text.value
    if shown is None:
        return value if texts.mask(value.text).startswith("/") else None
    if name == "expanduser":
        return value if not shown.startswith("~") else None
    if name == "expandvars":
        return value if "$" not in shown else None
    if name == "fspath":
        return String(value.text)
    base = (
        frame.path.directory.value if frame.path.directory is not None else frame.path.context.files.directory
    )
    if name in ("abspath", "realpath", "resolve", "absolute"):
        if base is None:
            return None
        wanted = os.path.normpath(os.path.join(base, shown))
    else:
        wanted = os.path.normpath(shown)
    if wanted == shown:
        return value
    return String(
        Text([Piece(wanted, texts.extent(value.text, given.span), None, (), assumptions_of(value))]),
        value.path,
    )


def make_path(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    parts = [text_of(e.value, given.span) for e in given.positional]
    if given.rest is not None or any(part is None for part in parts):
        return None
    if not parts:
        return String(Text.literal(".", given.span), True)
    joined = paths.path_text([part for part in parts if part is not None], given.span)
    return String(paths.normal_path(joined), True)


@models("os.path.isabs")
def _isabs(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    value = first(given)
    if isinstance(value, String):
        shown = texts.mask(value.text)
        if shown.startswith("/") or value.text.known:
            return scalar(shown.startswith("/"), given)
    return None


@models("os.path.exists", "os.path.isdir", "os.path.isfile", "os.path.islink", "shutil.which")
def _exists(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    return Missing(Unknown("file", frame.tree.shown(node)), Origin(given.span))


@models("typing.TypeVar", "TypeVar", "warnings.filterwarnings", "warnings.warn", "os.umask", "signal.signal")
def _ignored(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    return scalar(None, given)


@models("open")
def _open(name: str, given: Arguments, node: cst.CSTNode, frame: Frame) -> Value | None:
    return Instance(
        "file", None, given.span, Missing(Unknown("file", frame.tree.shown(node)), Origin(given.span))
    )
