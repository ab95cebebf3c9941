"""The verbs of memory, one file per subject.

Here: the order of steps of an operation. Not here: pure rules (`changes`, `ranking`, `text`), SQL, HTTP, AWS, or how a
dialect names things. Toolsets, importers and `maintenance` call it; it calls the rules and the ports.
"""
