"""Telemetry of functions in a test; afterwards the log is set as it was."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pytest

from steeltrap.servers.aws_lambda.telemetry import Telemetry


@contextmanager
def telemetry_of(service: str, *, level: str = "info", stream: IO[str] | None = None) -> Iterator[Telemetry]:
    """The telemetry that a function of its own would make."""
    logger = logging.getLogger("steeltrap")
    with pytest.MonkeyPatch.context() as kept:
        # Some versions of Powertools would otherwise leave a filter on pytest's own handler.
        kept.setenv("POWERTOOLS_LOG_DEDUPLICATION_DISABLED", "1")
        for name in ("handlers", "filters"):
            kept.setattr(logger, name, [])
        for name in ("level", "propagate"):
            kept.setattr(logger, name, getattr(logger, name))
        yield Telemetry(level, service=service, stream=stream)
        for mark in ("init", "powertools_handler", "powertools_buffer_config", "powertools_buffer_cache"):
            delattr(logger, mark)
    logger.manager._clear_cache()  # type: ignore[attr-defined]
