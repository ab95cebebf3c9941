"""Plain texts: one memory per line."""

from collections.abc import Iterator
from typing import BinaryIO, Final

from ....model import Draft
from ..filing import Filing
from ..parts import Flaw, Item, Part
from .table import NOT_UTF_8

MAX_LINE_BYTES: Final = 1024 * 1024


def parts(file: BinaryIO, name: str, before: int, filing: Filing) -> Iterator[Part]:
    """A memory per line that isn't blank."""
    number = at = 0
    while line := file.readline(MAX_LINE_BYTES):
        number, at = number + 1, at + len(line)
        where = f"{name}:{number}"
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError:
            yield Flaw(where=where, at=before + at, sentence=NOT_UTF_8)
            continue
        if text:
            draft = Draft(content=text, scope=filing.scope, tags=filing.tags)
            yield Item(where=where, at=before + at, size=len(line), draft=draft)
