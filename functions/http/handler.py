from recollect.surfaces.lambda_asgi import app_handler

handler = app_handler()
