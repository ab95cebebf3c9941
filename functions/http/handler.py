from steeltrap.surfaces.aws_lambda.asgi import app_handler

handler = app_handler()
