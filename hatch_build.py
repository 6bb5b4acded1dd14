"""Build step: compile the rules and flag tables to constants inside the wheel: a check reads no TOML and no JSON."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileData(BuildHookInterface):  # type: ignore[misc]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # a checkout reads its TOML
            return
        root = Path(self.root)
        sys.path.insert(0, str(root))
        from preflight.engine.compiled import write_compiled
        from preflight.engine.load import load_rules
        from preflight.facts.catalogue import fact_types
        from preflight.targets.history import compile_history
        from preflight.targets.table import compile_tables

        rules, errors = load_rules([root / "rules"], fact_types())
        if errors:
            raise SystemExit("\n".join(str(error) for error in errors))
        self.folder = tempfile.TemporaryDirectory()
        compiled = Path(self.folder.name)
        write_compiled(rules, compiled)
        compile_tables(compiled / "targets")
        compile_history(compiled / "targets")
        build_data["force_include"][self.folder.name] = "preflight/compiled"
