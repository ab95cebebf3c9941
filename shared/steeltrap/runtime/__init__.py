"""The composition root: settings in, a door over the chosen adapters out.

Here: which adapter serves which port. Not here: anything that decides. Only this package imports adapters; surfaces and
`bench` call it.
"""
