from steeltrap.surfaces.aws_lambda.agent import agent_handler

handler = agent_handler()
