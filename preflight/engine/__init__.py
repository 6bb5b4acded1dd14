"""The engine: rules read from data, their expressions, and what they say of a set of facts.

`shipped.read_rules(types, folders)` gives a `RuleSet` (types: `preflight.facts.catalogue.fact_types`, a function that
returns every fact's name and type); `run.run_rules(rules, Subject(...))` gives diagnostics, undecided rules, failures.
"""
