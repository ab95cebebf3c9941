"""Clients: the tools as calls of Python, on one folder and without a server.

Here: what a call looks like, and its types for editors. Not here: what a tool does. Programs import it.
"""
