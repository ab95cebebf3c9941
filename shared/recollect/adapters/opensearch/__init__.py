"""The index of the cloud: OpenSearch finds, by words and by vectors, what another store holds.

Here: mappings, query bodies, the wire and its errors. Not here: records, and what a score means. Only
`runtime` and maintenance open what is here; stores hold it as a port.
"""

from .bare import Bare
from .index import OpenSearchIndex
from .indices import Indices
from .upkeep import OpenSearchUpkeep
from .wire import Wire, connect

__all__ = ["Bare", "Indices", "OpenSearchIndex", "OpenSearchUpkeep", "Wire", "connect"]
