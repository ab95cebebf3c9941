from steeltrap.servers.aws_lambda.agents import agent_handler

handler = agent_handler()
