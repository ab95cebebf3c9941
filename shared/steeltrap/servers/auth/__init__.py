"""How callers authenticate: API keys, OpenID Connect tokens, IAM, a gateway's headers.

Here: from what the transport authenticated to a `Caller`. Not here: what a caller may do with a tool (`invoke`). The
other servers call it.
"""
