"""The files in which MCP clients keep their servers and hooks, and what `steeltrap install` puts there and takes out.

Here: where the files are, the form of the entries, the changes as texts. Not here: the question to the user.
"""
