from steeltrap.servers.aws_lambda.stream import stream_handler

handler = stream_handler()
