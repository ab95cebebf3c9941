"""What changes items in DynamoDB: commits, purges, links, usage, sessions, counters.

Here: conditions and transactions. Not here: how a memory becomes an item (`layout`). The `Space` and the store call it.
"""
