"""The rules that preflight ships, and the user's own.

In: folders of the user's rules.  Out: one `RuleSet`.  A wheel carries the rules compiled; a checkout reads its TOML.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from preflight.constants import COMPILED
from preflight.engine.compiled import read_compiled
from preflight.engine.rule import RuleSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

CHECKOUT_RULES = os.path.join(os.path.dirname(os.path.dirname(COMPILED)), "rules")


class RulesError(Exception):
    """Rules that cannot be used; one message for each mistake."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__("\n".join(messages))
        self.messages = messages


def read_rules(types: Callable[[], Mapping[str, str]], folders: Sequence[Path] = ()) -> RuleSet:
    """All rules. `types` is asked only where TOML has to be read."""
    shipped = read_compiled(COMPILED)
    if shipped is not None and not folders:
        return shipped
    from pathlib import Path

    from preflight.engine.load import load_rules

    own = [] if shipped is not None else [Path(CHECKOUT_RULES)]
    read, errors = load_rules([*own, *folders], types())
    missing = [f"{folder}: no such folder" for folder in folders if not folder.is_dir()]
    if errors or missing:
        raise RulesError([*missing, *(str(error) for error in errors)])
    return read if shipped is None else unite(shipped, read)


def unite(shipped: RuleSet, own: RuleSet) -> RuleSet:
    taken = {rule.name for rule in shipped.rules}
    again = [
        f"{rule.path}:{rule.line}: {rule.name} is a shipped rule already"
        for rule in own.rules
        if rule.name in taken
    ]
    if again:
        raise RulesError(again)
    rules = tuple(sorted((*shipped.rules, *own.rules), key=lambda rule: rule.name))
    return RuleSet(
        rules,
        {**own.families, **shipped.families},
        lambda name: (shipped if name in taken else own).read_prose(name),
    )
