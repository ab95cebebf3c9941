"""The protocols through which tools are called: HTTP, MCP, Lambda events, the command line, Python.

Each turns what arrives into a call of the door, and the door's answer into its own form, deriving everything from the
catalogue. What a tool does is not known here. `runtime` composes the parts, surfaces never do.
"""
