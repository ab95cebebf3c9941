"""The index of the cloud: OpenSearch finds, by words and by vectors, what another store holds.

Here: mappings, query bodies, and the client (opensearch-py) with our errors and deadlines. Not here: records, and what
a score means. Only `runtime` and maintenance open what is here; stores hold it as a port.
"""

from opensearchpy import OpenSearch

from .client import connect_index
from .index import OpenSearchIndex
from .indices import Indices
from .upkeep import OpenSearchUpkeep

__all__ = ["Indices", "OpenSearch", "OpenSearchIndex", "OpenSearchUpkeep", "connect_index"]
