"""The embedded store: one SQLite file per user, searched by exact in-memory indexes over it.

Here: SQL, files, locks, and the numpy arrays that both legs are scored on. Not here: what a score means
or which memory matters. Only `runtime` makes a `SqliteStore`; everyone else holds it as a port.
"""

from .counters import SqliteCounters
from .store import SqliteStore

__all__ = ["SqliteCounters", "SqliteStore"]
