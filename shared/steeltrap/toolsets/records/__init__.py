"""`records`: memories with tiers and expiry, found by meaning or words, weighed by importance, written in batches.

The dialect's document is in Japanese; descriptions are its words in English. Limits are refused, never clamped; every
failure is `{error: true, error_type, message}`.
"""

from .toolset import RECORDS

__all__ = ["RECORDS"]
