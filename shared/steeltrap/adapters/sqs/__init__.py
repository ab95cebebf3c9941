"""The dead-letter queue of the indexer, in SQS. Here: sending. Not here: which changes are dead letters."""

from .dead_letters import DeadLetterQueue

__all__ = ["DeadLetterQueue"]
