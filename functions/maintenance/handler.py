from steeltrap.surfaces.aws_lambda.maintenance import maintenance_handler

handler = maintenance_handler()
