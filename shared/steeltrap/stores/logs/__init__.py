"""Where logs lie: an object store of any cloud, DynamoDB, or a folder.

Here: one class for each place, behind `ports.Logs`. Not here: what an entry says, and when a base is made; that is
`stores.replica`. Only `runtime` makes one. Each is imported by itself, so that a folder needs no client of a cloud.
"""
