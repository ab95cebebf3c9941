from recollect.surfaces.lambda_ import tool_handler

handler = tool_handler("review")
