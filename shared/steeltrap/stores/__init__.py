"""The places behind the ports: a package or file for each technology, named after what it wraps.

Here: SQL, index names, vendors' libraries and their exceptions. Not here: whether a memory matters or matches
(`ranking`, `text`), and which store is used. Only `runtime` imports it; it imports ports, model, errors.
"""
