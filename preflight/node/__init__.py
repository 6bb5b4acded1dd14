"""The machine that a job will run on: what NVML says of it, now or in a record of an earlier probe.

Nothing is imported here: `check` must not pay for it.  The parts, from the driver to the verdict:
`nvml` asks the driver (only inside a child process), `machine` reads /sys, /proc and the scheduler's variables,
`probe` runs both under a deadline and gives a `model.Node`, `record` keeps it as JSON, `topology` derives the
NVLink domains, `facts` names all of it for the rules, `frames` and `fleet` carry it from many nodes to one place.
"""
