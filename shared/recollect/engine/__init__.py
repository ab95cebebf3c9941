"""The verbs of memory, one file an operation, and the pure rules they follow.

Here: the order of steps of an operation, and whether a memory matters, matches or expires. Not here:
SQL, HTTP, AWS, or how a dialect names things. Toolsets call it; it calls ports.
"""
