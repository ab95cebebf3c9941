from steeltrap.surfaces.aws_lambda.metadata import metadata_handler

handler = metadata_handler()
