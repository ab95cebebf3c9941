"""The log on stderr: lines for people, or JSON for what collects logs. Neither has a memory's text or a user's id."""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, Final, TextIO

from ... import telemetry

_HANDLER: Final = "steeltrap-cli"
_OF_THE_SERVER: Final = "uvicorn"


def log_to_stderr(level: str, *, format: str = "text", serving: bool = False) -> None:
    """Send the log to stderr; a command's user sees a fault's traceback only at level debug.

    While `serving`, what uvicorn logs is written in the same way.
    """
    handler = _Stderr()
    handler.name = _HANDLER
    if format == "json":
        handler.setFormatter(_JsonLine())
    elif not serving and level != "debug":
        handler.setFormatter(_OneLine("%(message)s"))
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name in ("steeltrap", _OF_THE_SERVER) if serving else ("steeltrap",):
        logger = logging.getLogger(name)
        for other in [other for other in logger.handlers if other.name == _HANDLER]:
            logger.removeHandler(other)
        logger.addHandler(handler)
        logger.setLevel(level.upper())
        logger.propagate = False


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to what stderr is at the time: while a progress bar is shown, that puts lines above the bar."""

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    @stream.setter
    def stream(self, _: TextIO) -> None:
        """Always stderr."""


class _OneLine(logging.Formatter):
    """A record in one line: a fault by its name only."""

    def format(self, record: logging.LogRecord) -> str:
        fault = record.exc_info[1] if record.exc_info else None
        return record.getMessage() + (f" ({type(fault).__name__}; STEELTRAP_LOG=debug shows more)" if fault else "")


class _JsonLine(logging.Formatter):
    """A record as one line of JSON. Of a fault it names the kind and the lines of code: its words may quote a text."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            "process": record.process,
        }
        if (request := telemetry.REQUEST.get()) is not None:
            line["request_id"] = request
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1] is not None:
            fault = record.exc_info[1]
            line |= {"fault": type(fault).__name__, "traceback": "".join(traceback.format_tb(fault.__traceback__))}
        return json.dumps(line, ensure_ascii=False)
