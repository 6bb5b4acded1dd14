"""Remote shells, environments of Python, profilers."""

from __future__ import annotations

SSH = (
    "\n".join(f"-{letter} VALUE" for letter in "BbcDEeFIiJLlmOoPpQRSWw")
    + "\n"
    + "\n".join(f"-{letter}" for letter in "46AaCfGgKkMNnqsTtVvXxYy")
)

UV = """
--active
--all-extras
--all-groups
--all-packages
--allow-insecure-host VALUE
-C --config-setting VALUE
--cache-dir VALUE
--color VALUE
--compile-bytecode
--config-file VALUE
--default-index VALUE
--directory VALUE
--env-file VALUE
--exact
--exclude-newer VALUE
--extra VALUE
--extra-index-url VALUE
-f --find-links VALUE
--fork-strategy VALUE
--frozen
--group VALUE
--gui-script
-i --index-url VALUE
--index VALUE
--index-strategy VALUE
--isolated
--keyring-provider VALUE
--link-mode VALUE
--locked
-m --module
--managed-python
-n --no-cache
--native-tls
--no-active
--no-binary
--no-binary-package VALUE
--no-build
--no-build-isolation
--no-build-isolation-package VALUE
--no-build-package VALUE
--no-config
--no-default-groups
--no-dev
--no-editable
--no-env-file
--no-extra VALUE
--no-group VALUE
--no-index
--no-managed-python
--no-progress
--no-project
--no-python-downloads
--no-sources
--no-sync
--offline
--only-dev
--only-group VALUE
-p --python VALUE
--package VALUE
--prerelease VALUE
--project VALUE
--python-platform VALUE
-q --quiet
--refresh
--refresh-package VALUE
--reinstall
--reinstall-package VALUE
--resolution VALUE
-s --script
-U --upgrade
-P --upgrade-package VALUE
-v --verbose
-w --with VALUE
--with-editable VALUE
--with-requirements VALUE
"""

NSYS = """
-b --backtrace VALUE
-c --capture-range VALUE
--capture-range-end VALUE
--command-file VALUE
--cpu-core-events VALUE
--cpuctxsw VALUE
--cuda-event-trace VALUE
--cuda-flush-interval VALUE
--cuda-graph-trace VALUE
--cuda-memory-usage VALUE
--cudabacktrace VALUE
-d --duration VALUE
-y --delay VALUE
-e --env-var VALUE
--event-sample VALUE
--export VALUE
-f --force-overwrite VALUE
--ftrace VALUE
--gpu-metrics-device VALUE
--gpu-metrics-devices VALUE
--gpu-metrics-frequency VALUE
--gpu-metrics-set VALUE
--gpuctxsw VALUE
-h --help [=VALUE]
--inherit-environment VALUE
-n --inherit-environment-short VALUE
--kill VALUE
--mpi-impl VALUE
--nic-metrics VALUE
-o --output VALUE
-p --nvtx-capture VALUE
--nvtx-domain-exclude VALUE
--nvtx-domain-include VALUE
--osrt-threshold VALUE
--python-backtrace VALUE
--python-functions-trace VALUE
--python-sampling VALUE
--python-sampling-frequency VALUE
--pytorch VALUE
--resolve-symbols VALUE
-s --sample VALUE
--samples-per-backtrace VALUE
--sampling-frequency VALUE
--sampling-period VALUE
--sampling-trigger VALUE
--session-new VALUE
--session VALUE
-w --show-output VALUE
--soc-metrics VALUE
--start-agent VALUE
--stats VALUE
-x --stop-on-exit VALUE
-t --trace VALUE
--trace-fork-before-exec VALUE
--uncore-metrics VALUE
--vsync VALUE
--wait VALUE
"""

POETRY = "-q --quiet\n-v --verbose\n-n --no-interaction\n-C --directory VALUE\n-P --project VALUE"

CONDA = """
-n --name VALUE
-p --prefix VALUE
-v --verbose
--no-capture-output
--live-stream
--cwd VALUE
--dev
"""

PIXI = """
-e --environment VALUE
--manifest-path VALUE
--frozen
--locked
-q --quiet
-v --verbose
"""

KUBECTL = """
-c --container VALUE
-n --namespace VALUE
-i --stdin
-t --tty
-q --quiet
-f --filename VALUE
--context VALUE
--kubeconfig VALUE
--pod-running-timeout VALUE
"""

SCREEN = """
-d --detach
-m
-D
-S --session VALUE
-L
-Logfile --logfile VALUE
-T VALUE
-c VALUE
-A
"""

TMUX = """
-A
-d --detach
-D
-P
-s --session VALUE
-n --window VALUE
-c --directory VALUE
-e --environment VALUE
-F VALUE
-t --target VALUE
-x VALUE
-y VALUE
-k
-a
-b
"""

PY_SPY = "-o --output VALUE\n-r --rate VALUE\n-f --format VALUE\n-d --duration VALUE\n-s --subprocesses\n-n --native"
