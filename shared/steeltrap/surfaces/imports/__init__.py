"""The files that people bring: which format a file has, what is in it, and its import in blocks.

Here: archives, damaged files, and one module per format. Not here: options and progress bars (`cli`), how a memory is
stored (`engine`). The surfaces that take files call it.
"""

from .filing import Filing, Split
from .formats.table import checked_columns
from .parts import Flaw, Item, Kept, LeftOut, Part
from .recognition import FORMATS
from .source import Survey, parts, survey

__all__ = [
    "FORMATS",
    "Filing",
    "Flaw",
    "Item",
    "Kept",
    "LeftOut",
    "Part",
    "Split",
    "Survey",
    "checked_columns",
    "parts",
    "survey",
]
