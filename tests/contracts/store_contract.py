"""The contract of every store."""

from contracts.store_filters import StoreFilters
from contracts.store_opening import StoreOpening
from contracts.store_purging import StorePurging
from contracts.store_reading import StoreReading
from contracts.store_searching import StoreSearching
from contracts.store_superseding import StoreSuperseding
from contracts.store_writing import StoreWriting


class StoreContract(
    StoreWriting, StoreReading, StoreSearching, StoreFilters, StoreSuperseding, StorePurging, StoreOpening
):
    """All that a store promises, by subject.

    A test file earns it by a fixture `store` and a class that inherits this one. `store(clock, embedder)` opens a
    store; called again, it opens the same data as another process would.
    """
