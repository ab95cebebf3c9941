"""`associative`: ten tools over scoped, associated memories, each with three levels of detail.

The dialect's document says what each level answers; `levels` makes the levels nest.
"""

from . import discovering, listing, managing, moving, scopes, searching, sessions, storing, syncing
from .toolset import ASSOCIATIVE

__all__ = [
    "ASSOCIATIVE",
    "discovering",
    "listing",
    "managing",
    "moving",
    "scopes",
    "searching",
    "sessions",
    "storing",
    "syncing",
]
