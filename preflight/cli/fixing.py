"""`check --fix` and `--diff`: mend files, or show what would be mended.

In: a session and its files.  Out: the outcome of each file after mending (with `--diff`: as it is on the disk).  A file
is written in one step, with its mode kept.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from preflight.cli.discover import Found
from preflight.cli.failure import describe
from preflight.cli.session import Session, is_users
from preflight.fixes import Contents, Mended, difference, mend
from preflight.outcome import FileOutcome
from preflight.ruling import check_source
from preflight.source import Refusal, Source


def fix_files(session: Session, files: Sequence[Found]) -> list[FileOutcome]:
    """Mend each file in turn."""
    options = session.options
    outcomes, titles = [], 0
    for found in files:
        first = session.check_file(found)
        if first.error is not None or not any(d.fix for d in first.diagnostics):
            outcomes.append(first)
            continue
        try:
            mended = mend_file(session, found)
        except Exception as error:
            if is_users(error):
                raise
            outcomes.append(first._replace(error=describe(error)))
            continue
        titles += len(mended.titles)
        if options.diff:
            for path, data in sorted(mended.after.items()):
                sys.stdout.write(difference(path, mended.before[path], data))
            outcomes.append(first)
            continue
        for path, data in sorted(mended.after.items()):
            write_file(path, mended.before[path], data)
        outcomes.append(mended.outcome)
    if titles and not options.quiet:
        word = "would fix" if options.diff else "fixed"
        print(f"preflight: {word} {titles} finding{'' if titles == 1 else 's'}", file=sys.stderr)
    return outcomes


def mend_file(session: Session, found: Found) -> Mended:
    """The fixes of one script and of the files it sources."""
    source = session.read(found)
    assert isinstance(source, Source)
    request = session.request_of(source.path)

    def check(contents: Contents) -> FileOutcome:
        own = Source(source.path, contents.get(source.path, source.data))
        return check_source(own, request._replace(overlay=contents))

    return mend(check, session.options.unsafe_fixes)


def write_file(path: str, before: bytes, after: bytes) -> None:
    """Replace a file's contents, unless somebody changed it meanwhile."""
    from preflight.source import read_file

    now = read_file(path)
    if isinstance(now, Refusal) or now.data != before:
        raise OSError(0, "changed while it was being fixed; nothing written", path)
    beside = f"{path}.preflight-{os.getpid()}"
    with open(beside, "xb") as stream:
        stream.write(after)
    os.chmod(beside, os.stat(path).st_mode & 0o7777)
    os.replace(beside, os.path.realpath(path))
