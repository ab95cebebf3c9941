from steeltrap.servers.aws_lambda.asgi import mcp_handler

handler = mcp_handler()
