"""Configurations: a launch's argv bound to Megatron's own names by a release's flag table."""
