"""The composition root: settings in, a door over the chosen stores and embedder out.

Here: what serves which port, and a server's background threads. Not here: anything that decides. Only this package
imports stores and embedders; servers and `bench` call it.
"""
