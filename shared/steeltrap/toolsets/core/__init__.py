"""`core`: steeltrap's own dialect, which offers everything the engine can."""

# isort: off
# Clients see the tools in the order of these imports.
from . import (
    associating,
    writing,
    conversations,
    forgetting,
    reading,
    retrieving,
    reviewing,
    scoping,
    scoring,
    transfer,
)

# isort: on
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
