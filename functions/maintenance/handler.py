from steeltrap.servers.aws_lambda.upkeep import maintenance_handler

handler = maintenance_handler()
