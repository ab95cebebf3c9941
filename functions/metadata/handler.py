from recollect.surfaces.lambda_metadata import metadata_handler

handler = metadata_handler()
