"""The index of the cloud: OpenSearch finds, by words and by vectors, what another store holds.

Here: mappings, query bodies, the wire and its errors. Not here: records, and what a score means. Only
`runtime` and maintenance open what is here; stores hold it as a port.
"""

from .index import OpenSearchIndex
from .indices import Indices
from .signing import Signer
from .upkeep import OpenSearchUpkeep
from .wire import Wire

__all__ = ["Indices", "OpenSearchIndex", "OpenSearchUpkeep", "Signer", "Wire"]
