"""The process of `steeltrap serve`: its port, its connections, its workers, its log, and how it knows who calls.

Here: what a process owns. Not here: paths and pages (`asgi`, `console`), options (`cli`). The command line starts it.
"""
