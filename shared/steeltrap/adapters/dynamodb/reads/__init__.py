"""What is read from DynamoDB: lists, counts, one user's partition, recent writes, and both legs of a search.

Here: queries and how their answers are merged. Not here: anything that changes an item. `writes` and the `Space` call
it.
"""
