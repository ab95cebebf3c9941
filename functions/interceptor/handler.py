from steeltrap.servers.aws_lambda.interceptor import interceptor_handler

handler = interceptor_handler()
