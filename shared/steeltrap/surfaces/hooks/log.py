"""The log of hooks: a line for each one that failed, since a hook itself prints nothing. Standard library alone."""

import os
import time
from contextlib import suppress

from ...regular_files import append_line

FOLDER = "hooks"
NAME = "hooks.log"
_MAX_BYTES = 256 * 1024
"""Bytes of the log, and of the one before it."""
_MAX_LINE = 500


def log(folder: str, event: str, sentence: str) -> None:
    """Add a line to the log in a data folder; never fails. What was said in a conversation never gets into it."""
    with suppress(OSError, ValueError):
        path = os.path.join(folder, FOLDER, NAME)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError):
            if os.stat(path).st_size > _MAX_BYTES:
                os.replace(path, path + ".1")
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        text = " ".join(f"{at} {event}: {sentence}".split())[:_MAX_LINE]
        append_line(path, text)
