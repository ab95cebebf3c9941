from recollect.surfaces.lambda_index import index_handler

handler = index_handler()
