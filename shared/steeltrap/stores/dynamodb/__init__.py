"""The store of the cloud: two DynamoDB tables, the truth; what is found comes from an `Index` that it is handed.

Here: items, keys, transactions, the overlay of recent writes, and how both are searched as one. Not here: how an
index works, what a score means, which memory matters. Only `runtime` and the indexer's composition make one.
"""

from .keys import create_tables
from .store import DynamoStore
from .users import DynamoCounters

__all__ = ["DynamoCounters", "DynamoStore", "create_tables"]
