"""The verbs of memory, one file per subject.

Here: the order of steps of an operation. Not here: pure rules (`text`, `ranking`), SQL, HTTP, AWS, or how a dialect
names things. Toolsets and `maintenance` call it; it calls rules and ports.
"""
