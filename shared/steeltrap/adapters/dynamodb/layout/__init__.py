"""How memories are laid out in DynamoDB: tables, keys, items, filter attributes and typed values.

Here: pure conversions. Not here: requests. Everything else in `adapters.dynamodb` may import it.
"""
