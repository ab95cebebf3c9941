"""The log of hooks: a line for each one that failed, since a hook itself prints nothing. Standard library alone."""

import os
import time
from contextlib import suppress

FOLDER = "hooks"
NAME = "hooks.log"
_MAX_BYTES = 256 * 1024
"""Of the log, and of the one before it."""
_MAX_LINE = 500


def log(folder: str, event: str, sentence: str) -> None:
    """Add a line to the log in a data folder; never fails. What was said in a conversation never gets into it."""
    with suppress(OSError):
        path = os.path.join(folder, FOLDER, NAME)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError):
            if os.stat(path).st_size > _MAX_BYTES:
                os.replace(path, path + ".1")
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        text = " ".join(f"{at} {event}: {sentence}".split())[:_MAX_LINE]
        append_line(path, text)


def append_line(path: str, text: str) -> None:
    """Add a line to a file that only its owner can read, in one write: hooks at the same time don't mix theirs."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(file, (text + "\n").encode(errors="backslashreplace"))
    finally:
        os.close(file)
