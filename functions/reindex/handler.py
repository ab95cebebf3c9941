from steeltrap.surfaces.aws_lambda.index import index_handler

handler = index_handler()
