"""Text: its words, sentences and dates, what in it is a secret, a frame or JSON, and what may be stored.

Here: pure functions over text and the nouns of `model`. Not here: from candidates to an answer (`ranking`), the order
of steps (`engine`), I/O. The engine, stores, toolsets, servers and importers call it.
"""
