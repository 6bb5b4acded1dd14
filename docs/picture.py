"""Draw `docs/finding.svg`: what `preflight check` prints for the sample script, as a terminal shows it.

usage: python docs/picture.py
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
COMMAND = ["check", "--isolated", "--color", "always", "--show", "error", "fixtures/sample/train.sh"]


def main() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "preflight", *COMMAND], cwd=ROOT, capture_output=True, text=True, check=False
    )
    console = Console(record=True, width=110, file=open("/dev/null", "w", encoding="utf-8"))  # noqa: SIM115
    console.print(Text.from_ansi("$ preflight check fixtures/sample/train.sh\n" + result.stdout.rstrip("\n")))
    console.save_svg(str(ROOT / "docs" / "finding.svg"), title="preflight")


if __name__ == "__main__":
    main()
