from steeltrap.servers.aws_lambda.upkeep import index_handler

handler = index_handler()
