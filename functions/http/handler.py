from steeltrap.servers.aws_lambda.asgi import app_handler

handler = app_handler()
