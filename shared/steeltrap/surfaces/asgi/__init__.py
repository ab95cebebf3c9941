"""The ASGI application: a route per tool, MCP over HTTP, probes and middleware.

Here: FastAPI and Starlette. Not here: the rules of HTTP (`surfaces.http`) and callers (`surfaces.auth`). The server of
the command line and `surfaces.aws_lambda` run it.
"""
