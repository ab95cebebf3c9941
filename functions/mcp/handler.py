from recollect.surfaces.lambda_asgi import mcp_handler

handler = mcp_handler()
