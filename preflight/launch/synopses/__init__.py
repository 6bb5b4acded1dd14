"""The options of the commands that wrap or launch programs, in the words of `options.declare`.

In: nothing; this is data.  One option a line: its spellings, the last of which names it, then `VALUE` for each value
that it takes.  Options whose meaning nobody here needs are listed all the same: their arity tells where the
inner command begins.
"""
