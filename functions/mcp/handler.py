from steeltrap.surfaces.aws_lambda.asgi import mcp_handler

handler = mcp_handler()
