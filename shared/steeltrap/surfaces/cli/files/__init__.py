"""The files that an import reads, as a stream of items and flaws, each with the line it came from.

Here: formats (Markdown, chat transcripts, our own JSONL) and what can be saved of a damaged file. Not
here: storing anything. `importing` is the only caller.
"""

from .item import Flaw, Item, Part
from .source import Origin, total_bytes

__all__ = ["Flaw", "Item", "Origin", "Part", "total_bytes"]
