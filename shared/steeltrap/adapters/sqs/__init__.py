"""A queue of SQS for what an index permanently rejects. Here: sending. Not here: what is parked, and why."""

from .parking import Parking

__all__ = ["Parking"]
