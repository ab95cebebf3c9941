"""Secrets in a text: which pieces are keys, tokens, private keys, passwords or card numbers, and the text without them.

Pure: gitleaks' patterns (`gitleaks.json`, made by `make update-rules`) and our own, run by RE2 in linear time. Here a
text goes in and a text comes out; `engine.secrets` knows the fields of a memory and decides what to do.
"""

from .replacing import Redacted, redacted

__all__ = ["Redacted", "redacted"]
