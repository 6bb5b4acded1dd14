"""`preflight rules`: list the rules, begin a new one, try the examples of a folder of rules.

In: `list`, `new NAME` or `test [FOLDER ...]`.  Out: a table, a file, or a line for each example that does not hold.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from preflight.cli import options as shared
from preflight.cli.options import MisuseError
from preflight.cli.session import Session, fact_types
from preflight.cli.sheet import Sheet
from preflight.engine.rule import Rule, RuleSet
from preflight.engine.shipped import RulesError, read_rules

FOLDER = "preflight-rules"
FAMILY = "site"


def make_sheet() -> Sheet:
    """The options of `rules`."""
    sheet = shared.new_sheet(
        "rules",
        "List the rules, begin one of your own, or test a folder of them.",
        [
            "preflight rules",
            "preflight rules new our-tensor-parallel-size",
            "preflight rules test preflight-rules",
        ],
        usage="preflight rules [list|new NAME|test [FOLDER ...]] [OPTIONS]",
    )
    sheet.add_argument(
        "action", nargs="?", choices=("list", "new", "test"), default="list", help="default: list"
    )
    sheet.add_argument(
        "names", nargs="*", metavar="NAME", help="families for list, the new rule, folders for test"
    )
    sheet.add_argument("--output", choices=("text", "json"), default="text", help="for list")
    sheet.add_argument(
        "--target", action="append", default=[], metavar="RELEASE", help="for test: at this release"
    )
    sheet.add_argument(
        "--folder", metavar="FOLDER", help=f"for new: where it goes (default: the config's, {FOLDER})"
    )
    shared.add_config_options(sheet)
    return sheet


def run(words: list[str]) -> int:
    """The command."""
    options = make_sheet().parse_args(words)
    try:
        session = Session(options)
        if options.action == "new":
            return begin_rule(options.names, options.folder or (session.here.rules or (FOLDER,))[0])
        if options.action == "test":
            return test_rules(session, options.names, options.target)
        return list_rules(session.rules_of(session.here), options.names, options.output)
    except MisuseError as error:
        print(f"preflight rules: {error}", file=sys.stderr)
        return 2


def list_rules(rules: RuleSet, families: Sequence[str], output: str) -> int:
    """All rules by family."""
    unknown = [name for name in families if name not in rules.families]
    if unknown:
        raise MisuseError(f"no family {unknown[0]!r}; known are {', '.join(sorted(rules.families))}")
    chosen = [rule for rule in rules.rules if not families or rule.family in families]
    if output == "json":
        import json

        rows = [
            {
                "name": rule.name,
                "family": rule.family,
                "severity": rule.forms[0].severity,
                "fails_at": rule.forms[0].fails_at,
                "summary": rules.prose(rule.name).summary,
            }
            for rule in chosen
        ]
        print(json.dumps({"schema": 1, "rules": rows}, indent=2, ensure_ascii=False))
        return 0
    width = max((len(rule.name) for rule in chosen), default=0)
    for family in sorted({rule.family for rule in chosen}):
        print(f"{family}: {rules.families[family].title}")
        for rule in chosen:
            if rule.family == family:
                severity = rule.forms[0].severity
                print(f"  {rule.name:<{width}}  {severity:<7}  {rules.prose(rule.name).summary}")
    print(f"{len(chosen)} rules")
    return 0


def test_rules(session: Session, folders: Sequence[str], targets: Sequence[str]) -> int:
    """Try the examples of all rules in the folders."""
    from preflight.targets.releases import RELEASES, find_release
    from preflight.trial import try_rules

    chosen = tuple(folders) or session.here.rules
    if not chosen:
        raise MisuseError(f'no folder of rules given, and the config names none (rules = ["{FOLDER}/"])')
    releases = []
    for name in targets:
        release = find_release(name)
        if release is None:
            raise MisuseError(f"no release {name!r}; known are {', '.join(RELEASES)}")
        releases.append(release)
    try:
        rules = read_rules(fact_types, [Path(folder) for folder in chosen])
    except RulesError as error:
        raise MisuseError("\n".join(error.messages)) from None
    own = [rule for rule in rules.rules if is_below(rule, chosen)]
    tried = failed = 0
    for example, complaints in try_rules(rules, own, releases or RELEASES):
        tried += 1
        failed += bool(complaints)
        for complaint in complaints:
            print(f"{example.rule}: {example.title} ({example.release}): {complaint}")
    print(f"{tried} examples of {len(own)} rule{'' if len(own) == 1 else 's'} tried, {failed} failed")
    return 1 if failed else 0


def is_below(rule: Rule, folders: Sequence[str]) -> bool:
    """Whether a rule's file lies in one of the folders."""
    if not rule.path:
        return False
    path = os.path.realpath(rule.path)
    return any(path.startswith(os.path.realpath(folder) + os.sep) for folder in folders)


def begin_rule(names: Sequence[str], folder: str) -> int:
    """Write the file of a new rule, with examples that hold."""
    import re

    if len(names) != 1 or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", names[0]):
        raise MisuseError(
            "give the new rule one name of small letters, digits and hyphens, such as our-tp-size"
        )
    place = Path(folder) / FAMILY
    path = place / f"{names[0]}.toml"
    if path.exists():
        raise MisuseError(f"{path} is there already")
    place.mkdir(parents=True, exist_ok=True)
    family = place / "family.toml"
    if not family.exists():
        family.write_text(FAMILY_TEXT, "utf-8")
    path.write_text(RULE_TEXT, "utf-8")
    print(f"{path}: written; edit it, then: preflight rules test {folder}")
    print(f'to use it, put into preflight.toml: rules = ["{folder}/"]')
    return 0


FAMILY_TEXT = """title = "Our site"
summary = "What launches on our own machines have to keep to."
"""

RULE_TEXT = """summary    = "our nodes are meant for tensor-parallel size 8 with the distributed optimizer"
severity   = "warning"                     # error | warning | note
when       = "world_size >= 8"
require    = "tensor_model_parallel_size == 8 and use_distributed_optimizer"
message    = "tensor-parallel size {tensor_model_parallel_size} is not our 8 with the distributed optimizer"
help       = "give --tensor-model-parallel-size 8 --use-distributed-optimizer"
point_at   = ["tensor_model_parallel_size", "use_distributed_optimizer"]
why = '''
Each of our nodes has one NVLink domain of 8 GPUs, and the memory plan of our models counts on the optimizer's state
being split over the data-parallel ranks.
'''

[[example]]
expect = "fail"
title  = "tensor-parallel size 4"
base   = true
script = '''
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py "${BASE[@]}" --tensor-model-parallel-size 4 --sequence-parallel
'''

[[example]]
expect = "pass"
title  = "as our cluster wants it"
base   = true
script = '''
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py "${BASE[@]}" --tensor-model-parallel-size 8 --sequence-parallel \\
    --use-distributed-optimizer
'''

[[example]]
expect = "undecided"
title  = "the size comes from the environment"
base   = true
script = '''
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py "${BASE[@]}" --tensor-model-parallel-size $TP --use-distributed-optimizer
'''
"""
