from steeltrap.servers.aws_lambda.tools import tool_handler

handler = tool_handler("files")
