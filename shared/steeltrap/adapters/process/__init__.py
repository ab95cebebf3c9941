"""What one process remembers of its users, and nobody else."""

from .counters import ProcessCounters

__all__ = ["ProcessCounters"]
