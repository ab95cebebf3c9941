"""The technologies behind the ports: one package or file each, named after what it wraps.

Here: SQL, index names, vendors' libraries and their exceptions. Not here: whether a memory matters or
matches (`engine`), and which adapter is used. Only `runtime` imports it; it imports ports, model, errors.
"""
