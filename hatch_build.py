"""Build step: compile `rules/` to JSON inside the wheel, so that an installed preflight reads no TOML."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileRules(BuildHookInterface):  # type: ignore[misc]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # a checkout reads its TOML
            return
        root = Path(self.root)
        sys.path.insert(0, str(root))
        from preflight.engine.compiled import PROSE, RULES, write_compiled
        from preflight.engine.load import load_rules
        from preflight.facts.catalogue import fact_types

        rules, errors = load_rules([root / "rules"], fact_types())
        if errors:
            raise SystemExit("\n".join(str(error) for error in errors))
        self.folder = tempfile.TemporaryDirectory()
        write_compiled(rules, Path(self.folder.name))
        for name in (RULES, PROSE):
            build_data["force_include"][str(Path(self.folder.name) / name)] = f"preflight/compiled/{name}"
