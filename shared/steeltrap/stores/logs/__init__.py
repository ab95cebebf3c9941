"""Places for logs: an object store of any cloud, DynamoDB, PostgreSQL, or a folder.

Here: one class per place, behind `ports.Logs`. Not here: the content of an entry, and when a base is made
(`stores.replica`). Only `runtime` makes one. Each is imported by itself, so that a folder needs no client of a cloud.
"""
