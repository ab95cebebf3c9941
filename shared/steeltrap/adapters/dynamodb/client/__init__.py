"""Requests to DynamoDB: deadlines, repeats, transactions, and the one map of foreign errors.

Here: how a request is sent and how it fails. Not here: what is asked for. The rooms that read, write and stream call
it; it imports `layout` only.
"""
