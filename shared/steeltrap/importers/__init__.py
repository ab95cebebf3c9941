"""Files of other products: which format a file has, what is in it, and its import in blocks.

Here: archives, damaged files, and one module per kind (chats, memories, Markdown, tables). Not here: options and
progress bars (`cli`), how a memory is stored (`engine`). The command line and the console call it.
"""

from .items import Filing, Flaw, Item, Kept, LeftOut, Part, Split
from .source import FORMATS, Survey, check_format, parts, survey
from .tables import checked_columns

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
    "check_format",
    "checked_columns",
    "parts",
    "survey",
]
