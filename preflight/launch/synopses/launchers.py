"""Launchers of processes, python, bash."""

from __future__ import annotations

TORCHRUN = """
--nnodes VALUE
--nproc-per-node VALUE
--rdzv-backend VALUE
--rdzv-endpoint VALUE
--rdzv-id VALUE
--rdzv-conf VALUE
--standalone
--max-restarts VALUE
--monitor-interval VALUE
--start-method VALUE
--event-log-handler VALUE
--role VALUE
-m --module
--no-python
--run-path
--log-dir VALUE
-r --redirects VALUE
-t --tee VALUE
--local-ranks-filter VALUE
--node-rank VALUE
--master-addr VALUE
--master-port VALUE
--local-addr VALUE
--logs-specs VALUE
--numa-binding VALUE
--duplicate-stdout-filters VALUE
--duplicate-stderr-filters VALUE
--signals-to-handle VALUE
--virtual-local-rank
--shutdown-timeout VALUE
--use-env
"""

RESILIENT = (
    TORCHRUN
    + """
--ft-cfg-path VALUE
--ft-param-initial-rank-heartbeat-timeout VALUE
--ft-param-rank-heartbeat-timeout VALUE
--ft-rank-section-timeouts VALUE
--ft-rank-out-of-section-timeout VALUE
--ft-param-rank-section-timeouts VALUE
--ft-initial-rank-heartbeat-timeout VALUE
--ft-rank-heartbeat-timeout VALUE
--ft-log-level VALUE
--ft-param-log-level VALUE
--ft-term-handler VALUE
--ft-rank-termination-signal VALUE
--ft-restart-policy VALUE
--ft-workload-check-interval VALUE
--restart-policy VALUE
--ignore-missing-fault-tol-cfg
--fault-tol-cfg-path VALUE
--network-check
--node-unit VALUE
--exclude-straggler
--auto-config
--auto-tunning
--precheck VALUE
"""
)

PYTHON = """
-b
-B
-d
-E
-h --help
-i
-I
-O
-OO
-P
-q
-R
-s
-S
-u
-v
-V --version
-x
-c VALUE
-m VALUE
-W VALUE
-X VALUE
--check-hash-based-pycs VALUE
"""

BASH = """
-c --command
-l --login
-i --interactive
-s --stdin
-r --restricted
-o VALUE
-O VALUE
-a
-b
-e
-f
-h
-k
-n
-p
-t
-u
-v
-x
-B
-C
-E
-H
-P
-T
-D
--rcfile VALUE
--init-file VALUE
--norc
--noprofile
--posix
--verbose
--debugger
"""
