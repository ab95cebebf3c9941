"""`core`: steeltrap's own dialect, which offers everything the engine can."""

from . import (
    associating,
    conversations,
    forgetting,
    reading,
    retrieving,
    reviewing,
    scoping,
    scoring,
    transfer,
    writing,
)
from .toolset import CORE

__all__ = [
    "CORE",
    "associating",
    "conversations",
    "forgetting",
    "reading",
    "retrieving",
    "reviewing",
    "scoping",
    "scoring",
    "transfer",
    "writing",
]
