"""Servers: one protocol each (HTTP, MCP, Lambda events, hooks, the console), and the process that serves.

Each turns what arrives into a call of the door, and the door's answer into its own form, deriving everything from the
catalogue. What a tool does is not known here. `runtime` composes the parts, servers never do.
"""
