"""The table: rows, agreement, false errors and missed rejections, by release.

Run as `python -m tests.agreement.table [--release core_v0.19.0] [--missed] [--false] [--effective] [--later]`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from tests.agreement.effective import compare_effective
from tests.agreement.rows import RELEASES, Answer, Row, answer_row, read_rows


class Case(NamedTuple):
    row: Row
    answer: Answer

    @property
    def refused(self) -> bool:
        return bool(self.row["startup_verdict"] == "reject")

    @property
    def called_wrong(self) -> bool:
        return bool(self.answer.errors) or any(
            p.kind == "parser-refuses" for p in self.answer.configuration.problems
        )

    @property
    def agrees(self) -> bool:
        return self.refused == self.called_wrong

    @property
    def site(self) -> str:
        late = self.row.get("late") or []
        return str(self.row.get("site") or (late[0] if late else ""))

    @property
    def stage(self) -> str:
        return str(self.row.get("stage") or ("late" if self.row.get("late") else "accepted"))


def judge(name: str) -> list[Case]:
    return [Case(row, answer_row(row)) for row in read_rows(name)]


def print_table(cases: dict[str, list[Case]]) -> None:
    print(f"{'release':<14}{'stage':<20}{'rows':>6}{'agree':>7}{'%':>8}{'false':>7}{'missed':>8}")
    for release, rows in cases.items():
        stages: dict[str, list[Case]] = defaultdict(list)
        for case in rows:
            stages[case.stage].append(case)
        for stage, part in (*sorted(stages.items()), ("all", rows)):
            agree = sum(case.agrees for case in part)
            wrong = sum(case.called_wrong and not case.refused for case in part)
            missed = sum(case.refused and not case.called_wrong for case in part)
            print(
                f"{release:<14}{stage:<20}{len(part):>6}{agree:>7}{100 * agree / len(part):>8.2f}{wrong:>7}{missed:>8}"
            )


def print_missed(rows: list[Case], limit: int) -> None:
    sites: dict[str, list[Case]] = defaultdict(list)
    for case in rows:
        if case.refused and not case.called_wrong:
            sites[case.site].append(case)
    print(f"\nmissed: {sum(map(len, sites.values()))} rows, {len(sites)} sites")
    for site, part in sorted(sites.items(), key=lambda item: -len(item[1]))[:limit]:
        print(f"{len(part):4} {site}  e.g. {part[0].row.get('id')} {part[0].row.get('mutation', '')}")


def print_false(rows: list[Case]) -> None:
    print("\nfalse errors:")
    for case in rows:
        if case.called_wrong and not case.refused:
            names = [f"{f.rule}: {f.message}" for f in case.answer.errors]
            name = case.row.get("id") or case.row.get("probe")
            print(f"  {case.row['version']} {name}: {names} {case.row.get('mutation', '')}")


def print_later(rows: list[Case]) -> None:
    print("\nerrors beyond start-up on rows that start:")
    found: Counter[str] = Counter()
    for case in rows:
        if not case.refused:
            found.update(f"{f.rule} ({f.fails_at})" for f in case.answer.later)
    for name, count in found.most_common():
        print(f"{count:5} {name}")


def print_effective(rows: list[Case]) -> None:
    different: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for case in rows:
        if case.row["verdict"] != "accept":
            continue
        for name, theirs, ours in compare_effective(case.row, case.answer.facts):
            different[name] += 1
            shown.setdefault(
                name, f"{case.row['version']} {case.row.get('id')}: Megatron {theirs!r}, facts {ours!r}"
            )
    print(f"\neffective values that differ: {sum(different.values())}")
    for name, count in different.most_common():
        print(f"{count:5} {name}  {shown[name]}")


def run(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.agreement.table", description=__doc__)
    parser.add_argument("--release", action="append")
    parser.add_argument("--missed", action="store_true")
    parser.add_argument("--false", action="store_true", dest="wrong")
    parser.add_argument("--later", action="store_true")
    parser.add_argument("--effective", action="store_true")
    parser.add_argument("--limit", type=int, default=60)
    options = parser.parse_args(arguments)
    wanted = [name.removeprefix("core_v") for name in options.release or RELEASES]
    start = time.perf_counter()
    cases = {name: judge(name) for name in wanted}
    every = [case for rows in cases.values() for case in rows]
    print_table(cases)
    if options.missed:
        print_missed(every, options.limit)
    print_false(every)
    if options.later:
        print_later(every)
    if options.effective:
        print_effective(every)
    failures = Counter(f"{f.rule}: {f.message}" for case in every for f in case.answer.failures)
    for text, count in failures.most_common(20):
        print(f"rule failed {count} times: {text}")
    print(f"{len(every)} rows in {time.perf_counter() - start:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
