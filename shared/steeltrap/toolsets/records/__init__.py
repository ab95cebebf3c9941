"""`records`: memories with tiers and expiry, found by meaning or words, weighed by importance, written in batches.

The dialect's document is in Japanese, so each description starts with the document's words; ours follow in English. The
document says how the eleven tools read. Limits are refused, never clamped; every failure is
`{error: true, error_type, message}`.
"""

from . import batches, reading, scoring, writing
from .toolset import RECORDS

__all__ = ["RECORDS", "batches", "reading", "scoring", "writing"]
