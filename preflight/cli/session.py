"""What the commands that read scripts have in common: settings and options become requests, requests become outcomes.

In: parsed options (see `options`) and the script's arguments.  Out: for each file the request that the chain
takes; an outcome of all files; the reports and the exit status.  A fault in one file is said and the others are
still checked.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from preflight import __version__
from preflight.chain import Request, find_root
from preflight.cli.discover import Found, discover
from preflight.cli.options import MisuseError, split_names
from preflight.engine.rule import RuleSet
from preflight.engine.shipped import RulesError, read_rules
from preflight.facts.surroundings import ProfileError, Surroundings, VersionError, find_profile, read_te
from preflight.later import later
from preflight.outcome import FileOutcome, Outcome
from preflight.ruling import check_source
from preflight.settings import Settings, find_config, load_settings, matches
from preflight.source import Refusal, Source, read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from preflight.facts.model import Fact


fact_types = later("preflight.facts.catalogue", "fact_types")


class Session:
    """One run of a command."""

    def __init__(self, options: Namespace, arguments: tuple[str, ...] | None = None) -> None:
        self.options = options
        self.arguments = arguments
        self.tells_undecided = True
        self._settings: dict[tuple[str | None, str | None], Settings] = {}
        self.here = self.settings_of(os.getcwd())
        self._rules: dict[tuple[str, ...], RuleSet] = {}
        self._surroundings: dict[str | None, Surroundings] = {}

    def validate(self) -> None:
        """Refuse options that no file could be checked with, before any is read."""
        options = self.options
        self.surroundings_of(self.here)
        if options.select or options.ignore:
            check_names(split_names((*options.select, *options.ignore)), self.rules_of(self.here))
        megatron = getattr(options, "megatron", None)
        if megatron is not None and not os.path.isdir(os.path.join(megatron, "megatron")):
            raise MisuseError(f"--megatron: {megatron} is no Megatron checkout")
        root = options.root or self.here.root
        if root is not None and not os.path.isdir(root):
            raise MisuseError(f"--root: {root} is no folder")
        if options.target:
            from preflight.source import Files
            from preflight.targets.choose import TargetError, choose_named

            try:
                choose_named(options.target, Files(os.getcwd(), (root or find_root(os.getcwd()),)))
            except TargetError as error:
                raise MisuseError(str(error)) from None

    # -- settings ----------------------------------------------------------------------------------------------

    def settings_of(self, folder: str) -> Settings:
        """The settings for scripts of a folder."""
        if self.options.isolated:
            return Settings()
        site = os.environ.get("PREFLIGHT_CONFIG") or None
        path = self.options.config or find_config(folder)
        if path is None and site is None:
            return Settings()
        return self._load(path, site)

    def _load(self, path: str | None, site: str | None) -> Settings:
        if (path, site) not in self._settings:
            self._settings[path, site] = load_settings(path, site)
        return self._settings[path, site]

    def rules_of(self, settings: Settings) -> RuleSet:
        """The shipped rules, with those of the config's folders."""
        if settings.rules not in self._rules:
            try:
                self._rules[settings.rules] = all_rules(settings.rules) if settings.rules else shipped_rules()
            except RulesError as error:
                raise MisuseError("\n".join(error.messages)) from None
        return self._rules[settings.rules]

    def request_of(self, path: str) -> Request:
        """What the options and the nearest config say about one script."""
        options = self.options
        settings = self.settings_of(os.path.dirname(os.path.abspath(path)))
        rules: Any = Deferred(lambda: self.rules_of(settings))
        ignored = [
            names for glob, names in settings.per_file_ignores.items() if matches(glob, path, settings.folder)
        ]
        select = split_names(options.select) or settings.select
        ignore = (
            *settings.ignore,
            *split_names(options.ignore),
            *(name for names in ignored for name in names),
        )
        named = (*select, *ignore, *settings.severity)
        if named or settings.rules:
            check_names(named, self.rules_of(settings))
        strict = first(options.strict, settings.strict, False)
        return Request(
            rules=rules,
            target=options.target or settings.target,
            surroundings=self.surroundings_of(settings),
            environment=self.environment_of(settings, path),
            closed_environment=first(options.closed_env, settings.closed_env, False),
            strict_environment=first(options.strict_env, settings.strict_env, False),
            arguments=self.arguments_of(settings, path)[0],
            closed_arguments=self.arguments_of(settings, path)[1],
            source_paths=(*options.source_path, *settings.source_path),
            root=options.root or settings.root,
            select=select,
            ignore=ignore,
            severity=settings.severity,
            use_ignores=not getattr(options, "no_ignores", False),
            require_reason=bool(settings.require_reason),
            fail_on=options.fail_on or settings.fail_on or "error",
            strict=strict,
            megatron=getattr(options, "megatron", None),
            undecided=self.tells_undecided or strict,
        )

    def environment_of(self, settings: Settings, path: str) -> Mapping[str, str]:
        environment = dict(settings.env)
        for glob, variables in settings.env_by_script.items():
            if matches(glob, path, settings.folder):
                environment.update(variables)
        environment.update(self.options.env)
        return environment

    def arguments_of(self, settings: Settings, path: str) -> tuple[dict[int, str], bool]:
        """The positional arguments from 1, and whether there are no others."""
        words = self.arguments
        if words is None:
            globs = settings.arguments.items()
            words = next((args for glob, args in globs if matches(glob, path, settings.folder)), None)
        numbered = dict(enumerate(words or (), 1))
        numbered.update(self.options.arg)
        return numbered, words is not None

    def surroundings_of(self, settings: Settings) -> Surroundings:
        if settings.path not in self._surroundings:
            options = self.options
            gpu = options.gpu or settings.gpu
            try:
                profile = find_profile(gpu) if gpu else None
                te = read_te(options.te or settings.te)
            except (ProfileError, VersionError) as error:
                raise MisuseError(str(error)) from None
            domain = options.nvlink_domain or settings.nvlink_domain
            if profile is not None and domain:
                profile = profile._replace(nvlink_domain=domain)
            self._surroundings[settings.path] = Surroundings(
                nodes=options.nodes or settings.nodes,
                gpus_per_node=options.gpus_per_node or settings.gpus_per_node,
                gpu=profile,
                te=te,
                node=self.node_facts(options.node or settings.node),
            )
        return self._surroundings[settings.path]

    def node_facts(self, path: str | None) -> Mapping[str, Fact]:
        """The facts of a recorded node."""
        if path is None:
            return {}
        from preflight.facts.machine import describe_node
        from preflight.node.profiles import read_node
        from preflight.node.record import RecordError

        try:
            return describe_node(read_node(path))
        except RecordError as error:
            raise MisuseError(str(error)) from None

    # -- files -------------------------------------------------------------------------------------------------

    def find(self, paths: Sequence[str]) -> Iterable[Found]:
        """The files that the paths stand for."""

        def excluded(path: str) -> bool:
            settings = self.settings_of(os.path.dirname(os.path.abspath(path)))
            return any(matches(glob, path, settings.folder) for glob in settings.exclude)

        force = first(getattr(self.options, "force_exclude", None), self.here.force_exclude, False)
        return discover(paths or ["."], excluded, force)

    def read(self, found: Found) -> Source | Refusal:
        """A file's text; text that no shell could run is refused."""
        if found.path == "-":
            name = getattr(self.options, "stdin_filename", None) or "-"
            source: Source | Refusal = Source(name, sys.stdin.buffer.read())
        else:
            source = read_file(found.path)
        if isinstance(source, Source) and b"\0" in source.data[:8192]:
            return Refusal(source.path, "a binary file, not a script")
        return source

    def check_file(self, found: Found) -> FileOutcome:
        """One file's outcome, whatever happens."""
        source = self.read(found)
        if isinstance(source, Refusal):
            return FileOutcome(source.path, error=source.message)
        try:
            return check_source(source, self.request_of(source.path))
        except Exception as error:
            return FileOutcome(source.path, error=self.describe_fault(error))

    def describe_fault(self, error: Exception) -> str:
        """What went wrong in one file, so that the others go on; a fault of the invocation ends the run."""
        from preflight.cli.failure import describe

        if is_users(error):
            raise MisuseError(str(error)) from None
        if getattr(self.options, "verbose", False) and not isinstance(error, RecursionError | MemoryError):
            import traceback

            traceback.print_exc()
        return describe(error)

    def conclude(self, files: Sequence[FileOutcome], **more: Any) -> Outcome:
        """All files as one outcome, with the baseline applied."""
        outcome = Outcome(__version__, tuple(drop_repetitions(files)), **more)
        path = self.options.baseline or self.here.baseline
        written = self.options.write_baseline
        if path and not (written and not os.path.exists(path)):
            outcome = accept_baseline(outcome, path)
        if written:
            from preflight.baseline import write_baseline

            count = write_baseline(written, (d for f in files for d in f.diagnostics), find_root(os.getcwd()))
            print(
                f"preflight: wrote {count} finding{'' if count == 1 else 's'} to {written}", file=sys.stderr
            )
            outcome = accept_baseline(outcome, written)
        targets = sorted({file.target for file in outcome.files if file.target})
        target = (
            outcome.target
            or (targets[0] if len(targets) == 1 else None)
            or self.options.target
            or self.here.target
        )
        return outcome._replace(target=target)


def drop_repetitions(files: Iterable[FileOutcome]) -> Iterable[FileOutcome]:
    """The files with each finding once: a file that several scripts source would be found fault with by each."""
    seen: set[tuple[object, ...]] = set()
    for file in files:
        kept = []
        for diagnostic in file.diagnostics:
            span = diagnostic.labels[0].span if diagnostic.labels else None
            if span is not None and span.path != file.path:
                key = (diagnostic.rule, diagnostic.message, span.path, span.start, span.end)
                if key in seen:
                    continue
                seen.add(key)
            kept.append(diagnostic)
        yield file._replace(diagnostics=tuple(kept))


class Deferred:
    """Rules that are read when somebody looks at them: a script without a launch never does."""

    def __init__(self, read: Callable[[], RuleSet]) -> None:
        self._read = read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._read(), name)


def is_users(error: Exception) -> bool:
    """Whether an exception is about the invocation, not about a file."""
    from preflight.settings import SettingsError
    from preflight.targets.choose import TargetError

    return isinstance(error, MisuseError | SettingsError | TargetError)


def accept_baseline(outcome: Outcome, path: str) -> Outcome:
    """Mark what the baseline knows; entries that match nothing in the files of this run are stale."""
    from preflight.baseline import BaselineError, apply_baseline, read_baseline

    try:
        entries = read_baseline(path)
    except BaselineError as error:
        raise MisuseError(str(error)) from None
    flat = [d for file in outcome.files for d in file.diagnostics] + list(outcome.node)
    marked, stale = apply_baseline(flat, entries)
    files = []
    for file in outcome.files:
        size = len(file.diagnostics)
        files.append(file._replace(diagnostics=tuple(marked[:size])))
        del marked[:size]
    root = find_root(os.getcwd())
    looked_at = {
        os.path.relpath(os.path.abspath(file.path), root) for file in outcome.files if file.error is None
    }
    useless = tuple(f"{entry.path}: {entry.rule}" for entry in stale if entry.path in looked_at)
    return outcome._replace(files=tuple(files), node=tuple(marked), stale=(*outcome.stale, *useless))


def check_names(names: Iterable[str], rules: RuleSet) -> None:
    """Refuse names that are no rule and no family."""
    known = {rule.name for rule in rules.rules} | set(rules.families) | {"all"}
    for name in names:
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(name, sorted(known), 1)
            hint = f"did you mean {near[0]}?" if near else "preflight rules lists them"
            raise MisuseError(f"no rule or family {name!r}; {hint}")


def first(*values: Any) -> Any:
    """The first that was said."""
    return next((value for value in values if value is not None), None)


def all_rules(folders: Sequence[str]) -> RuleSet:
    """The shipped rules with those of a config's folders."""
    from pathlib import Path

    return read_rules(fact_types, [Path(folder) for folder in folders])


@lru_cache(maxsize=1)
def shipped_rules() -> RuleSet:
    """The rules that preflight ships, read once for all runs of a process."""
    return read_rules(fact_types)
