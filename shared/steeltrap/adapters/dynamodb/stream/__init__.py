"""From the memory table's stream into a search index.

Here: following shards, and which change is reported, queued or done. Not here: how an index works. Only the composition
root makes these.
"""
