"""One user's search index in memory, exact: vectors, postings, and what is filtered by, an array each.

Here: true scores of both legs for every memory. Not here: where the memories come from, which a store reads. Stores
call it.
"""
