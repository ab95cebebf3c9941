"""The common story through every client form and every library that steeltrap stands behind; `story.py` says how to
add one."""
