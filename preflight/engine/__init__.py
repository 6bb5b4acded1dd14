"""The engine: rules read from data, their expressions, and what they say of a set of facts."""
