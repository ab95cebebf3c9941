"""The capabilities that the engine needs.

Here: protocols and their plain records. Not here: implementations. Any layer above may import it. Every adapter must
pass the contract tests of its port (`tests/contracts`). The engine only ever gets a `Space` of a store: one user's
memories, from which no other user's can be reached.
"""

from .changes import Change, Close, Create, Entry, Guard, Replace
from .embedder import Calibrating, Embedder, KnowsWords, Levels, Revised, Scale, SharedLevels
from .index import Document, Index, Indexed, IndexedCandidate, IndexedNeighbour, IndexedSurroundings, Tombstone
from .logs import BaseName, Log, Logs, Marker, hour_of
from .services import (
    Amount,
    Background,
    Caches,
    Clock,
    Counters,
    Deadline,
    ExportFiles,
    FileStore,
    Loads,
    Migrates,
    SharedFolder,
    SweepsDue,
)
from .space import (
    Gone,
    IdStarts,
    LatestWrites,
    LinkedTo,
    Lookup,
    MemoryStore,
    OfImport,
    OpenTurns,
    Pending,
    Probe,
    Space,
    SupersededBy,
    TextKey,
)
from .upkeep import TOMBSTONE_SECONDS, DeadLetter, Held, IndexUpkeep, Truth

__all__ = [
    "TOMBSTONE_SECONDS",
    "Amount",
    "Background",
    "BaseName",
    "Caches",
    "Calibrating",
    "Change",
    "Clock",
    "Close",
    "Counters",
    "Create",
    "DeadLetter",
    "Deadline",
    "Document",
    "Embedder",
    "Entry",
    "ExportFiles",
    "FileStore",
    "Gone",
    "Guard",
    "Held",
    "IdStarts",
    "Index",
    "IndexUpkeep",
    "Indexed",
    "IndexedCandidate",
    "IndexedNeighbour",
    "IndexedSurroundings",
    "KnowsWords",
    "LatestWrites",
    "Levels",
    "LinkedTo",
    "Loads",
    "Log",
    "Logs",
    "Lookup",
    "Marker",
    "MemoryStore",
    "Migrates",
    "OfImport",
    "OpenTurns",
    "Pending",
    "Probe",
    "Replace",
    "Revised",
    "Scale",
    "SharedFolder",
    "SharedLevels",
    "Space",
    "SupersededBy",
    "SweepsDue",
    "TextKey",
    "Tombstone",
    "Truth",
    "hour_of",
]
