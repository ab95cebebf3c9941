"""Hypothesis without deadlines, the same examples at every run in CI; a clock that stands still."""

import os

import pytest
from hypothesis import HealthCheck, settings

from clock import SettableClock

_QUIET = {
    "deadline": None,
    "database": None,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}
settings.register_profile("local", max_examples=60, **_QUIET)
settings.register_profile("ci", max_examples=60, derandomize=True, print_blob=True, **_QUIET)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()
