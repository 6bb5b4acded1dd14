"""`python -m preflight`: the command line, without its console script."""

from __future__ import annotations

import sys

from preflight.cli.main import run

sys.exit(run())
