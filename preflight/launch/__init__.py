"""Launches: the training programs that a script starts, with their command line, environment and topology."""
