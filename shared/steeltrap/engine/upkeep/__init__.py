"""Upkeep: what keeps a store and its search index right over time.

Here: sweeping, completing what a missing index left pending, comparing, rebuilding. Not here: who is swept and when
(`maintenance`). No tool calls it.
"""
