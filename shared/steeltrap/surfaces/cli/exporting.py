"""Export to a file that is whole or not there."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from typing import TextIO

from ...engine.call import Call
from ...engine.exporting import export_all
from ...errors import InvalidInput, SteeltrapError, Unavailable
from ...full_disks import is_full


def run(call: Call, path: str, *, turns: bool, advance: Callable[[float, int], None]) -> int:
    """Write every memory as lines of JSON; how many there were. `-` is stdout."""
    written = 0
    with _opened(path) as file:
        for record in export_all(call, turns=turns):
            file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")
            written += "content" in record  # others go on with the history of the one before
            if written % 100 == 0:
                advance(written, written)
    return written


@contextmanager
def _opened(path: str) -> Iterator[TextIO]:
    if path == "-":
        try:
            yield sys.stdout
            sys.stdout.flush()
        except OSError as error:
            if not is_full(error):
                raise  # whoever read the output has gone
            sentence = "The disk that the output goes to is full: free some space there, or export to another disk."
            raise Unavailable(sentence, part="export") from error
        return
    with _replacing(Path(path).expanduser()) as file:
        yield file


@contextmanager
def _replacing(path: Path) -> Iterator[TextIO]:
    """A file beside `path` that takes its place when all is on disk, and is removed when anything fails."""
    try:
        descriptor, part = mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise _failed(error, path.parent) from error
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise _failed(error, path) from error
    finally:
        Path(part).unlink(missing_ok=True)


def _failed(error: OSError, path: Path) -> SteeltrapError:
    if is_full(error):
        sentence = f"The disk of {path} is full: free some space there, or export to another disk."
        return Unavailable(sentence, part="export")
    return InvalidInput(f"{path} can't be written ({error.strerror}).")
