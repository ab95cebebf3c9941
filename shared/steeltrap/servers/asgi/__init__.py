"""The ASGI application: a route per tool, MCP over HTTP, probes and middleware.

Here: FastAPI and Starlette. Not here: the rules of HTTP (`servers.http`) and callers (`servers.auth`).
`servers.process` and `servers.aws_lambda` run it.
"""
