from steeltrap.surfaces.aws_lambda.tools import tool_handler

handler = tool_handler("history")
