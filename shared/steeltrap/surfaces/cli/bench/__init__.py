"""Benchmarks: retrieval on real conversations, and speed against a peer in the same run.

Here: what is measured and how. Not here: any way to search or save of its own; all goes through the door.
The command line is the only caller.
"""
