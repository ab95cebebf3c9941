"""Benchmarks: retrieval on real conversations, and speed against a peer in the same run.

Here: what is measured and how. Not here: any way to search or save of its own; all of it goes through the door. It
is not part of the package: `steeltrap bench` finds it in a checkout.
"""
