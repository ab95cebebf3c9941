"""HTTP without a framework: paths, statuses, problem details, replies.

Here: what every surface that speaks HTTP shares. Not here: ASGI and Lambda events, which send these replies.
"""
