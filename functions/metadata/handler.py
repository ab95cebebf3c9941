from steeltrap.servers.aws_lambda.metadata import metadata_handler

handler = metadata_handler()
