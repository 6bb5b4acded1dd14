"""Settings that hold for every test."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", deadline=None, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

for name in [
    name for name in os.environ if name.startswith("PREFLIGHT_") and name != "PREFLIGHT_TEST_WORKERS"
]:
    del os.environ[name]
for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
    os.environ.pop(name, None)
