"""Writes the flag tables: `python -m preflight.targets.generate FOLDER...`, one checkout each.

In: folders of Megatron checkouts, each named like its release (`core_v0.19.0`, `main`).  Out:
`preflight/targets/megatron-core/<release>.json`, and the history of all flags.  Nothing of a
checkout is imported or run.
"""

from __future__ import annotations

import os
import sys

from preflight.targets.checkout import read_checkout
from preflight.targets.history import write_history
from preflight.targets.releases import RELEASES, TE_VERSIONS, UNPINNED_TE
from preflight.targets.table import FOLDER, Table, dump_table


def generate(folder: str) -> str:
    """Write the table of one checkout and return the file's path."""
    release = os.path.basename(os.path.normpath(folder))
    if release not in RELEASES:
        raise SystemExit(f"{folder}: its name is not one of {', '.join(RELEASES)}")
    table = read_checkout(folder, release=release)
    pinned = Table(
        release,
        table.options,
        te_version=TE_VERSIONS.get(release, UNPINNED_TE),
        programs={path: program for path in table.programs if (program := table.program(path))},
        checkpoint=table.checkpoint,
    )
    path = os.path.join(FOLDER, f"{release}.json")
    os.makedirs(FOLDER, exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(dump_table(pinned))
    return path


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(generate(argument))
    print(write_history())
