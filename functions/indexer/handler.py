from recollect.surfaces.lambda_stream import stream_handler

handler = stream_handler()
