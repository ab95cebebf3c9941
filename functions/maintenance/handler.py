from recollect.surfaces.lambda_maintenance import maintenance_handler

handler = maintenance_handler()
