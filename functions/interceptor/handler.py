from steeltrap.servers.aws_lambda.agents import interceptor_handler

handler = interceptor_handler()
